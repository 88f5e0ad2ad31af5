"""The first fenced block of an answer."""

from __future__ import annotations

import re

__all__ = ("first_block",)

_OPENING = re.compile(r"^ {0,3}(`{3,}|~{3,})[^`]*$")


def first_block(text: str) -> str | None:
    """What stands in the first fence, None without one; a fence that is never closed goes to the end."""
    fence = ""
    inside: list[str] = []
    for line in text.split("\n"):
        if not fence:
            opening = _OPENING.match(line)
            fence = opening[1] if opening else ""
        elif _closes(line, fence):
            return _ended(inside)
        else:
            inside.append(line)
    return _ended(inside) if fence else None


def _closes(line: str, fence: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(fence) and not bare.strip(fence[0]) and len(line) - len(line.lstrip()) < 4


def _ended(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"
