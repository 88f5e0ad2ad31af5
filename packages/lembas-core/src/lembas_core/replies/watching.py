"""Watching a reply by its row: one that is over, or one that another process runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, select

from lembas_core.engine.events import Event, Snapshot
from lembas_core.errors import LembasError, NotFound
from lembas_core.replies.job import Ended
from lembas_core.replies.owner import is_gone
from lembas_core.replies.rows import error_of, view_of
from lembas_core.replies.storing import interrupt_if_gone
from lembas_core.store.tables import messages

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Row

    from lembas_core.clock import Clock
    from lembas_core.engine.state import ReplyView
    from lembas_core.store import Store

__all__ = ("Watcher",)

_LOOK_EVERY: Final = 1.0


class Watcher:
    """Follows a reply by its row: a snapshot whenever it has changed, the last one with its outcome.

    A reply whose process is gone is ended as interrupted, so nobody waits for it for ever.

    Args:
        store: Where the row is.
        clock: Time.
        message_id: The reply.
    """

    def __init__(self, store: Store, clock: Clock, message_id: str) -> None:
        self._store = store
        self._clock = clock
        self._message_id = message_id
        self._seen: ReplyView | None = None

    def __aiter__(self) -> Watcher:
        """Itself."""
        return self

    async def __anext__(self) -> Event:
        """The next snapshot."""
        while self._seen is None or self._seen.outcome is None:
            if self._seen is not None:
                await self._clock.sleep(_LOOK_EVERY)
            before, (self._seen, _) = self._seen, await self.look()
            if self._seen != before:
                return Snapshot(self._seen.number, self._seen)
        raise StopAsyncIteration

    async def end(self) -> Ended:
        """Wait for its end."""
        view, error = await self.look()
        while view.outcome is None:
            await self._clock.sleep(_LOOK_EVERY)
            view, error = await self.look()
        return Ended(view, error)

    async def look(self) -> tuple[ReplyView, LembasError | None]:
        """What the row holds now.

        Raises:
            NotFound: There is no such reply.
        """
        row, at = await self._store.read(self._row), self._clock.now()
        if row is not None and row.status == "running" and is_gone(row.owner, row.checkpoint_at, at):
            await self._store.write(lambda c: self._interrupt(c, at))
            row = await self._store.read(self._row)
        if row is None:
            raise NotFound("There is no such reply.")
        return view_of(row), error_of(row)

    def _row(self, c: Connection) -> Row[Any] | None:
        wanted = (messages.c.id == self._message_id, messages.c.role == "assistant")
        return c.execute(select(messages).where(*wanted)).one_or_none()

    def _interrupt(self, c: Connection, at: datetime) -> None:
        row = self._row(c)
        if row is not None and row.status == "running":
            interrupt_if_gone(c, row, at)
