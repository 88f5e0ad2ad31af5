"""Two processes on one database: what one writes the other sees at once, and neither harms the other."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from support.command import Command
from support.journeys import MODEL, at_home
from support.real_model import Served

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

STEADY = ("--no-stdin", "-o", "temperature=0", "-o", "ignore_eos=true")


async def test_one_streams_while_others_list_write_and_stop(
    lembas: Command, tmp_path: Path, real_model: Served
) -> None:
    home = Command(lembas.home, arguments=("--data-dir", str(tmp_path / "data")))
    async with at_home(tmp_path / "data", real_model) as here:
        await here.settings.set("default_model", MODEL)
        with home.start("ask", "Tell me of the sea.", "--jsonl", *STEADY, "-o", "max_tokens=3500") as running:
            assert running.stdout is not None
            while json.loads(running.stdout.readline())["kind"] != "text":
                pass
            # It is listed while it runs, and a second process has a whole conversation beside it.
            (streaming,) = (await here.chats.list()).items
            beside = home.run("ask", "Tell me of a hill.", "--json", *STEADY, "-o", "max_tokens=8")
            assert beside.returncode == 9, beside.stderr
            other = json.loads(beside.stdout)
            renamed = home.run("chats", "rename", streaming.id, "The sea")
            assert (renamed.returncode, running.poll()) == (0, None)
            reply = (await here.chats.messages(streaming.id))[-1]
            assert reply.status == "running"
            assert await here.stop(reply.id)
            events = [json.loads(line) for line in running.stdout]
        assert (events[-1]["kind"], events[-1]["outcome"]) == ("finished", "stopped")
        stored = (await here.chats.messages(streaming.id))[-1]
        assert (stored.status, stored.text) == ("stopped", stored.text.strip() and stored.text)
        assert {info.title for info in (await here.chats.list()).items} == {"The sea", "Tell me of a hill."}
        said = [message.text for message in await here.chats.messages(other["chat"]["id"])]
        assert said == [message["text"] for message in other["messages"]]
        found = await here.chats.search("hill")
        assert {hit.chat_id for hit in found.items} == {other["chat"]["id"]}
    await real_model.idle()
    assert sound(tmp_path / "data" / "lembas.db")


def sound(database: Path) -> bool:
    """Whether SQLite finds nothing wrong: pages, indexes, references."""
    with sqlite3.connect(database) as connection:
        whole = connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        dangling = connection.execute("PRAGMA foreign_key_check").fetchall()
    connection.close()
    return whole and not dangling
