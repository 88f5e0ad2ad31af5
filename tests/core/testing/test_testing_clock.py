from __future__ import annotations

from datetime import UTC, datetime, timedelta

import anyio
from lembas_core.testing import FakeClock


async def test_time_stands_still_until_it_is_moved() -> None:
    start = datetime(2026, 11, 30, tzinfo=UTC)
    clock, woken = FakeClock(start), list[float]()

    async def sleep(seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append(seconds)

    async with anyio.create_task_group() as group:
        group.start_soon(sleep, 5)
        group.start_soon(sleep, 2)
        await clock.sleepers(2)
        clock.advance(2)
        await anyio.lowlevel.checkpoint()
        await anyio.lowlevel.checkpoint()
        assert woken == [2]
        clock.advance(3)
    assert woken == [2, 5]
    assert clock.monotonic() == 5
    assert clock.now() == start + timedelta(seconds=5)


async def test_an_instant_clock_lets_every_sleep_pass() -> None:
    clock = FakeClock(instant=True)
    await clock.sleep(60)
    assert (clock.monotonic(), clock.slept) == (60, [60])


async def test_a_sleep_that_is_cancelled_is_forgotten() -> None:
    clock = FakeClock()
    with anyio.move_on_after(0):
        await clock.sleep(5)
    async with anyio.create_task_group() as group:
        group.start_soon(clock.sleep, 7)
        await clock.sleepers(1)
        clock.advance(7)
