"""A clock that a test moves by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import anyio

__all__ = ("FakeClock",)


class FakeClock:
    """Time stands still until `advance`; an `instant` clock lets every sleep pass at once.

    Attributes:
        slept: The length of every sleep that was asked for, in seconds.
    """

    def __init__(self, now: datetime | None = None, *, instant: bool = False) -> None:
        self._start = now or datetime(2026, 1, 1, tzinfo=UTC)
        self._instant = instant
        self._passed = 0.0
        self._sleepers: list[tuple[float, anyio.Event]] = []
        self._watchers: list[tuple[int, anyio.Event]] = []
        self.slept: list[float] = []

    def now(self) -> datetime:
        """The moment, in UTC."""
        return self._start + timedelta(seconds=self._passed)

    def monotonic(self) -> float:
        """Seconds since the clock was made."""
        return self._passed

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has been moved on by `seconds`."""
        self.slept.append(seconds)
        if self._instant:
            self.advance(seconds)
        if self._instant or seconds <= 0:
            await anyio.lowlevel.checkpoint()
            return
        sleeper = (self._passed + seconds, anyio.Event())
        self._sleepers.append(sleeper)
        self._tell_watchers()
        try:
            await sleeper[1].wait()
        finally:
            if sleeper in self._sleepers:
                self._sleepers.remove(sleeper)

    def advance(self, seconds: float) -> None:
        """Move time on and wake who is due."""
        self._passed += seconds
        for due, event in list(self._sleepers):
            if due <= self._passed:
                event.set()

    async def sleepers(self, count: int = 1) -> None:
        """Wait until at least `count` tasks sleep."""
        if len(self._sleepers) >= count:
            return
        watcher = (count, anyio.Event())
        self._watchers.append(watcher)
        await watcher[1].wait()

    def _tell_watchers(self) -> None:
        for count, event in self._watchers:
            if len(self._sleepers) >= count:
                event.set()
