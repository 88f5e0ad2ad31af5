"""A stretch of a text around what was found in it, as one line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

__all__ = ("FROM", "TO", "cut")

FROM: Final = "\x02"
TO: Final = "\x03"

_BEFORE: Final = 50
_LENGTH: Final = 160
_SPACE: Final = re.compile(r"\s+")
_MARKS: Final = {ord(FROM): " ", ord(TO): " "}

Span = tuple[int, int]


def cut(text: str, found: Sequence[Sequence[Span]]) -> str:
    """The stretch of `text` that shows the most of `found`, its spans between FROM and TO.

    Args:
        text: The whole text.
        found: For each thing that was looked for, where it stands.
    """
    text = text.translate(_MARKS)
    marks = _apart(sorted(span for spans in found for span in spans))
    start = _word_start(text, max(0, _best(found) - _BEFORE))
    end = _word_end(text, min(len(text), start + _LENGTH))
    shown = _marked(text, start, end, [span for span in marks if start <= span[0] and span[1] <= end])
    return f"{'…' if start else ''}{_SPACE.sub(' ', shown).strip()}{'…' if end < len(text) else ''}"


def _best(found: Sequence[Sequence[Span]]) -> int:
    """Where the stretch begins that holds the most different things."""
    starts = sorted((span[0], thing) for thing, spans in enumerate(found) for span in spans)
    best, most = (starts[0][0] if starts else 0), 0
    for i, (start, _) in enumerate(starts[:200]):
        near = {thing for at, thing in starts[i : i + 50] if at < start + _LENGTH - _BEFORE}
        if len(near) > most:
            best, most = start, len(near)
    return best


def _apart(spans: Sequence[Span]) -> list[Span]:
    """The spans that begin after the one before has ended."""
    apart: list[Span] = []
    for span in spans:
        if not apart or span[0] >= apart[-1][1]:
            apart.append(span)
    return apart


def _word_start(text: str, at: int) -> int:
    space = text.find(" ", at, at + 15) if at else -1
    return at if space < 0 else space + 1


def _word_end(text: str, at: int) -> int:
    space = text.rfind(" ", max(0, at - 15), at) if at < len(text) else -1
    return at if space < 0 else space


def _marked(text: str, start: int, end: int, marks: Sequence[Span]) -> str:
    parts: list[str] = []
    for at, to in marks:
        parts += (text[start:at], FROM, text[at:to], TO)
        start = to
    return "".join((*parts, text[start:end]))
