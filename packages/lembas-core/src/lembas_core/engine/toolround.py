"""What happens between two requests: calls are looked at, a person is asked, tools run, results go back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from lembas_core.clock import Clock
from lembas_core.endpoints.values import Message, Request, ToolCall
from lembas_core.engine.arguments import replayable
from lembas_core.engine.asking import answer_in_time
from lembas_core.engine.calls import Job, answered, question_about, sorted_out, told_how_many
from lembas_core.engine.emitter import Emitter
from lembas_core.engine.limits import CALLS_A_ROUND, Limits, Permit
from lembas_core.engine.questions import Answer, OnQuestion
from lembas_core.engine.toolwork import ToolWork
from lembas_core.tools.values import ToolResult, Toolset

__all__ = ("ToolRound",)

LAST_ROUND: Final = "No more tools can be called: answer now with what is known."


class ToolRound:
    """Answers the calls of one round."""

    def __init__(
        self, tell: Emitter, ask: OnQuestion | None, permit: Permit, limits: Limits, clock: Clock
    ) -> None:
        self._tell = tell
        self._ask = ask
        self._permit = permit
        self._limits = limits
        self._clock = clock

    async def answered(
        self, request: Request, calls: Sequence[ToolCall], offered: Toolset, *, last: bool
    ) -> Request:
        """The next request: with the round's text, calls and results; the `last` one allows no more calls."""
        jobs = sorted_out(calls[:CALLS_A_ROUND], offered, self._permit)
        results = await ToolWork(self._tell, self._limits, self._clock).run(await self._decided(jobs))
        notes = [told_how_many(calls), LAST_ROUND if last else ""]
        return _with_round(request, self._tell.round_text, calls, _noted(results, notes))

    async def _decided(self, jobs: list[Job]) -> list[Job]:
        question = question_about(jobs)
        if question is None:
            return jobs
        if self._ask is None:
            return answered(jobs, Answer.nobody())
        self._tell.asking(question)
        answer = await answer_in_time(self._ask, question, self._limits.question_seconds, self._clock)
        self._tell.answered(question.id, answer)
        return answered(jobs, answer)


def _noted(results: list[ToolResult], notes: Sequence[str]) -> list[str]:
    """What the model is told of each call, with what it must know about the whole round after the last."""
    texts = [result.text for result in results]
    texts[-1] = "\n\n".join([texts[-1], *(f"[{note}]" for note in notes if note)])
    return texts


def _with_round(request: Request, text: str, calls: Sequence[ToolCall], results: Sequence[str]) -> Request:
    """The request with what a round has brought: text, calls and results, but no thinking."""
    messages = request.messages
    if messages and messages[-1].role == "assistant":
        # A continued reply: what the model had written before and now is one message.
        messages, text = messages[:-1], messages[-1].text + text
    said = Message("assistant", text, calls=tuple(replayable(call) for call in calls[: len(results)]))
    told = (
        Message("tool", result, call_id=call.id, tool_name=call.name)
        for call, result in zip(calls, results, strict=False)
    )
    return replace(request, messages=(*messages, said, *told))
