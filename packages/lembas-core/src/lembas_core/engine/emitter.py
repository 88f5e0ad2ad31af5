"""Number a reply's events and hold the text that they share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from lembas_core.endpoints.values import Usage
from lembas_core.engine import events
from lembas_core.engine.blocks import ReasoningBlock, TextBlock, ToolBlock
from lembas_core.engine.events import Event, Growing, Metrics
from lembas_core.engine.questions import Answer, Question
from lembas_core.engine.state import ReplyView
from lembas_core.tools.values import Risk, ToolResult

__all__ = ("Emitter",)


class Emitter:
    """Tells what happens in a reply, going on from `start` when a reply is continued.

    White space alone opens no stretch of text or thinking: it waits for the first visible character.
    """

    def __init__(self, emit: Callable[[Event], None], start: ReplyView) -> None:
        self._emit = emit
        self.number: int = start.number
        self._answer = Growing(start.text)
        self._thought = Growing()
        self._stretch: Literal["text", "reasoning", ""] = ""
        self._start = 0
        self._thought_before = 0.0
        self._status = start.status
        self._parted = _parted(start)
        self._held: str = ""
        self._empty: bool = True
        self._begin_round()
        self._go_on(start)

    def _go_on(self, start: ReplyView) -> None:
        last = start.blocks[-1] if start.blocks else None
        if isinstance(last, TextBlock):
            self._stretch, self._start = "text", last.start
        elif isinstance(last, ReasoningBlock):
            self._stretch, self._thought, self._thought_before = "reasoning", Growing(last.text), last.seconds

    def _begin_round(self) -> None:
        self._held = ""
        self._empty = True
        self._round_text_start = self._answer.length
        self._doubtful()

    def _doubtful(self) -> None:
        """What is told as answer from here on may turn out to be thinking."""
        self._doubt, self._doubt_parted, self._doubt_empty = self._answer.length, self._parted, self._empty

    @property
    def answer(self) -> str:
        """The whole answer so far."""
        return self._answer.upto(self._answer.length)

    @property
    def round_text(self) -> str:
        """What this round has added to the answer."""
        return self._answer.upto(self._answer.length, self._round_text_start)

    def next_number(self) -> int:
        """Count one event."""
        self.number += 1
        return self.number

    def round_started(self, number: int) -> None:
        """A request goes out."""
        self._begin_round()
        self._emit(events.RoundStarted(self.next_number(), number))

    def text(self, added: str) -> None:
        """More of the answer."""
        if self._stretch != "text":
            added = self._begin_text(added)
        if added:
            length = self._answer.add(added)
            self.number += 1
            self._emit(events.Text(self.number, added, self._start, length, self._answer))

    def _begin_text(self, added: str) -> str:
        added = self._held + added
        if not added or (self._empty and added.isspace()):
            self._held = added
            return ""
        gap = _gap(self.answer, added) if self._parted and self._answer.length else ""
        self._start = self._answer.length + len(gap)
        if self._empty:
            self._round_text_start = self._start
        self._held, self._parted, self._empty, self._stretch = "", False, False, "text"
        return gap + added

    def reasoning(self, added: str, seconds: float) -> None:
        """More of the thinking; `seconds` since this round's first part."""
        self._doubtful()
        if self._stretch != "reasoning":
            added = self._held + added
            self._held = added if added.isspace() else ""
            if not added or self._held:
                return
            self._stretch, self._thought, self._thought_before = "reasoning", Growing(), 0.0
        length = self._thought.add(added)
        total = self._thought_before + seconds
        self._emit(events.Reasoning(self.next_number(), added, length, self._thought, total))

    def rethought(self, seconds: float) -> None:
        """What was told as answer since the last thinking, or since the round began, was thinking."""
        self._held = ""
        if self._answer.length == self._doubt:
            return
        self._thought = Growing(self._answer.upto(self._answer.length, max(self._start, self._doubt)))
        self._answer = Growing(self._answer.upto(self._doubt))
        self._parted, self._empty = self._doubt_parted, self._doubt_empty
        self._stretch, self._thought_before = "reasoning", 0.0
        self._emit(events.Rethought(self.next_number(), self._doubt, seconds))

    def tool_started(self, call_id: str, name: str, arguments: str, risk: Risk) -> None:
        """A call begins."""
        self._stretch, self._parted = "", True
        self._emit(events.ToolStarted(self.next_number(), call_id, name, arguments, risk))

    def tool_finished(self, call_id: str, result: ToolResult, seconds: float) -> None:
        """A call ended."""
        event = events.ToolFinished(self.next_number(), call_id, result.text, result.is_error, seconds)
        self._emit(event)

    def status(self, text: str) -> None:
        """One line on what happens now; "" clears it; the same line again is not told."""
        if text != self._status:
            self._status = text
            self._emit(events.Status(self.next_number(), text))

    def usage(self, metrics: Metrics, usage: Usage | None = None) -> None:
        """Metrics so far."""
        self._emit(events.UsageReported(self.next_number(), metrics, usage))

    def asking(self, question: Question) -> None:
        """The reply waits for a person."""
        self._emit(events.Asking(self.next_number(), question))

    def answered(self, question_id: str, answer: Answer) -> None:
        """The reply goes on."""
        self._emit(events.Answered(self.next_number(), question_id, answer))


def _parted(start: ReplyView) -> bool:
    """Whether a tool call came after the last text."""
    for block in reversed(start.blocks):
        if isinstance(block, TextBlock):
            return False
        if isinstance(block, ToolBlock):
            return True
    return False


def _gap(before: str, after: str) -> str:
    """The newlines that are missing for a blank line between two stretches."""
    there = len(before) - len(before.rstrip("\n")) + len(after) - len(after.lstrip("\n"))
    return "\n" * max(0, 2 - there)
