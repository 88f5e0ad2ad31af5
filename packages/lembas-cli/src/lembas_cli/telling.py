"""What is said about a reply beside its answer: tools, usage, how it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lembas_cli.clean import one_line

if TYPE_CHECKING:
    from lembas_core.engine.events import Metrics, ToolFinished, ToolStarted

__all__ = ("tool_finished", "tool_started", "usage")


def tool_started(event: ToolStarted) -> str:
    """One line on a call that begins."""
    return f"→ {one_line(event.name, 40)} {one_line(event.arguments)}".rstrip()


def tool_finished(event: ToolFinished) -> str:
    """One line on how a call ended."""
    mark = "✗" if event.is_error else "←"
    return f"{mark} {one_line(event.text) or '(nothing)'} ({event.seconds:.1f} s)"


def usage(metrics: Metrics) -> str:
    """One line on what a reply took; what is not known is left out, an estimate has its `~`."""
    about = "~" if metrics.estimated else ""
    speed, share = metrics.tokens_per_second, metrics.context_share
    parts = [
        _count(metrics.prompt_tokens, "prompt tokens", about),
        _count(metrics.cached_tokens, "of them cached", about),
        _count(metrics.completion_tokens, "completion tokens", about),
        _count(metrics.reasoning_tokens, "of them reasoning", about),
        "" if share is None else f"{about}{share:.0%} of the context",
        "" if speed is None else f"{about}{speed:.1f} tokens/s",
        ""
        if metrics.first_token_seconds is None
        else f"first token after {metrics.first_token_seconds:.1f} s",
        "" if metrics.seconds is None else f"{metrics.seconds:.1f} s",
    ]
    return " · ".join(part for part in parts if part) or "The endpoint reported no usage."


def _count(tokens: int | None, name: str, about: str) -> str:
    return "" if tokens is None else f"{about}{tokens:,} {name}"
