"""The events of a reply: small, typed, numbered. `ReplyState` is their fold.

Numbers start at 1 and rise by one for each event the engine emits. A follower may receive several text
events joined into one; it then carries the last number. New kinds may be added: match on `kind` or class and
ignore what you do not know.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, ClassVar, Literal

from lembas_core.engine.metering import Metrics
from lembas_core.engine.questions import Answer, Question
from lembas_core.frozen import frozen
from lembas_core.tools.values import Risk

if TYPE_CHECKING:
    from lembas_core.endpoints.values import Finish, Usage
    from lembas_core.engine.state import ReplyView
    from lembas_core.errors import LembasError

__all__ = (
    "Answered",
    "Asking",
    "Event",
    "Finished",
    "Growing",
    "Metrics",
    "Outcome",
    "Reasoning",
    "Rethought",
    "RoundStarted",
    "Snapshot",
    "Status",
    "Text",
    "ToolFinished",
    "ToolStarted",
    "UsageReported",
    "joined",
)

Outcome = Literal["done", "stopped", "error", "interrupted"]
"""How a reply ended. `interrupted`: the process that ran it is gone. `finish` tells why in detail."""

_joining = Lock()


class Growing:
    """Text that only grows, shared by all events about it, so that an event costs what is new.

    One owner adds; any thread may read.
    """

    __slots__ = ("_parts", "length")

    def __init__(self, text: str = "") -> None:
        self._parts: list[str] = [text] if text else []
        self.length: int = len(text)

    def add(self, text: str) -> int:
        """Append and return the new length in characters."""
        self._parts.append(text)
        self.length += len(text)
        return self.length

    def upto(self, length: int, start: int = 0) -> str:
        """The characters from `start` to `length`."""
        parts = self._parts
        if len(parts) > 1:
            # A reader in another thread must neither lose what is added meanwhile nor join twice.
            with _joining:
                count = len(parts)
                parts[:count] = ["".join(parts[:count])]
        return parts[0][start:length] if parts else ""


@frozen
class RoundStarted:
    """A request goes out; `round` counts from 1."""

    kind: ClassVar[Literal["round_started"]] = "round_started"
    number: int
    round: int


@frozen
class Text:
    """More of the answer: `added` is new, `text` is the whole answer so far (all rounds).

    `start` is where this stretch begins in `text`; stretches are parted by thinking and tool calls. The
    first `added` after a tool call begins with the blank line that parts it from what was written before, so
    that all `added` joined are the `text`.
    """

    kind: ClassVar[Literal["text"]] = "text"
    number: int
    added: str
    start: int
    length: int
    growing: Growing

    @property
    def text(self) -> str:
        """The whole answer so far."""
        return self.growing.upto(self.length)

    @property
    def block_text(self) -> str:
        """This stretch so far."""
        return self.growing.upto(self.length, self.start)


@frozen
class Reasoning:
    """More of the model's thinking: `added` is new, `text` is this stretch of it, which took `seconds`."""

    kind: ClassVar[Literal["reasoning"]] = "reasoning"
    number: int
    added: str
    length: int
    growing: Growing
    seconds: float = 0.0

    @property
    def text(self) -> str:
        """This stretch of thinking so far."""
        return self.growing.upto(self.length)


@frozen
class Rethought:
    """What was told as the answer from `start` on has turned out to be thinking.

    Some chat templates open the thinking themselves, so that only its end can be seen in the stream.
    """

    kind: ClassVar[Literal["rethought"]] = "rethought"
    number: int
    start: int
    seconds: float = 0.0


@frozen
class ToolStarted:
    """A tool call begins (after permission, where it needed one)."""

    kind: ClassVar[Literal["tool_started"]] = "tool_started"
    number: int
    call_id: str
    name: str
    arguments: str
    risk: Risk


@frozen
class ToolFinished:
    """A tool call ended; `text` is what the model is told."""

    kind: ClassVar[Literal["tool_finished"]] = "tool_finished"
    number: int
    call_id: str
    text: str
    is_error: bool
    seconds: float


@frozen
class Status:
    """One line for a person on what happens now; "" clears it."""

    kind: ClassVar[Literal["status"]] = "status"
    number: int
    text: str


@frozen
class UsageReported:
    """Metrics so far."""

    kind: ClassVar[Literal["usage"]] = "usage"
    number: int
    metrics: Metrics
    usage: Usage | None = None


@frozen
class Asking:
    """The reply waits for a person."""

    kind: ClassVar[Literal["asking"]] = "asking"
    number: int
    question: Question


@frozen
class Answered:
    """The question was answered (or nobody answered in time) and the reply goes on."""

    kind: ClassVar[Literal["answered"]] = "answered"
    number: int
    question_id: str
    answer: Answer


@frozen
class Finished:
    """The last event of every reply, told after the message is stored."""

    kind: ClassVar[Literal["finished"]] = "finished"
    number: int
    outcome: Outcome
    finish: Finish
    metrics: Metrics
    error: LembasError | None = None


@frozen
class Snapshot:
    """What a follower gets first: the state so far, which holds every event up to `number`."""

    kind: ClassVar[Literal["snapshot"]] = "snapshot"
    number: int
    state: ReplyView


Event = (
    RoundStarted
    | Text
    | Reasoning
    | Rethought
    | ToolStarted
    | ToolFinished
    | Status
    | UsageReported
    | Asking
    | Answered
    | Finished
    | Snapshot
)


def joined(events: Iterable[Event]) -> list[Event]:
    """The same events with neighbouring text and thinking of one stretch made one, for a slow follower."""
    out: list[Event] = []
    added: list[str] = []
    for event in events:
        last = out[-1] if out else None
        if isinstance(event, Text | Reasoning) and _same_stretch(last, event):
            added.append(event.added)
            out[-1] = event
            continue
        _close(out, added)
        out.append(event)
        if isinstance(event, Text | Reasoning):
            added = [event.added]
    _close(out, added)
    return out


def _same_stretch(last: Event | None, event: Text | Reasoning) -> bool:
    if isinstance(event, Text):
        return isinstance(last, Text) and event.start == last.start
    return isinstance(last, Reasoning)


def _close(out: list[Event], added: list[str]) -> None:
    """Let the last event stand for all that were joined into it."""
    if len(added) > 1:
        last = out[-1]
        assert isinstance(last, Text | Reasoning)
        out[-1] = replace(last, added="".join(added))
    added.clear()
