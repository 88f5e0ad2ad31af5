"""A real process on stdio: nothing but the protocol on its output, both eras, and an orderly end."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream
from lembas_core import Config, Lembas
from lembas_core.testing import Script, pause, serve_script, text
from mcp import Client, StdioServerParameters

SERVER = Path(__file__).with_name("stdio_server.py")
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
}
CLIENT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def request(number: int, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}


DISCOVER = request(1, "server/discover", {"_meta": META})
INITIALIZE = request(2, "initialize", CLIENT)
Exchange = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


class Wire:
    """A server process, line by line."""

    def __init__(self, process: Process) -> None:
        assert process.stdin and process.stdout and process.stderr
        self.process = process
        self._in = process.stdin
        self._out = BufferedByteReceiveStream(process.stdout)
        self._errors = process.stderr

    async def send(self, message: dict[str, Any]) -> None:
        await self._in.send(json.dumps(message).encode() + b"\n")

    async def receive(self) -> dict[str, Any]:
        return json.loads(await self._out.receive_until(b"\n", 1_000_000))

    async def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        await self.send(message)
        return await self.receive()

    async def leave(self) -> None:
        await self._in.aclose()

    async def rest(self) -> tuple[list[dict[str, Any]], str, int]:
        """What else it wrote to either stream before its end, and its exit code."""
        written = b"".join([chunk async for chunk in self._out])
        errors = b"".join([chunk async for chunk in self._errors])
        return [json.loads(line) for line in written.splitlines()], errors.decode(), await self.process.wait()


@asynccontextmanager
async def serving(folder: Path, model_url: str = "", *flags: str) -> AsyncGenerator[Wire]:
    command = [sys.executable, str(SERVER), str(folder / "lembas.db"), model_url, *flags]
    # What is printed waits in a buffer, as it does where a client starts the server.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    async with await anyio.open_process(command, env=environment) as process:
        try:
            yield Wire(process)
        finally:
            if process.returncode is None:
                process.kill()


async def test_the_official_client_reads_a_chat_that_the_library_made(tmp_path: Path) -> None:
    config = Config.load(data_dir=tmp_path, environ={})
    async with (
        Lembas.open(tmp_path / "lembas.db", config=config) as lembas,
        Script([text("Slowly, in mallorn leaves.")]) as script,
    ):
        await lembas.chat(model=script, titled=False).say("How is waybread baked?")
    parameters = StdioServerParameters(
        command=sys.executable, args=[str(SERVER), str(tmp_path / "lembas.db"), ""]
    )
    for mode in ("auto", "legacy"):
        async with Client(parameters, mode=mode, read_timeout_seconds=30) as client:
            found = await client.call_tool("search", {"query": "mallorn"})
            assert found.structured_content is not None
            place = found.structured_content["results"][0]["id"]
            chat = await client.call_tool("read_chat", {"id": place})
        assert chat.structured_content is not None
        assert [m["text"] for m in chat.structured_content["messages"]] == [
            "How is waybread baked?",
            "Slowly, in mallorn leaves.",
        ]


async def test_nothing_but_the_protocol_reaches_the_output(tmp_path: Path) -> None:
    async with serving(tmp_path) as wire:
        await wire.ask(INITIALIZE)
        await wire.send(INITIALIZED)
        answer = await wire.ask(request(3, "tools/call", {"name": "chatter", "arguments": {}}))
        await wire.leave()
        written, errors, code = await wire.rest()
    assert answer["result"]["content"][0]["text"] == "a child read b''"
    assert (written, code) == ([], 0)
    for words in ("printed with a newline", "printed without one", "printed by a child", "closed in order"):
        assert words in errors


@pytest.mark.parametrize("flags", [(), ("legacy",)])
async def test_a_client_may_discover_and_then_initialize(tmp_path: Path, flags: tuple[str, ...]) -> None:
    async with serving(tmp_path, "", *flags) as wire:
        discovered = await wire.ask(DISCOVER)
        initialized = await wire.ask(INITIALIZE)
        await wire.send(INITIALIZED)
        listed = await wire.ask(request(3, "tools/list"))
        await wire.leave()
        assert await wire.rest() == ([], "closed in order\n", 0)
    if flags:
        assert discovered["error"]["code"] == -32601
    else:
        assert "2026-07-28" in discovered["result"]["supportedVersions"]
    assert initialized["result"]["protocolVersion"] == "2025-11-25"
    assert listed["result"]["tools"][0]["name"] == "search"


async def test_a_modern_client_may_discover_or_begin_at_once(tmp_path: Path) -> None:
    listing = request(3, "tools/list", {"_meta": META})
    for opening in ([DISCOVER], [DISCOVER, {**DISCOVER, "id": 7}], []):
        async with serving(tmp_path) as wire:
            for message in opening:
                assert (await wire.ask(message))["id"] == message["id"]
            assert (await wire.ask(listing))["result"]["resultType"] == "complete"
            await wire.leave()
            assert (await wire.rest())[2] == 0


@pytest.mark.parametrize("ending", ["leaves", "SIGTERM", "SIGINT"])
async def test_however_it_ends_a_running_reply_is_stopped_and_kept(tmp_path: Path, ending: str) -> None:
    async with serve_script([text("Half an "), pause(anyio.Event())]) as server:
        async with serving(tmp_path, server.url) as wire:
            await wire.ask(INITIALIZE)
            await wire.send(INITIALIZED)
            call = {"name": "ask", "arguments": {"prompt": "Go on."}, "_meta": {"progressToken": 1}}
            progress = await wire.ask(request(3, "tools/call", call))
            assert progress["params"]["message"] == "Half an "
            if ending == "leaves":
                await wire.leave()
            else:
                wire.process.send_signal(getattr(signal, ending))
            with anyio.fail_after(20):
                _, errors, code = await wire.rest()
        assert server.left == 1
    assert code == (0 if ending != "SIGINT" else -signal.SIGINT), errors
    config = Config.load(data_dir=tmp_path, environ={})
    async with Lembas.open(tmp_path / "lembas.db", config=config) as lembas:
        (chat,) = (await lembas.chats.list()).items
        reply = (await lembas.chats.messages(chat.id))[-1]
    assert (reply.status, reply.text) == ("stopped", "Half an ")
