"""A scripted model for tests: strict, in this process, without a network."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self

from lembas_core.endpoints.values import (
    CallsPart,
    EndPart,
    Finish,
    Part,
    Request,
    ToolCall,
)
from lembas_core.testing.steps import Call, Fault, Parts, Pause, Step, Steps, Stop, Used

__all__ = ("Script", "ending", "unanswered")


class Script:
    """A model that answers the first request with the first step, and so on.

    A request for which there is no step, or that no endpoint would accept, raises `AssertionError`, there and
    from `assert_spent`. As a context manager it asserts at a clean end that every step was used.

    Attributes:
        requests: What was asked so far.
        streaming: How many streams are open now.
    """

    def __init__(self, *steps: Step, name: str = "script") -> None:
        self._steps = Steps(steps)
        self._name = name
        self.requests: list[Request] = []
        self.streaming: int = 0

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    def model(self) -> Self:
        """The model that follows this script: the script itself."""
        return self

    def assert_spent(self) -> None:
        """Fail when a step was not used, or when a request came that was not expected."""
        self._steps.assert_spent()

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Part]]:
        """Answer with the next step."""
        self.requests.append(request)
        step = self._steps.next(unanswered(request))
        if step and isinstance(step[0], Fault):
            raise step[0].error
        self.streaming += 1
        parts = _parts(step, ending(step, f"call_{len(self.requests)}"))
        try:
            yield parts
        finally:
            self.streaming -= 1
            await parts.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.assert_spent()


async def _parts(step: Step, ending: EndPart) -> AsyncGenerator[Part]:
    names: tuple[str, ...] = ()
    for item in step:
        if isinstance(item, Parts):
            for part in item.parts:
                yield part
        elif isinstance(item, Call):
            names = (*names, item.name)
            yield CallsPart(names)
        elif isinstance(item, Pause):
            await item.wait()
        elif isinstance(item, Fault):
            break
    yield ending


def ending(step: Step, calls_named: str) -> EndPart:
    """The last part of a step; calls without an id are numbered after `calls_named`."""
    error = next((item.error for item in step if isinstance(item, Fault)), None)
    used = next((item.usage for item in step if isinstance(item, Used)), None)
    if error is not None:
        return EndPart("error", usage=used, error=error)
    made = [item for item in step if isinstance(item, Call)]
    calls = tuple(
        ToolCall(item.id or f"{calls_named}_{at}", item.name, item.arguments, item.problem)
        for at, item in enumerate(made, 1)
    )
    return EndPart(_finish(step), calls, used)


def _finish(step: Step) -> Finish:
    for item in step:
        if isinstance(item, Stop):
            return item.finish
    return "tool_calls" if any(isinstance(item, Call) for item in step) else "stop"


def unanswered(request: Request) -> str:
    """Why no endpoint would accept the messages (each call has one result, right after it), or ""."""
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
