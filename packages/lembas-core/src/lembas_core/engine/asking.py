"""Ask a person, but not for ever."""

from __future__ import annotations

from lembas_core.clock import Clock
from lembas_core.engine.questions import Answer, OnQuestion, Question
from lembas_core.tools.running import within

__all__ = ("answer_in_time",)


async def answer_in_time(ask: OnQuestion, question: Question, seconds: float, clock: Clock) -> Answer:
    """The answer, or that nobody answered within `seconds`."""

    async def asked() -> Answer:
        return await ask(question)

    return await within(seconds, asked, clock=clock) or Answer.nobody()
