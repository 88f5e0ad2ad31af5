"""Once a second: what running replies hold is written, what other processes left for them is heard."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from lembas_core.errors import StoreError
from lembas_core.replies.storing import checkpoint, mailboxes

if TYPE_CHECKING:
    from lembas_core.clock import Clock
    from lembas_core.engine.state import ReplyView
    from lembas_core.replies.run import Run
    from lembas_core.store import Store

__all__ = ("Keeper",)

_log: Final = logging.getLogger(__name__)
_TICK: Final = 1.0
_HEARTBEAT: Final = 5.0


class Keeper:
    """Keeps the replies that run here, all of them in one transaction if that can be.

    Args:
        runs: The replies, by message; others add and remove.
        store: Where they are kept.
        clock: Time.
        owner: This process.
    """

    def __init__(self, runs: Mapping[str, Run], store: Store, clock: Clock, owner: str) -> None:
        self._runs = runs
        self._store = store
        self._clock = clock
        self._owner = owner

    async def keep(self) -> None:
        """Go on as long as replies run, whatever goes wrong: what cannot be kept now may be later."""
        while self._runs:
            await self._clock.sleep(_TICK)
            try:
                await self._write()
                await self._hear()
            except StoreError as error:
                _log.warning("Running replies could not be kept: %s", error)
            except Exception:
                _log.exception("Running replies could not be kept for a reason of our own")

    async def _write(self) -> None:
        now = self._clock.monotonic()
        due = [run for run in self._runs.values() if run.unkept or now - run.kept_at >= _HEARTBEAT]
        try:
            await self._checkpoint(due)
        except StoreError:
            raise
        except Exception:
            # One that cannot be stored must not make the others seem dead.
            for run in due:
                await self._write_alone(run)

    async def _write_alone(self, run: Run) -> None:
        try:
            await self._checkpoint([run])
        except StoreError:
            raise
        except Exception:
            _log.exception("The reply %s could not be kept for a reason of our own", run.job.message_id)

    async def _checkpoint(self, due: Sequence[Run]) -> None:
        now, at = self._clock.monotonic(), self._clock.now()
        views: dict[tuple[str, str], ReplyView | None] = {
            (run.job.message_id, run.job.generation): run.log.state.view() if run.unkept else None
            for run in due
        }
        if not due:
            return
        await self._store.write(lambda c: checkpoint(c, views, self._owner, at))
        for run, view in zip(due, views.values(), strict=True):
            run.kept(view, now)

    async def _hear(self) -> None:
        ids = tuple(self._runs)
        if not ids:
            return
        for message_id, (generation, mail) in (await self._store.read(lambda c: mailboxes(c, ids))).items():
            if (run := self._runs.get(message_id)) is not None:
                run.hear(generation, mail)
