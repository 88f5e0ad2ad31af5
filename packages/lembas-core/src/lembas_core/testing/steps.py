"""What a scripted model does in answer to one request: a step is a list of these items."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import anyio

from lembas_core.endpoints.values import Finish, Usage
from lembas_core.errors import EndpointError

__all__ = (
    "Call",
    "Fault",
    "Item",
    "Pause",
    "Say",
    "Step",
    "Stop",
    "Think",
    "Used",
    "call",
    "fault",
    "finish",
    "pause",
    "raw_call",
    "reasoning",
    "text",
    "usage",
)


@dataclass(frozen=True, slots=True)
class Say:
    """Text, in pieces."""

    pieces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Think:
    """Thinking, in pieces."""

    pieces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call; `arguments` is JSON text as the model wrote it."""

    name: str
    arguments: str
    id: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Used:
    """Tokens that are reported at the end."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class Fault:
    """An error; nothing comes after it."""

    error: EndpointError


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait for `until`; `reached` is set when the script has come here."""

    until: anyio.Event
    reached: anyio.Event | None = None

    async def wait(self) -> None:
        """Say that the script is here and wait."""
        if self.reached is not None:
            self.reached.set()
        await self.until.wait()


@dataclass(frozen=True, slots=True)
class Stop:
    """Why the stream ends, where it is not `stop` or `tool_calls`."""

    finish: Finish


Item = Say | Think | Call | Used | Fault | Pause | Stop
Step = Sequence[Item]


def text(said: str, *, cuts: int | Sequence[int] = ()) -> Say:
    """Text; `cuts` are the places where the stream is cut, or how long each piece is."""
    return Say(_pieces(said, cuts))


def reasoning(thought: str, *, cuts: int | Sequence[int] = ()) -> Think:
    """Thinking, cut like `text`."""
    return Think(_pieces(thought, cuts))


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


def pause(until: anyio.Event, *, reached: anyio.Event | None = None) -> Pause:
    """Wait until an event is set."""
    return Pause(until, reached)


def finish(why: Finish) -> Stop:
    """End for another reason than `stop` or `tool_calls`."""
    return Stop(why)


def _pieces(said: str, cuts: int | Sequence[int]) -> tuple[str, ...]:
    places = range(cuts, len(said), cuts) if isinstance(cuts, int) else sorted({*cuts})
    edges = [0, *(at for at in places if 0 < at < len(said)), len(said)]
    return tuple(said[a:b] for a, b in zip(edges, edges[1:], strict=False) if a < b)
