"""The fold of a reply's events: what a reply is at any moment.

`ReplyState.apply` takes events in order, each once (an event at or below `number` changes nothing).
`view()` is a frozen copy that a follower may keep. However a stream is cut and wherever a follower attaches,
snapshot plus later events give the same view.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from lembas_core.engine.blocks import (
    Block,
    ReasoningBlock,
    TextBlock,
    ToolBlock,
    blocks_from_json,
    blocks_to_json,
)
from lembas_core.engine.events import (
    Answered,
    Asking,
    Event,
    Finished,
    Growing,
    Metrics,
    Outcome,
    Reasoning,
    Rethought,
    Snapshot,
    Status,
    Text,
    ToolFinished,
    ToolStarted,
    UsageReported,
)
from lembas_core.engine.questions import Question
from lembas_core.frozen import frozen

__all__ = (
    "Block",
    "ReasoningBlock",
    "ReplyState",
    "ReplyView",
    "TextBlock",
    "ToolBlock",
    "blocks_from_json",
    "blocks_to_json",
    "fold",
)


@frozen
class ReplyView:
    """A reply at one moment. `outcome` is None while it runs."""

    number: int = 0
    blocks: tuple[Block, ...] = ()
    text: str = ""
    status: str = ""
    question: Question | None = None
    metrics: Metrics = field(default_factory=Metrics)
    outcome: Outcome | None = None
    finish: str = ""
    error: str = ""

    @property
    def reasoning(self) -> str:
        """All thinking, stretches parted by a blank line."""
        return "\n\n".join(b.text for b in self.blocks if isinstance(b, ReasoningBlock))


@dataclass(slots=True)
class _Open:
    """The last block, which still grows."""

    kind: Literal["text", "reasoning"]
    growing: Growing
    start: int = 0
    seconds: float = 0.0

    def closed(self) -> Block:
        text = self.growing.upto(self.growing.length)
        return TextBlock(text, self.start) if self.kind == "text" else ReasoningBlock(text, self.seconds)


class ReplyState:
    """The running fold. One owner applies events; everybody else reads views."""

    def __init__(self, view: ReplyView | None = None) -> None:
        self._begin(view or ReplyView())

    def _begin(self, view: ReplyView) -> None:
        self.number: int = view.number
        self.status: str = view.status
        self.question: Question | None = view.question
        self.metrics: Metrics = view.metrics
        self.outcome: Outcome | None = view.outcome
        self.finish: str = view.finish
        self.error: str = view.error
        self.text: Growing = Growing(view.text)
        self._blocks: list[Block] = list(view.blocks)
        self._last = self._reopened()

    def _reopened(self) -> _Open | None:
        """The last block as one that grows: what comes next may belong to it."""
        last = self._blocks[-1] if self._blocks else None
        if last is None or isinstance(last, ToolBlock):
            return None
        self._blocks.pop()
        growing = Growing(last.text)
        if isinstance(last, TextBlock):
            return _Open("text", growing, last.start)
        return _Open("reasoning", growing, seconds=last.seconds)

    def apply(self, event: Event) -> None:
        """Take the next event; one that is already held changes nothing."""
        if event.number <= self.number:
            # A stored reply may carry no numbers; its snapshot is all there is.
            if isinstance(event, Snapshot) and event.number == self.number:
                self._begin(event.state)
            return
        self.number = event.number
        match event:
            case Text():
                self._grow_text(event)
            case Reasoning():
                self._grow_reasoning(event)
            case ToolStarted():
                self._close()
                self._blocks.append(ToolBlock(event.call_id, event.name, event.arguments, event.risk))
            case ToolFinished():
                self._finish_tool(event)
            case Rethought():
                self._rethink(event)
            case Snapshot():
                self._begin(event.state)
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

    def _close(self) -> None:
        if self._last is not None:
            self._blocks.append(self._last.closed())
            self._last = None

    def _grow_text(self, event: Text) -> None:
        last, added = self._last, event.added
        if last is None or last.kind != "text" or last.start != event.start:
            self._close()
            self._last = last = _Open("text", Growing(), event.start)
            # The blank line before a stretch belongs to the answer, not to the stretch.
            added = added[event.start - self.text.length :]
        self.text.add(event.added)
        last.growing.add(added)

    def _grow_reasoning(self, event: Reasoning) -> None:
        last = self._last
        if last is None or last.kind != "reasoning":
            self._close()
            self._last = last = _Open("reasoning", Growing())
        last.growing.add(event.added)
        last.seconds = event.seconds

    def _rethink(self, event: Rethought) -> None:
        self._close()
        self.text = Growing(self.text.upto(event.start))
        self._blocks = [part for block in self._blocks for part in _rethought(block, event)]
        self._last = self._reopened()

    def _finish_tool(self, event: ToolFinished) -> None:
        for index, block in enumerate(self._blocks):
            if isinstance(block, ToolBlock) and block.call_id == event.call_id and block.result is None:
                self._blocks[index] = replace(
                    block, result=event.text, is_error=event.is_error, seconds=event.seconds
                )
                return

    def view(self) -> ReplyView:
        """A frozen copy of the reply as it is now."""
        last = self._last
        return ReplyView(
            number=self.number,
            blocks=tuple(self._blocks if last is None else [*self._blocks, last.closed()]),
            text=self.text.upto(self.text.length),
            status=self.status,
            question=self.question,
            metrics=self.metrics,
            outcome=self.outcome,
            finish=self.finish,
            error=self.error,
        )


def _rethought(block: Block, event: Rethought) -> tuple[Block, ...]:
    """The block, or what is left of it as text and what is thinking now."""
    if not isinstance(block, TextBlock) or block.start + len(block.text) <= event.start:
        return (block,)
    if block.start >= event.start:
        return (ReasoningBlock(block.text, event.seconds),)
    kept = event.start - block.start
    return TextBlock(block.text[:kept], block.start), ReasoningBlock(block.text[kept:], event.seconds)


def fold(events: Iterable[Event], start: ReplyView | None = None) -> ReplyView:
    """The view after `events`, beginning at `start` (or at nothing)."""
    state = ReplyState(start)
    for event in events:
        state.apply(event)
    return state.view()
