"""One log per generation: events are appended once, any number of followers read them at their own pace.

The log keeps only what some follower has not had yet. A new follower starts from a snapshot of the fold, so
nothing older is ever needed; a slow one gets adjacent text joined into one event. An append costs the same
whether nobody follows or two hundred do: they are all woken by one event and catch up by themselves.
"""

from __future__ import annotations

from bisect import bisect_right
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import anyio

from lembas_core.engine.events import Event, Finished, Snapshot, joined
from lembas_core.engine.state import ReplyState, ReplyView

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ("Follower", "Log")

_TRIM_AT: Final = 256


class Log:
    """The events of one generation and their fold."""

    def __init__(self, start: ReplyView | None = None) -> None:
        self.state: ReplyState = ReplyState(start)
        self._events: list[Event] = []
        self._followers: set[Follower] = set()
        self._trim_at = _TRIM_AT
        self._changed = anyio.Event()
        self._awaited = False

    @property
    def followed(self) -> bool:
        """Whether anybody follows now."""
        return bool(self._followers)

    def append(self, event: Event) -> None:
        """Take the next event and wake those who wait for it."""
        self.state.apply(event)
        if not self._followers:
            return
        self._events.append(event)
        if len(self._events) >= self._trim_at:
            self._trim()
        if self._awaited:
            self._changed.set()
            self._changed, self._awaited = anyio.Event(), False

    @contextmanager
    def follow(self) -> Generator[Follower]:
        """A follower from this moment on; it must be left, since the log keeps what it has not had."""
        follower = Follower(self)
        self._followers.add(follower)
        try:
            yield follower
        finally:
            self._followers.discard(follower)
            if not self._followers:
                self._events.clear()

    def later(self, number: int) -> list[Event]:
        """The events after `number`, adjacent text joined."""
        return joined(self._events[bisect_right(self._events, number, key=_number) :])

    async def changed(self) -> None:
        """Wait for the next event."""
        self._awaited = True
        await self._changed.wait()

    def _trim(self) -> None:
        seen = {follower.number for follower in self._followers}
        del self._events[: bisect_right(self._events, min(seen), key=_number)]
        self._events = _joined_between(self._events, seen)
        self._trim_at = 2 * len(self._events) + _TRIM_AT


class Follower:
    """The events of a reply from one moment on: a snapshot first, then each later event once.

    The last one is `Finished`, unless the snapshot already held the end.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._ready: list[Event] = [Snapshot(log.state.number, log.state.view())]
        self.number: int = log.state.number
        self._over = log.state.outcome is not None

    def __aiter__(self) -> Follower:
        """Itself."""
        return self

    async def __anext__(self) -> Event:
        """The next event."""
        while not self._ready:
            if self._over:
                raise StopAsyncIteration
            if self._log.state.number == self.number:
                await self._log.changed()
            self._ready = self._log.later(self.number)[::-1]
            self.number = self._log.state.number
        event = self._ready.pop()
        self._over = self._over or isinstance(event, Finished)
        return event


def _joined_between(events: list[Event], seen: set[int]) -> list[Event]:
    """`events` joined, but never across a number in `seen`: somebody has had what ends there."""
    out: list[Event] = []
    begin = 0
    for number in sorted(seen):
        end = bisect_right(events, number, key=_number)
        out += joined(events[begin:end])
        begin = end
    return out + joined(events[begin:])


def _number(event: Event) -> int:
    return event.number
