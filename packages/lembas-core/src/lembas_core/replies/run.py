"""One generation of one reply, from its first event to its stored end."""

from __future__ import annotations

import logging
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal

import anyio

from lembas_core.engine.events import Event, Finished, Metrics
from lembas_core.engine.questions import Answer
from lembas_core.engine.run import run_reply
from lembas_core.engine.state import fold
from lembas_core.errors import LembasError
from lembas_core.replies.desk import Desk
from lembas_core.replies.log import Log
from lembas_core.replies.mail import answer_from_mail
from lembas_core.replies.storing import conclude, cut_short

if TYPE_CHECKING:
    from lembas_core.clock import Clock
    from lembas_core.engine.questions import Question
    from lembas_core.engine.state import ReplyView
    from lembas_core.replies.job import Job
    from lembas_core.store import Store

__all__ = ("Run",)

_log: Final = logging.getLogger(__name__)


class Run:
    """A reply that runs here.

    Attributes:
        job: What it was started with.
        log: Its events.
        error: What went wrong, once it is over.
        over: Set when its end is stored and told.
        kept_at: When its row was last written, by the monotonic clock.
    """

    def __init__(self, job: Job, store: Store, clock: Clock) -> None:
        self.job = job
        self.log: Log = Log(replace(job.start, outcome=None, finish="", error="", status="", question=None))
        self.error: LembasError | None = None
        self.over: anyio.Event = anyio.Event()
        self.kept_at: float = clock.monotonic()
        self._began = self.kept_at
        self._kept = job.start.number
        self._watchers = 0
        self._store = store
        self._clock = clock
        self._desk = Desk()
        self._scope = anyio.CancelScope()
        self._why: Literal["stopped", "interrupted"] = "interrupted"

    async def run(self) -> None:
        """Run to the end; only the cancellation of the task group comes out."""
        finished = None
        try:
            with self._scope:
                finished = await self._reply()
        except Exception as raised:
            finished = self._failed(self._known(_alone(raised)))
        finally:
            # What arrived is stored even when the instance is being closed.
            with anyio.CancelScope(shield=True):
                await self._end(finished)

    def end(self, why: Literal["stopped", "interrupted"]) -> None:
        """End it now, whatever it does."""
        if self._scope.cancel_called:
            return
        self._why = why
        self._desk.close()
        self._scope.cancel()

    @contextmanager
    def watched(self) -> Generator[None]:
        """Somebody waits for its end, who will have seen it."""
        self._watchers += 1
        try:
            yield
        finally:
            self._watchers -= 1

    @property
    def unkept(self) -> bool:
        """Whether there is something its row does not hold."""
        return self.log.state.number != self._kept

    def kept(self, view: ReplyView | None, at: float) -> None:
        """Its row was written, with `view` or only that it still runs."""
        self._kept, self.kept_at = view.number if view else self._kept, at

    def answer(self, question_id: str, answer: Answer) -> bool:
        """Answer what it asks; False when it does not ask that (any more)."""
        return self._desk.answer(question_id, answer)

    def hear(self, generation: str | None, mail: Mapping[str, Any] | None) -> None:
        """Take note of what another process left: that it took over, a stop, an answer."""
        if generation != self.job.generation:
            self.end("interrupted")
        elif mail and mail.get("stop"):
            self.end("stopped")
        elif mail:
            self.answer(*answer_from_mail(mail))

    async def _reply(self) -> Finished:
        work = await self.job.prepare()
        return await run_reply(
            work.model,
            work.request,
            emit=self._tell,
            tools=work.tools,
            ask=self._ask,
            permit=work.permit,
            limits=work.limits,
            clock=self._clock,
            start=self.log.state.view() if self.log.state.number else None,
            context_window=work.context_window,
        )

    def _tell(self, event: Event) -> None:
        self._desk.note(event)
        self.log.append(event)

    async def _ask(self, question: Question) -> Answer:
        """Ask the callback and everybody who may answer from elsewhere; the first answer counts."""
        on_question = self.job.on_question
        if on_question is None:
            return await self._desk.wait()

        async def call() -> None:
            self.answer(question.id, await on_question(question))

        answer = Answer.nobody()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            answer = await self._desk.wait()
            tasks.cancel_scope.cancel()
        return answer

    def _known(self, error: Exception) -> LembasError:
        if isinstance(error, LembasError):
            return error
        _log.error("The reply %s failed for a reason of our own", self.job.message_id, exc_info=error)
        return LembasError(f"Something unexpected went wrong: {type(error).__name__}: {error}")

    def _failed(self, error: LembasError) -> Finished:
        return Finished(self.log.state.number + 1, "error", "error", self._metrics(), error)

    def _metrics(self) -> Metrics:
        metrics = self.log.state.metrics
        if metrics.seconds is not None:
            return metrics
        return replace(metrics, seconds=self._clock.monotonic() - self._began)

    async def _end(self, finished: Finished | None) -> None:
        """Store the end, then tell it."""
        finished = finished or Finished(self.log.state.number + 1, self._why, "incomplete", self._metrics())
        view = fold([finished], self.log.state.view())
        if finished.outcome in ("stopped", "interrupted"):
            view = cut_short(view, finished.outcome)
        try:
            if not await self._store_end(view, finished):
                finished = replace(finished, outcome="interrupted", error=None)
        except Exception as raised:
            # Whoever waits must hear of it, whatever it was; the row becomes `interrupted` by and by.
            error = self._known(raised)
            _log.error("The end of the reply %s could not be stored: %s", self.job.message_id, error)
            finished = replace(finished, outcome="error", finish="error", error=error)
        self.error = finished.error
        self.log.append(finished)
        self.over.set()

    async def _store_end(self, view: ReplyView, finished: Finished) -> bool:
        alone = not self.log.followed and not self._watchers
        unread = alone and finished.outcome in ("done", "error")
        kind = type(finished.error).__name__ if finished.error else ""
        job, at = self.job, self._clock.now()
        return await self._store.write(
            lambda c: conclude(c, job.message_id, job.generation, view, kind, at, unread=unread)
        )


def _alone(error: Exception) -> Exception:
    """The one error that a group of tasks failed with, or the error itself."""
    inside: tuple[Exception, ...] = getattr(error, "exceptions", ())
    return _alone(inside[0]) if len(inside) == 1 else error
