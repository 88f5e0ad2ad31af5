"""The bounded loop of one reply: ask the model, run the tools it calls, ask again.

There is one loop. It tells what happens as events; nothing in it depends on whether anybody watches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import anyio

from lembas_core.clock import Clock, SystemClock
from lembas_core.endpoints.values import EndPart, ModelClient, Request, ToolCall
from lembas_core.engine.emitter import Emitter
from lembas_core.engine.events import Event, Finished
from lembas_core.engine.limits import Limits, Permit, default_permit
from lembas_core.engine.metering import Meter
from lembas_core.engine.questions import OnQuestion
from lembas_core.engine.state import ReplyView
from lembas_core.engine.streaming import Streamer
from lembas_core.errors import BadResponse, EndpointError, LembasError
from lembas_core.tools.values import Toolset

__all__ = ("run_reply",)


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
    streamer = Streamer(model, tell, meter, limits, clock)
    run = _Run(tell, meter, streamer, tools or Toolset(), ask, permit, limits, clock)
    try:
        return await run.rounds(request)
    except LembasError as error:
        return run.failed(error)
    except anyio.get_cancelled_exc_class():
        tell.usage(meter.metrics())
        raise


class _Run:
    """One run of the loop."""

    def __init__(
        self,
        tell: Emitter,
        meter: Meter,
        streamer: Streamer,
        tools: Toolset,
        ask: OnQuestion | None,
        permit: Permit,
        limits: Limits,
        clock: Clock,
    ) -> None:
        self._tell = tell
        self._meter = meter
        self._streamer = streamer
        self._tools = tools
        self._ask = ask
        self._permit = permit
        self._limits = limits
        self._clock = clock

    async def rounds(self, request: Request) -> Finished:
        number = 1
        end = await self._round(number, request)
        while end.calls and end.error is None and number < self._limits.rounds:
            request = await self._called(request, end.calls, number)
            number += 1
            end = await self._round(number, request)
        if end.error is not None:
            return self.failed(end.error, end)
        return Finished(self._tell.next_number(), "done", end.finish, self._meter.metrics())

    async def _called(self, request: Request, calls: Sequence[ToolCall], number: int) -> Request:
        # Most replies call nothing: what runs tools is imported when there is something to run.
        from lembas_core.engine.toolround import ToolRound

        work = ToolRound(self._tell, self._ask, self._permit, self._limits, self._clock)
        last = number + 1 == self._limits.rounds
        return await work.answered(request, calls, self._offered(number), last=last)

    def _offered(self, number: int) -> Toolset:
        """The tools of a round: none in the last one, so that the reply ends in words."""
        return self._tools if number < self._limits.rounds else Toolset()

    async def _round(self, number: int, request: Request) -> EndPart:
        self._tell.round_started(number)
        self._meter.round_started(number)
        try:
            end = await self._streamer.stream(replace(request, tools=self._offered(number).specs))
        except BadResponse as error:
            # After a tool there may be nothing left to say.
            if error.reason != "empty_reply" or number == 1 or not self._tell.answer:
                raise
            end = EndPart("stop")
        self._meter.round_ended(end.usage)
        self._tell.status("")
        self._tell.usage(self._meter.metrics(), end.usage)
        return end

    def failed(self, error: LembasError, end: EndPart | None = None) -> Finished:
        if isinstance(error, EndpointError):
            error.partial = self._tell.answer
        self._tell.status("")
        finish = end.finish if end else "error"
        return Finished(self._tell.next_number(), "error", finish, self._meter.metrics(), error)
