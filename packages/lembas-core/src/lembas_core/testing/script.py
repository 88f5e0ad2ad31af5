"""A scripted model for tests: strict, in this process, without a network."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self

from lembas_core.endpoints.values import (
    EndPart,
    Finish,
    Part,
    ReasoningPart,
    Request,
    TextPart,
    ToolCall,
    Usage,
)
from lembas_core.testing.steps import Call, Fault, Pause, Say, Step, Stop, Think, Used

__all__ = ("Script",)


class Script:
    """A model that answers the first request with the first step, and so on.

    A request for which there is no step, or that no endpoint would accept, raises `AssertionError`, there and from
    `assert_spent`. As a context manager it asserts at a clean end that every step was used.

    Attributes:
        requests: What was asked so far.
        streaming: How many streams are open now.
    """

    def __init__(self, *steps: Step, name: str = "script") -> None:
        self._steps = list(steps)
        self._name = name
        self._failure: AssertionError | None = None
        self.requests: list[Request] = []
        self.streaming = 0

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    def model(self) -> Self:
        """The model that follows this script: the script itself."""
        return self

    def assert_spent(self) -> None:
        """Fail when a step was not used, or when a request came that was not expected."""
        if self._failure is not None:
            raise self._failure
        left = len(self._steps) - len(self.requests)
        if left > 0:
            raise AssertionError(f"{left} of {len(self._steps)} steps of the script were not used.")

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Part]]:
        """Answer with the next step."""
        step = self._next_step(request)
        if step and isinstance(step[0], Fault):
            raise step[0].error
        self.streaming += 1
        parts = _parts(step, f"call_{len(self.requests)}")
        try:
            yield parts
        finally:
            self.streaming -= 1
            await parts.aclose()

    def _next_step(self, request: Request) -> Step:
        self.requests.append(request)
        problem = unanswered(request)
        if len(self.requests) > len(self._steps):
            problem = (
                f"The script has {len(self._steps)} steps; request {len(self.requests)} was not expected."
            )
        if problem:
            self._failure = AssertionError(problem)
            raise self._failure
        return self._steps[len(self.requests) - 1]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.assert_spent()


async def _parts(step: Step, calls_named: str) -> AsyncGenerator[Part]:
    calls: list[ToolCall] = []
    used: Usage | None = None
    why: Finish | None = None
    for item in step:
        match item:
            case Say(pieces):
                for piece in pieces:
                    yield TextPart(piece)
            case Think(pieces):
                for piece in pieces:
                    yield ReasoningPart(piece)
            case Call():
                calls.append(_tool_call(item, f"{calls_named}_{len(calls) + 1}"))
            case Used():
                used = item.usage
            case Pause():
                await item.wait()
            case Fault():
                yield EndPart("error", usage=used, error=item.error)
                return
            case Stop():
                why = item.finish
    yield EndPart(why or ("tool_calls" if calls else "stop"), tuple(calls), used)


def _tool_call(item: Call, otherwise: str) -> ToolCall:
    return ToolCall(item.id or otherwise, item.name, item.arguments, item.problem)


def unanswered(request: Request) -> str:
    """ "" or why no endpoint would accept the order of messages: each call has one result, right after it."""
    open_calls: list[str] = []
    for message in request.messages:
        if message.role == "tool":
            if message.call_id not in open_calls:
                return f"The result of {message.call_id!r} answers no open call."
            open_calls.remove(message.call_id)
        elif open_calls:
            return f"The calls {open_calls} have no result."
        else:
            open_calls = [call.id for call in message.calls]
    return f"The calls {open_calls} have no result." if open_calls else ""
