"""What is said about a reply beside its answer: tools, usage, how it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lembas_cli.clean import one_line, visible

if TYPE_CHECKING:
    from lembas_core.engine.events import Metrics, ToolFinished, ToolStarted

__all__ = ("tool_finished", "tool_started", "usage")


def tool_started(event: ToolStarted) -> str:
    """One line on a call that begins."""
    return one_line(f"→ {visible(event.name)} {visible(event.arguments)}")


def tool_finished(event: ToolFinished) -> str:
    """One line on how a call ended."""
    mark = "✗" if event.is_error else "←"
    said = one_line(visible(" ".join(event.text.split())), 66)
    return f"{mark} {said or '(nothing)'} ({event.seconds:.1f} s)"


def usage(metrics: Metrics) -> str:
    """What a reply took, tokens and then times; what is not known is left out, an estimate has its `~`."""
    about = "~" if metrics.estimated else ""
    speed, share = metrics.tokens_per_second, metrics.context_share
    tokens = [
        _tokens(metrics.prompt_tokens, "prompt", metrics.cached_tokens, "cached", about),
        _tokens(metrics.completion_tokens, "completion", metrics.reasoning_tokens, "reasoning", about),
        "" if share is None else f"{about}{_percent(share)} of the context",
    ]
    times = [
        "" if speed is None else f"{about}{speed:.1f} tokens/s",
        "" if metrics.first_token_seconds is None else f"first after {metrics.first_token_seconds:.1f} s",
        "" if metrics.seconds is None else f"{metrics.seconds:.1f} s in all",
    ]
    lines = (" · ".join(part for part in parts if part) for parts in (tokens, times))
    return "\n".join(line for line in lines if line) or "Nothing is known of what it took."


def _tokens(count: int | None, name: str, part: int | None, part_name: str, about: str) -> str:
    if count is None:
        return ""
    of_them = "" if part is None else f" ({part:,} {part_name})"
    return f"{about}{count:,} {name} tokens{of_them}"


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.01 else "under 1%"
