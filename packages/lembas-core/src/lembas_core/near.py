"""What somebody may have meant."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ("near",)


def near(wrong: str, known: Iterable[str]) -> str:
    """The end of a sentence that names up to three of `known` that are like `wrong`; "" when none is."""
    import difflib

    found = difflib.get_close_matches(wrong, list(dict.fromkeys(known)), 3)
    if not found:
        return ""
    return f" Did you mean {' or '.join(repr(each) for each in found)}?"
