"""The bounded loop of one reply: ask the model, run the tools it calls, ask again.

There is one loop. It tells what happens as events; nothing in it depends on whether anybody watches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import anyio

from lembas_core.clock import Clock, SystemClock
from lembas_core.endpoints.values import EndPart, Message, ModelClient, Request, ToolCall
from lembas_core.engine.arguments import replayable
from lembas_core.engine.asking import answer_in_time
from lembas_core.engine.calls import Job, answered, question_about, sorted_out, told_how_many
from lembas_core.engine.emitter import Emitter
from lembas_core.engine.events import Event, Finished
from lembas_core.engine.limits import CALLS_A_ROUND, Limits, Permit, default_permit
from lembas_core.engine.metering import Meter
from lembas_core.engine.questions import Answer, OnQuestion
from lembas_core.engine.state import ReplyView
from lembas_core.engine.streaming import Streamer
from lembas_core.engine.toolwork import ToolWork
from lembas_core.errors import BadResponse, EndpointError, LembasError
from lembas_core.tools.values import ToolResult, Toolset

__all__ = ("run_reply",)

LAST_ROUND: Final = "No more tools can be called: answer now with what is known."


async def run_reply(
    model: ModelClient,
    request: Request,
    *,
    emit: Callable[[Event], None],
    tools: Toolset | None = None,
    ask: OnQuestion | None = None,
    permit: Permit = default_permit,
    limits: Limits | None = None,
    clock: Clock | None = None,
    start: ReplyView | None = None,
    context_window: int | None = None,
) -> Finished:
    """Run one reply to its end and tell what happens.

    The last event is returned, not emitted: its caller stores the message first and then tells. When the task
    is cancelled, the connection is left and tools are cancelled at once, what arrived has been told, and the
    cancellation goes on; its caller makes the last event.

    Args:
        model: What answers.
        request: The first request; the tools in it are replaced by `tools`.
        emit: Takes each event; must not block.
        tools: What is offered, and so exactly what may run.
        ask: Asks a person; None when nobody can be asked.
        permit: Decides for each call whether it runs, asks or is denied.
        limits: How far the reply may go.
        clock: What times are measured with.
        start: The reply so far, when it is continued; its numbers and its text go on.
        context_window: The model's context window in tokens, for the metrics.
    """
    limits, clock = limits or Limits(), clock or SystemClock()
    tell = Emitter(emit, start or ReplyView())
    meter = Meter(clock, start.metrics if start else None, context_window)
    run = _Run(
        tell=tell,
        meter=meter,
        streamer=Streamer(model, tell, meter, limits, clock),
        work=ToolWork(tell, limits, clock),
        tools=tools or Toolset(),
        ask=ask,
        permit=permit,
        limits=limits,
        clock=clock,
    )
    try:
        return await run.rounds(request)
    except LembasError as error:
        return run.failed(error)
    except anyio.get_cancelled_exc_class():
        tell.usage(meter.metrics())
        raise


@dataclass(slots=True, kw_only=True)
class _Run:
    """One run of the loop."""

    tell: Emitter
    meter: Meter
    streamer: Streamer
    work: ToolWork
    tools: Toolset
    ask: OnQuestion | None
    permit: Permit
    limits: Limits
    clock: Clock

    async def rounds(self, request: Request) -> Finished:
        number = 1
        end = await self._round(number, replace(request, tools=self._offered(number).specs))
        while end.calls and end.error is None and number < self.limits.rounds:
            results = await self._called(end.calls[:CALLS_A_ROUND], self._offered(number))
            number += 1
            notes = [told_how_many(end.calls), LAST_ROUND if number == self.limits.rounds else ""]
            request = _with_round(request, self.tell.round_text, end.calls, _noted(results, notes))
            end = await self._round(number, replace(request, tools=self._offered(number).specs))
        if end.error is not None:
            return self.failed(end.error, end)
        return Finished(self.tell.next_number(), "done", end.finish, self.meter.metrics())

    def _offered(self, number: int) -> Toolset:
        """The tools of a round: none in the last one, so that the reply ends in words."""
        return self.tools if number < self.limits.rounds else Toolset()

    async def _round(self, number: int, request: Request) -> EndPart:
        self.tell.round_started(number)
        self.meter.round_started(number)
        try:
            end = await self.streamer.stream(request)
        except BadResponse as error:
            # After a tool there may be nothing left to say.
            if error.reason != "empty_reply" or number == 1 or not self.tell.answer:
                raise
            end = EndPart("stop")
        self.meter.round_ended(end.usage)
        self.tell.status("")
        self.tell.usage(self.meter.metrics(), end.usage)
        return end

    async def _called(self, calls: Sequence[ToolCall], offered: Toolset) -> list[ToolResult]:
        jobs = sorted_out(calls, offered, self.permit)
        return await self.work.run(await self._decided(jobs))

    async def _decided(self, jobs: list[Job]) -> list[Job]:
        question = question_about(jobs)
        if question is None:
            return jobs
        if self.ask is None:
            return answered(jobs, Answer.nobody())
        self.tell.asking(question)
        answer = await answer_in_time(self.ask, question, self.limits.question_seconds, self.clock)
        self.tell.answered(question.id, answer)
        return answered(jobs, answer)

    def failed(self, error: LembasError, end: EndPart | None = None) -> Finished:
        if isinstance(error, EndpointError):
            error.partial = self.tell.answer
        self.tell.status("")
        finish = end.finish if end else "error"
        return Finished(self.tell.next_number(), "error", finish, self.meter.metrics(), error)


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
