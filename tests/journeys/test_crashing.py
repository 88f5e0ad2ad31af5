"""`kill -9` in the middle of a reply of the local model: what arrived is there, the chat goes on."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from lembas_core import Lembas
from support.command import Command
from support.journeys import at_home, exactly, newest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

ASK = (
    "ask", "Tell me of the sea.", "--no-stdin", "--jsonl",
    "-o", "temperature=0", "-o", "ignore_eos=true", "-o", "max_tokens=4000",
)  # fmt: skip

LOST_AT_MOST = 1.0
"""Seconds of text."""

GRACE = 1.0
"""Seconds that a busy machine may take to write what is due."""


async def test_kill_9_in_the_middle_of_a_reply(lembas: Command, tmp_path: Path) -> None:
    home = Command(lembas.home, arguments=("--data-dir", str(tmp_path / "data")))
    printed, due = killed_while_it_writes(home)

    (chat,) = json.loads(home.run("chats", "list", "--json").stdout)
    document = json.loads(home.run("chats", "show", chat["id"], "--json").stdout)
    question, reply = document["messages"]
    assert question["text"] == "Tell me of the sea."
    assert (reply["status"], reply["finish"], reply["error"]) == ("interrupted", "incomplete", None)
    assert printed.startswith(due)
    assert reply["text"].startswith(due)
    assert "interrupted" in home.run("chats", "show", chat["id"]).stdout.lower()

    async with at_home(tmp_path / "data") as again:
        await goes_on(again, chat["id"], reply["text"])


def killed_while_it_writes(lembas: Command) -> tuple[str, str]:
    """What a process had printed when it was killed, and what of that was a second old."""
    printed, arrived = "", list[tuple[float, str]]()
    with lembas.start(*ASK) as running:
        assert running.stdout is not None
        for line in running.stdout:
            event: dict[str, Any] = json.loads(line)
            if event["kind"] == "text":
                printed += event["added"]
                arrived.append((time.monotonic(), printed))
                if arrived[-1][0] - arrived[0][0] > 4:
                    break
        (model,) = psutil.Process(running.pid).children()
        assert "lembas_core.local.serve" in model.cmdline()
        killed = time.monotonic()
        running.kill()
        printed += "".join(
            json.loads(line).get("added", "") for line in running.stdout if line.endswith(b"\n")
        )
    gone, _ = psutil.wait_procs([model], timeout=20)
    assert gone, "the local model outlives who started it"
    due = next(text for at, text in reversed(arrived) if at < killed - LOST_AT_MOST - GRACE)
    assert due, "more than two seconds of text had arrived"
    return printed, due


async def goes_on(lembas: Lembas, chat_id: str, kept: str) -> None:
    """Continue adds to what was kept, Regenerate begins anew beside it."""
    chat = await lembas.open_chat(chat_id, parameters=exactly(12))
    continued = await chat.resume()
    stored = await newest(lembas, chat_id)
    assert continued.text == stored.text
    assert stored.text.startswith(kept)
    assert len(stored.text) > len(kept)
    assert (stored.status, stored.finish) == ("done", "length")

    other = await chat.regenerate()
    versions = await chat.versions(stored.id)
    assert [(v.text, v.status) for v in versions] == [(stored.text, "done"), (other.text, "done")]
    assert other.text
    assert (await newest(lembas, chat_id)).id == other.message_id
