"""What a scripted model does in answer to one request: a step is a list of these items."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from itertools import pairwise
from typing import Any

import anyio

from lembas_core.endpoints.values import Finish, Part, ReasoningPart, RecastPart, TextPart, Usage
from lembas_core.errors import EndpointError
from lembas_core.frozen import frozen
from lembas_core.tools.threads import in_thread

__all__ = (
    "Call",
    "Fault",
    "Item",
    "Parts",
    "Pause",
    "Raw",
    "Step",
    "Steps",
    "Stop",
    "Used",
    "call",
    "fault",
    "finish",
    "pause",
    "raw",
    "raw_call",
    "reasoning",
    "recast",
    "text",
    "usage",
)


@frozen
class Parts:
    """What arrives, piece by piece."""

    parts: tuple[Part, ...]


@frozen
class Call:
    """A tool call; `arguments` is JSON text as the model wrote it."""

    name: str
    arguments: str
    id: str = ""
    problem: str = ""


@frozen
class Used:
    """Tokens that are reported at the end."""

    usage: Usage


@frozen
class Fault:
    """An error; nothing comes after it."""

    error: EndpointError


Signal = anyio.Event | threading.Event
"""An event of this event loop, or one that another thread may set or wait for."""


@frozen
class Pause:
    """Wait for `until`; `reached` is set when the script has come here."""

    until: Signal
    reached: Signal | None = None

    async def wait(self) -> None:
        """Say that the script is here and wait."""
        if self.reached is not None:
            self.reached.set()
        if isinstance(self.until, threading.Event):
            await in_thread(self.until.wait)
        else:
            await self.until.wait()


@frozen
class Stop:
    """Why the stream ends, where it is not `stop` or `tool_calls`."""

    finish: Finish


@frozen
class Raw:
    """The body of a response as bytes, piece by piece: the only item of its step, for `serve_script`."""

    pieces: tuple[bytes, ...]
    status: int = 200
    content_type: str = "text/event-stream"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


Item = Parts | Call | Used | Fault | Pause | Stop | Raw
Step = Sequence[Item]


class Steps:
    """The steps of a script: one for each request, in their order, and none left at the end."""

    def __init__(self, steps: Iterable[Step]) -> None:
        self._steps = tuple(steps)
        self._taken = 0
        self._failure: AssertionError | None = None

    def next(self, problem: str = "") -> Step:
        """The step that answers the next request; `problem` is what is wrong with that request.

        Raises:
            AssertionError: Something is wrong with it, or there is no step for it. `assert_spent` repeats it.
        """
        self._taken += 1
        if self._taken > len(self._steps):
            problem = f"The script has {len(self._steps)} steps; request {self._taken} was not expected."
        if problem:
            self._failure = AssertionError(problem)
            raise self._failure
        return self._steps[self._taken - 1]

    def assert_spent(self) -> None:
        """Fail when a step was not used, or when a request came that was not expected."""
        if self._failure is not None:
            raise self._failure
        left = len(self._steps) - self._taken
        if left > 0:
            raise AssertionError(f"{left} of {len(self._steps)} steps of the script were not used.")


def text(said: str, *, cuts: int | Sequence[int] = ()) -> Parts:
    """Text; `cuts` are the places where the stream is cut, or how long each piece is."""
    return Parts(tuple(TextPart(piece) for piece in _pieces(said, cuts)))


def reasoning(thought: str, *, cuts: int | Sequence[int] = ()) -> Parts:
    """Thinking, cut like `text`."""
    return Parts(tuple(ReasoningPart(piece) for piece in _pieces(thought, cuts)))


def recast() -> Parts:
    """The text since the last thinking was thinking: a closing tag came that nothing had opened."""
    return Parts((RecastPart(),))


def call(name: str, /, **arguments: Any) -> Call:
    """A tool call."""
    return Call(name, json.dumps(arguments, ensure_ascii=False))


def raw_call(name: str, arguments: str, *, id: str = "", problem: str = "") -> Call:
    """A tool call with its arguments as JSON text, right or wrong."""
    return Call(name, arguments, id, problem)


def usage(
    prompt: int | None = None,
    completion: int | None = None,
    *,
    cached: int | None = None,
    reasoning: int | None = None,
) -> Used:
    """Tokens that the endpoint reports."""
    return Used(Usage(prompt, completion, cached, reasoning))


def fault(error: EndpointError) -> Fault:
    """A fault: raised when it comes first, told by the end of the stream otherwise."""
    return Fault(error)


def raw(
    *pieces: bytes,
    status: int = 200,
    content_type: str = "text/event-stream",
    headers: Mapping[str, str] | None = None,
) -> Raw:
    """A response's body as bytes, for `serve_script`; the only item of its step."""
    return Raw(pieces, status, content_type, headers or {})


def pause(until: Signal, *, reached: Signal | None = None) -> Pause:
    """Wait until an event is set."""
    return Pause(until, reached)


def finish(why: Finish) -> Stop:
    """End for another reason than `stop` or `tool_calls`."""
    return Stop(why)


def _pieces(said: str, cuts: int | Sequence[int]) -> tuple[str, ...]:
    places = range(cuts, len(said), cuts) if isinstance(cuts, int) else sorted({*cuts})
    edges = [0, *(at for at in places if 0 < at < len(said)), len(said)]
    return tuple(said[a:b] for a, b in pairwise(edges) if a < b)
