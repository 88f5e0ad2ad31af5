"""Markdown as lines of a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Markdown
from rich.segment import Segment

from lembas_cli.blocks import PARSER

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ("Lines", "drawn")


class Lines:
    """Lines that were drawn before, as something rich can print."""

    def __init__(self, lines: Sequence[list[Segment]]) -> None:
        self._lines = lines

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The segments, a line each."""
        for line in self._lines:
            yield from line
            yield Segment.line()


def drawn(console: Console, text: str) -> list[list[Segment]]:
    """Markdown as lines: no blank ones at either end, no blanks behind a line (they would be copied)."""
    markdown = Markdown(text, hyperlinks=False)
    markdown.parsed = PARSER.parse(text)
    lines = [_trimmed(line) for line in console.render_lines(markdown, pad=False)]
    filled = [number for number, line in enumerate(lines) if line]
    return lines[filled[0] : filled[-1] + 1] if filled else []


def _trimmed(line: list[Segment]) -> list[Segment]:
    """`line` without the blanks at its end that have no background."""
    end = len(line)
    while end and not line[end - 1].text.strip() and not _is_filled(line[end - 1]):
        end -= 1
    if not end:
        return []
    last = line[end - 1]
    kept = last if _is_filled(last) else Segment(last.text.rstrip(), last.style, last.control)
    return [*line[: end - 1], kept]


def _is_filled(segment: Segment) -> bool:
    return segment.style is not None and segment.style.bgcolor is not None
