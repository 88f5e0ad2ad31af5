"""Which part of growing Markdown cannot change any more."""

from __future__ import annotations

from markdown_it import MarkdownIt

__all__ = ("PARSER", "settled")

PARSER = MarkdownIt("commonmark", {"html": False}).enable("strikethrough").enable("table")
"""Tags are text: a terminal draws no HTML, and what a model wrote must be seen."""


def settled(text: str) -> int:
    """How many characters of `text` are finished blocks, whatever is added behind them.

    Only complete lines count, since an unfinished one may still turn from a rule or a heading into part of
    the paragraph before it; and the last block never does: a list goes on, a paragraph becomes a heading.
    """
    complete = text[: text.rfind("\n") + 1]
    starts = [token.map[0] for token in PARSER.parse(complete) if token.level == 0 and token.map]
    return _offset(complete, starts[-1]) if starts else 0


def _offset(text: str, line: int) -> int:
    offset = 0
    for _ in range(line):
        offset = text.index("\n", offset) + 1
    return offset
