"""Ask a person and wait for the answer; the first one counts."""

from __future__ import annotations

import anyio

from lembas_core.clock import Clock
from lembas_core.engine.questions import Answer, OnQuestion, Question
from lembas_core.tools.running import within

__all__ = ("Waiting", "answer_in_time")


async def answer_in_time(ask: OnQuestion, question: Question, seconds: float, clock: Clock) -> Answer:
    """The answer, or that nobody answered within `seconds`."""

    async def asked() -> Answer:
        return await ask(question)

    return await within(seconds, asked, clock=clock) or Answer.nobody()


class Waiting:
    """Where a reply's question waits until anybody answers it, from whichever place.

    `ask` is given to `run_reply`; `answer` is what the places call.
    """

    def __init__(self) -> None:
        self.pending: Question | None = None
        self._answer: Answer | None = None
        self._came = anyio.Event()

    async def ask(self, question: Question) -> Answer:
        """Wait for the answer to `question`."""
        self.pending, self._answer, self._came = question, None, anyio.Event()
        try:
            await self._came.wait()
        finally:
            self.pending = None
        return self._answer or Answer.nobody()

    def answer(self, question_id: str, answer: Answer) -> bool:
        """Answer the question that waits; False when it does not wait (any more), which changes nothing."""
        if self.pending is None or self.pending.id != question_id:
            return False
        self.pending, self._answer = None, answer
        self._came.set()
        return True
