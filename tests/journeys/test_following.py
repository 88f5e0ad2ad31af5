"""Anybody may follow a reply of the real model at any moment: nothing is missing, nothing is there twice."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from lembas_core import Lembas, Sent
from lembas_core.engine.events import Text
from support.journeys import MODEL, Follower, exactly, newest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

TOKENS = 120


async def test_followers_that_come_at_any_moment_hold_what_is_stored(here: Lembas) -> None:
    sent = await here.chat(model=MODEL, titled=False, parameters=exactly(TOKENS)).start("Tell me of the sea.")
    moments = sorted(random.Random(20).choices(range(TOKENS), k=12))
    followers = [Follower() for _ in moments]
    first, slow, late = Follower(), Follower(), Follower()
    halfway = anyio.Event()
    async with anyio.create_task_group() as tasks:
        waiting = list(zip(moments, followers, strict=True))
        heard = 0
        tasks.start_soon(follow, here, sent, slow, halfway)
        async with here.follow(sent.reply_id) as events:
            async for event in events:
                first.hear(event)
                heard += isinstance(event, Text)
                while waiting and waiting[0][0] <= heard:
                    tasks.start_soon(follow, here, sent, waiting.pop(0)[1])
                if heard == TOKENS // 2:
                    halfway.set()
        halfway.set()
        for _, follower in waiting:
            tasks.start_soon(follow, here, sent, follower)
        tasks.start_soon(follow, here, sent, late)
    stored = await newest(here, sent.chat_id)
    assert (stored.status, stored.finish, stored.text.strip() != "") == ("done", "length", True)
    for follower in (first, slow, *followers, late):
        assert follower.ended
        assert follower.pieced_together == stored.text
        assert follower.numbers == sorted(set(follower.numbers))
        view = follower.view
        assert (view.text, view.blocks, view.outcome) == (stored.text, stored.blocks, "done")
        assert view.metrics == stored.metrics
    # They did come at different moments, and who read slowly had the same in fewer pieces.
    assert len({follower.began.number for follower in followers}) > 4
    assert len(slow.events) < len(first.events)
    assert len(late.events) == 1


async def follow(lembas: Lembas, sent: Sent, follower: Follower, pause: anyio.Event | None = None) -> None:
    """Follow to the end; with a pause, read nothing between the first event and that."""
    async with lembas.follow(sent.reply_id) as events:
        async for event in events:
            follower.hear(event)
            if pause is not None:
                await pause.wait()


ELSEWHERE = """
import json, sys
from pathlib import Path
from lembas_core import Config
from lembas_core.sync import Lembas

folder, reply_id, stop_after = sys.argv[1:]
with Lembas.open(config=Config.load(data_dir=Path(folder), environ={})) as lembas:
    with lembas.follow(reply_id) as events:
        for count, event in enumerate(events, 1):
            view = event.state
            print(json.dumps([event.kind, view.number, view.text, view.outcome]), flush=True)
            if count == int(stop_after):
                print(json.dumps(lembas.stop(reply_id)), flush=True)
"""


def started(command: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


async def test_another_process_follows_and_stops_a_reply(here: Lembas, tmp_path: Path) -> None:
    sent = await here.chat(model=MODEL, titled=False, parameters=exactly(3000)).start("Tell me of the sea.")
    own = Follower()
    with ExitStack() as stack:
        command = [sys.executable, "-c", ELSEWHERE, str(tmp_path / "data"), sent.reply_id, "3"]
        other = stack.enter_context(started(command))
        stack.callback(other.kill)
        async with here.follow(sent.reply_id) as events:
            async for event in events:
                own.hear(event)
        told, _ = await anyio.to_thread.run_sync(partial(other.communicate, timeout=60))
    *shown, ending = [json.loads(line) for line in told.splitlines()]
    stopped = shown.pop(next(i for i, line in enumerate(shown) if line is True))
    stored = await newest(here, sent.chat_id)
    assert stopped is True
    assert ending == ["snapshot", stored.number, stored.text, "stopped"]
    assert own.view.text == own.pieced_together == stored.text
    assert (own.view.outcome, stored.status) == ("stopped", "stopped")
    # Each was all there was at its moment.
    texts = [text for _, _, text, _ in shown]
    assert all(stored.text.startswith(text) for text in texts)
    assert len(set(texts)) > 1
    assert texts == sorted(texts, key=len)
