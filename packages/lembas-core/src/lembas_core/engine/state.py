"""The fold of a reply's events: what a reply is at any moment.

`ReplyState.apply` takes events in order, each once (an event at or below `number` changes nothing).
`view()` is a frozen copy that a follower may keep. However a stream is cut and wherever a follower attaches,
snapshot plus later events give the same view.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from lembas_core.engine.events import (
    Answered,
    Asking,
    Event,
    Finished,
    Growing,
    Metrics,
    Outcome,
    Reasoning,
    RoundStarted,
    Snapshot,
    Status,
    Text,
    ToolFinished,
    ToolStarted,
    UsageReported,
)
from lembas_core.engine.questions import Question

__all__ = ("Block", "ReasoningBlock", "ReplyState", "ReplyView", "TextBlock", "ToolBlock", "fold")


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A stretch of the answer."""

    text: str
    kind: Literal["text"] = "text"


@dataclass(frozen=True, slots=True)
class ReasoningBlock:
    """The thinking of one round and how long it took in seconds."""

    text: str
    seconds: float
    kind: Literal["reasoning"] = "reasoning"


@dataclass(frozen=True, slots=True)
class ToolBlock:
    """A tool call and its result; `result` is None while it runs."""

    call_id: str
    name: str
    arguments: str
    risk: str
    result: str | None = None
    is_error: bool = False
    seconds: float | None = None
    kind: Literal["tool"] = "tool"


Block = TextBlock | ReasoningBlock | ToolBlock


@dataclass(frozen=True, slots=True)
class ReplyView:
    """A reply at one moment. `outcome` is None while it runs."""

    number: int = 0
    blocks: tuple[Block, ...] = ()
    text: str = ""
    status: str = ""
    question: Question | None = None
    metrics: Metrics = Metrics()
    outcome: Outcome | None = None
    finish: str = ""
    error: str = ""

    @property
    def reasoning(self) -> str:
        """All thinking, rounds parted by a blank line."""
        return "\n\n".join(b.text for b in self.blocks if isinstance(b, ReasoningBlock))


@dataclass(slots=True)
class _Open:
    """A block that still grows: from `start` to `end` of `growing`."""

    kind: Literal["text", "reasoning"]
    growing: Growing
    start: int
    end: int
    block: int = 0
    seconds: float = 0.0


class ReplyState:
    """The running fold. One owner applies events; everybody else reads views."""

    def __init__(self, view: ReplyView | None = None) -> None:
        start = view or ReplyView()
        self.number = start.number
        self.status = start.status
        self.question = start.question
        self.metrics = start.metrics
        self.outcome = start.outcome
        self.finish: str = start.finish
        self.error = start.error
        self.text = Growing(start.text)
        self._blocks: list[Block | _Open] = list(start.blocks)

    def apply(self, event: Event) -> None:
        """Take the next event; one that is already held changes nothing."""
        if event.number <= self.number:
            return
        self.number = event.number
        match event:
            case Text():
                self._grow_text(event)
            case Reasoning():
                self._grow_reasoning(event)
            case ToolStarted():
                self._blocks.append(ToolBlock(event.call_id, event.name, event.arguments, event.risk))
            case ToolFinished():
                self._finish_tool(event)
            case Snapshot():
                self.__init__(event.state)  # type: ignore[misc]  # a snapshot is a whole new start
            case _:
                self._note(event)

    def _note(self, event: Event) -> None:
        match event:
            case Status():
                self.status = event.text
            case UsageReported():
                self.metrics = event.metrics
            case Asking():
                self.question = event.question
            case Answered():
                self.question = None
            case Finished():
                self.status, self.question, self.metrics = "", None, event.metrics
                self.outcome, self.finish = event.outcome, event.finish
                self.error = str(event.error) if event.error else ""
            case _:
                pass

    def _grow_text(self, event: Text) -> None:
        last = self._blocks[-1] if self._blocks else None
        start = self.text.length
        self.text.add(event.added)
        if isinstance(last, _Open) and last.kind == "text" and last.block == event.block:
            last.end = self.text.length
        else:
            start += len(event.added) - len(event.added.lstrip("\n")) if start else 0
            self._blocks.append(_Open("text", self.text, start, self.text.length, event.block))

    def _grow_reasoning(self, event: Reasoning) -> None:
        last = self._blocks[-1] if self._blocks else None
        if not (isinstance(last, _Open) and last.kind == "reasoning"):
            last = _Open("reasoning", Growing(), 0, 0)
            self._blocks.append(last)
        last.end = last.growing.add(event.added)
        last.seconds = event.seconds

    def _finish_tool(self, event: ToolFinished) -> None:
        for index, block in enumerate(self._blocks):
            if isinstance(block, ToolBlock) and block.call_id == event.call_id and block.result is None:
                self._blocks[index] = replace(
                    block, result=event.text, is_error=event.is_error, seconds=event.seconds
                )

    def view(self) -> ReplyView:
        """A frozen copy of the reply as it is now."""
        return ReplyView(
            number=self.number,
            blocks=tuple(_closed(b) for b in self._blocks),
            text=self.text.upto(self.text.length),
            status=self.status,
            question=self.question,
            metrics=self.metrics,
            outcome=self.outcome,
            finish=self.finish,
            error=self.error,
        )


def _closed(block: Block | _Open) -> Block:
    if not isinstance(block, _Open):
        return block
    text = block.growing.upto(block.end, block.start)
    return TextBlock(text) if block.kind == "text" else ReasoningBlock(text, block.seconds)


def fold(events: Iterable[Event], start: ReplyView | None = None) -> ReplyView:
    """The view after `events`, beginning at `start` (or at nothing)."""
    state = ReplyState(start)
    for event in events:
        state.apply(event)
    return state.view()


def blocks_to_json(blocks: Iterable[Block]) -> list[dict[str, Any]]:
    """Blocks as JSON values, for a row or a file."""
    return [{name: getattr(block, name) for name in block.__dataclass_fields__} for block in blocks]


def blocks_from_json(values: Iterable[dict[str, Any]]) -> tuple[Block, ...]:
    """Blocks from `blocks_to_json`; kinds of a newer version are left out."""
    kinds: dict[str, type[Block]] = {"text": TextBlock, "reasoning": ReasoningBlock, "tool": ToolBlock}
    return tuple(kinds[value["kind"]](**value) for value in values if value["kind"] in kinds)
