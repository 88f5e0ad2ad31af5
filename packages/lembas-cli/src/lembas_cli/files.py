"""Text from files that are named on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ("text_of",)


def text_of(path: Path, what: str) -> str:
    """The text in a file; `what` names it in an error.

    Raises:
        Invalid: It cannot be read, or is no text.
    """
    from lembas_core.errors import Invalid

    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise Invalid(f"{what} {path} is no UTF-8 text.") from None
    except (OSError, ValueError) as error:  # a path may hold a NUL
        why = getattr(error, "strerror", None) or "there can be no such file"
        raise Invalid(f"{what} {path} cannot be read: {why}.") from None
