"""The replies of an instance: started once, followed by anybody, stopped, answered, kept."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import anyio

from lembas_core.clock import Clock, SystemClock
from lembas_core.engine.events import Event
from lembas_core.replies.job import Ended, Job
from lembas_core.replies.keeper import Keeper
from lembas_core.replies.mail import answer_to_mail
from lembas_core.replies.owner import owner_token
from lembas_core.replies.run import Run
from lembas_core.replies.storing import gone, leave_answer, leave_stop, sweep
from lembas_core.replies.watching import Watcher

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from lembas_core.engine.questions import Answer
    from lembas_core.errors import LembasError
    from lembas_core.store import Store

__all__ = ("Replies",)

_log: Final = logging.getLogger(__name__)
_GRACE: Final = 5.0
_ERRORS_KEPT: Final = 256


class Replies:
    """Runs replies in the background; made by the instance.

    A reply is a task of the instance's task group, never of its caller's: who started it may go, anybody may
    follow. What it holds is written once a second, and its end before anybody is told.

    Args:
        store: Where messages are.
        tasks: What the replies run in; it and the store must outlive `aclose`.
        clock: Time.
        owner: How this process is told from others, as `owner_token` makes it.
    """

    def __init__(
        self, store: Store, tasks: TaskGroup, clock: Clock | None = None, *, owner: str | None = None
    ) -> None:
        self.owner: str = owner or owner_token()
        self._store = store
        self._tasks = tasks
        self._clock: Clock = clock or SystemClock()
        self._runs: dict[str, Run] = {}
        self._keeper = Keeper(self._runs, store, self._clock, self.owner)
        self._keeping: anyio.CancelScope | None = None
        self._errors: OrderedDict[str, LembasError] = OrderedDict()
        self._follow_ups: set[anyio.Event] = set()
        self._closing = False

    def start(self, job: Job) -> None:
        """Start a reply in the background; a generation only once, and a new one ends the one before."""
        before = self._runs.get(job.message_id)
        if self._closing or (before is not None and before.job.generation == job.generation):
            return
        if before is not None:
            before.end("interrupted")
        self._errors.pop(job.message_id, None)
        self._runs[job.message_id] = run = Run(job, self._store, self._clock)
        self._tasks.start_soon(self._run, run)
        if self._keeping is None:
            self._keeping = anyio.CancelScope()
            self._tasks.start_soon(self._keep, self._keeping)

    async def _run(self, run: Run) -> None:
        try:
            await run.run()
        finally:
            if self._runs.get(run.job.message_id) is run:
                del self._runs[run.job.message_id]
                self._remember(run.job.message_id, run.error)
        if run.job.after is not None and not self._closing:
            self._follow_ups.add(over := anyio.Event())
            self._tasks.start_soon(self._follow_up, run, over)

    def _remember(self, message_id: str, error: LembasError | None) -> None:
        """Keep the errors of late: whoever asks a moment later gets them with their facts."""
        if error is not None:
            self._errors[message_id] = error
            if len(self._errors) > _ERRORS_KEPT:
                self._errors.popitem(last=False)

    async def _follow_up(self, run: Run, over: anyio.Event) -> None:
        assert run.job.after is not None
        try:
            await run.job.after(run.log.state.view())
        except Exception:
            _log.exception("What follows the reply %s failed", run.job.message_id)
        finally:
            over.set()
            self._follow_ups.discard(over)

    async def _keep(self, scope: anyio.CancelScope) -> None:
        with scope:
            await self._keeper.keep()
        self._keeping = None

    @asynccontextmanager
    async def follow(self, message_id: str) -> AsyncGenerator[AsyncIterator[Event]]:
        """Follow a reply from now on: a snapshot first, then each later event once, `Finished` last.

        A reply that is over gives one snapshot with its outcome. One that another process runs gives a
        snapshot whenever it has changed, the last one with its outcome.

        Raises:
            NotFound: There is no such reply (raised by the first step).
        """
        run = self._runs.get(message_id)
        if run is None:
            yield Watcher(self._store, self._clock, message_id)
        else:
            with run.log.follow() as follower:
                yield follower

    async def wait(self, message_id: str) -> Ended:
        """Wait for a reply's end.

        Raises:
            NotFound: There is no such reply.
        """
        run = self._runs.get(message_id)
        if run is not None:
            with run.watched():
                await run.over.wait()
            return Ended(run.log.state.view(), run.error)
        ended = await Watcher(self._store, self._clock, message_id).end()
        return Ended(ended.view, ended.error and self._errors.get(message_id, ended.error))

    async def stop(self, message_id: str) -> bool:
        """Stop a reply and wait until that is stored; False when it had ended before."""
        run = self._runs.get(message_id)
        if run is not None:
            run.end("stopped")
            await run.over.wait()
            return run.log.state.outcome == "stopped"
        if not await self._store.write(lambda c: leave_stop(c, message_id)):
            return False
        return (await self.wait(message_id)).view.outcome == "stopped"

    async def answer(self, message_id: str, question_id: str, answer: Answer) -> bool:
        """Answer what a reply asks; False when it does not ask that (any more), which changes nothing."""
        run = self._runs.get(message_id)
        if run is not None:
            return run.answer(question_id, answer)
        mail = answer_to_mail(question_id, answer)
        return await self._store.write(lambda c: leave_answer(c, message_id, mail))

    async def sweep(self) -> list[str]:
        """End the replies whose process is gone as `interrupted`; their ids."""
        at = self._clock.now()
        lost = [lost for lost in await self._store.read(lambda c: gone(c, at)) if lost not in self._runs]
        # Nothing is written when nothing is lost, as at nearly every start.
        return await self._store.write(lambda c: sweep(c, lost, at)) if lost else []

    async def aclose(self) -> None:
        """End what runs as `interrupted`, with what arrived stored; then give titles a few seconds."""
        self._closing = True
        runs = list(self._runs.values())
        for run in runs:
            run.end("interrupted")
        for run in runs:
            await run.over.wait()
        if self._keeping is not None:
            self._keeping.cancel()
        with anyio.move_on_after(_GRACE):
            for over in list(self._follow_ups):
                await over.wait()
