"""A finished reply as a value."""

from __future__ import annotations

from lembas_core.engine.blocks import Block
from lembas_core.engine.events import Metrics, Outcome
from lembas_core.engine.state import ReplyView
from lembas_core.errors import LembasError
from lembas_core.frozen import frozen

__all__ = ("Reply",)


@frozen(kw_only=True)
class Reply:
    """What came of one turn.

    Attributes:
        text: The answer.
        reasoning: The thinking before it, stretches parted by a blank line.
        blocks: Text, thinking and tool calls in their order.
        metrics: Tokens and seconds.
        outcome: How it ended.
        finish: Why it ended, in the endpoint's word (`stop`, `length`, …).
        error: What went wrong, when the outcome is `error`.
        chat_id: The chat it is kept in, if it is kept.
        message_id: Its message there.
    """

    text: str
    reasoning: str
    blocks: tuple[Block, ...]
    metrics: Metrics
    outcome: Outcome
    finish: str
    error: LembasError | None = None
    chat_id: str | None = None
    message_id: str | None = None

    @classmethod
    def from_view(
        cls,
        view: ReplyView,
        *,
        error: LembasError | None = None,
        chat_id: str | None = None,
        message_id: str | None = None,
    ) -> Reply:
        """The reply that a view shows; one that still runs counts as `interrupted`."""
        return cls(
            text=view.text,
            reasoning=view.reasoning,
            blocks=view.blocks,
            metrics=view.metrics,
            outcome=view.outcome or "interrupted",
            finish=view.finish,
            error=error,
            chat_id=chat_id,
            message_id=message_id,
        )
