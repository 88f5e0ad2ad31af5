"""`lembas mcp` serves a client that starts it, and nothing but the protocol is on stdout."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest
from lembas_core.testing import serve_script, text
from support.command import Command

HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


def test_a_client_reads_a_chat_back(lembas: Command) -> None:
    with serve_script([text("The gate opens at nine.")]) as server:
        lembas.run("ask", "When?", "--url", server.url)
    requests: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": HELLO},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "recent", "arguments": {}}},
    ]
    running = lembas.start("mcp")
    assert running.stdin is not None and running.stdout is not None
    for request in requests:
        running.stdin.write(json.dumps({"jsonrpc": "2.0", **request}).encode() + b"\n")
    running.stdin.flush()
    answers = [json.loads(running.stdout.readline()) for _ in range(2)]
    rest, told = running.communicate(timeout=30)
    assert answers[0]["result"]["serverInfo"]["name"]
    assert "When?" in json.dumps(answers[1])
    assert (running.returncode, rest, told) == (0, b"", b"")


def test_an_address_for_others_without_a_token_is_refused(lembas: Command) -> None:
    done = lembas.run("mcp", "--http", "--host", "0.0.0.0")
    assert (done.returncode, done.stdout) == (2, "")
    assert "give a token" in done.stderr


def test_a_port_that_cannot_be_is_refused(lembas: Command) -> None:
    done = lembas.run("mcp", "--http", "--port", "99999")
    assert (done.returncode, done.stdout) == (2, "")
    assert "99999 is not in the range" in done.stderr


@pytest.mark.parametrize(
    ("times", "name", "code"), [(1, "SIGINT", 130), (9, "SIGINT", 130), (1, "SIGTERM", 0)]
)
def test_a_server_that_is_told_to_stop_ends_in_order(
    lembas: Command, times: int, name: str, code: int
) -> None:
    running = lembas.start("mcp", "--http", "--port", "0")
    assert running.stderr is not None
    assert running.stderr.readline().startswith(b"Serving MCP at ")
    for _ in range(times):
        running.send_signal(getattr(signal, name))
    out, told = running.communicate(timeout=30)
    assert (running.returncode, out, told) == (code, b"", b"")
