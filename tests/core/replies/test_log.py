"""Followers of a log: nothing missing, nothing doubled."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lembas_core.engine.events import (
    Event,
    Finished,
    Growing,
    Metrics,
    Reasoning,
    Snapshot,
    Status,
    Text,
    ToolFinished,
    ToolStarted,
)
from lembas_core.engine.state import ReplyState
from lembas_core.replies.log import Follower, Log


class Teller:
    """Makes the events of a reply as an engine would."""

    def __init__(self) -> None:
        self.number = 0
        self._text = Growing()
        self._start = 0
        self._thought = Growing()

    def _next(self) -> int:
        self.number += 1
        return self.number

    def text(self, added: str) -> Event:
        self._thought = Growing()
        return Text(self._next(), added, self._start, self._text.add(added), self._text)

    def reasoning(self, added: str) -> Event:
        self._start = self._text.length
        return Reasoning(self._next(), added, self._thought.add(added), self._thought)

    def call(self) -> Generator[Event]:
        call_id = f"call_{self.number}"
        yield ToolStarted(self._next(), call_id, "clock", "{}", "read")
        yield ToolFinished(self._next(), call_id, "noon", is_error=False, seconds=0.1)
        self._start, self._thought = self._text.length, Growing()

    def status(self) -> Event:
        return Status(self._next(), "Waiting.")

    def finished(self) -> Event:
        return Finished(self._next(), "done", "stop", Metrics())


def tell(teller: Teller, what: str) -> list[Event]:
    makers: dict[str, Callable[[], list[Event]]] = {
        "t": lambda: [teller.text("ab")],
        "r": lambda: [teller.reasoning("hm")],
        "c": lambda: list(teller.call()),
        "s": lambda: [teller.status()],
    }
    return makers[what]()


class Reader:
    """A follower's client: what it got and what it makes of it."""

    def __init__(self, follower: Follower) -> None:
        self.follower = follower
        self.got: list[Event] = []
        self.state = ReplyState()

    async def read(self) -> None:
        event = await anext(self.follower)
        self.got.append(event)
        self.state.apply(event)

    async def read_to_the_end(self) -> None:
        while self.state.outcome is None:
            await self.read()


steps = st.lists(st.sampled_from(["t", "t", "t", "r", "c", "s", "attach", "read", "read"]), max_size=60)


@settings(deadline=None)
@given(steps, st.integers(2, 8))
async def test_whenever_a_follower_attaches_and_however_slow_it_reads_it_holds_the_whole(
    steps: list[str], trim_at: int
) -> None:
    log, teller, readers = Log(), Teller(), list[Reader]()
    log._trim_at = trim_at  # pyright: ignore[reportPrivateUsage]  # so that short logs are trimmed too
    with ExitStack() as following, anyio.fail_after(5):
        for step in steps:
            if step == "attach":
                readers.append(Reader(following.enter_context(log.follow())))
            elif step == "read":
                for reader in readers[::2]:
                    if reader.follower.number < log.state.number or not reader.got:
                        await reader.read()
            else:
                for event in tell(teller, step):
                    log.append(event)
        log.append(teller.finished())
        for reader in readers:
            await reader.read_to_the_end()
            with pytest.raises(StopAsyncIteration):
                await reader.read()
    for reader in readers:
        assert reader.state.view() == log.state.view()
        numbers = [event.number for event in reader.got]
        assert numbers == sorted(numbers) and len(set(numbers[1:])) == len(numbers[1:])
        first, *later = reader.got
        assert isinstance(first, Snapshot)
        added = "".join(event.added for event in later if isinstance(event, Text))
        assert first.state.text + added == log.state.view().text


async def test_a_follower_of_a_finished_log_gets_its_end_and_no_more() -> None:
    log, teller = Log(), Teller()
    log.append(teller.text("done"))
    log.append(teller.finished())
    with log.follow() as follower:
        events = [event async for event in follower]
    assert [event.kind for event in events] == ["snapshot"]
    assert isinstance(events[0], Snapshot) and events[0].state.outcome == "done"


async def test_a_follower_that_waits_is_woken_by_the_next_event() -> None:
    log, teller, texts = Log(), Teller(), list[str]()

    async def watch() -> None:
        with log.follow() as follower:
            texts.extend([event.added async for event in follower if isinstance(event, Text)])

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(watch)
            await anyio.wait_all_tasks_blocked()
            log.append(teller.text("one "))
            await anyio.wait_all_tasks_blocked()
            log.append(teller.text("two"))
            log.append(teller.finished())
    assert texts == ["one ", "two"] * 3


async def test_a_stuck_follower_does_not_make_the_log_grow_with_every_event() -> None:
    log, teller = Log(), Teller()
    with log.follow():
        for _ in range(10_000):
            log.append(teller.text("x"))
        assert len(log._events) < 1_000  # pyright: ignore[reportPrivateUsage]


async def test_without_followers_nothing_is_kept_but_the_fold() -> None:
    log, teller = Log(), Teller()
    with log.follow():
        log.append(teller.text("x"))
    log.append(teller.text("y"))
    assert log._events == []  # pyright: ignore[reportPrivateUsage]
    assert log.state.view().text == "xy"
