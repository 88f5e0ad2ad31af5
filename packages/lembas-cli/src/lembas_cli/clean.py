"""Text from elsewhere made safe to put on a terminal."""

from __future__ import annotations

__all__ = ("flat", "one_line", "printable", "short", "visible")

# C0 and C1 controls but for tab and newline: an escape among them could move the cursor, set the window's
# title or fill the clipboard.
_CONTROLS = {code: None for code in (*range(0x20), *range(0x7F, 0xA0)) if code not in (0x09, 0x0A)}

# What reverses the direction of everything behind it, the rest of our own line included.
_DIRECTIONS = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)))


def printable(text: str) -> str:
    """`text` without control characters, so that a model cannot drive the terminal."""
    return text.translate(_CONTROLS)


def visible(text: str) -> str:
    """`text` with every character that would not be seen as itself written as an escape.

    For what a person must judge by its looks, such as a call that asks for permission: controls, format
    characters (which can reverse the direction of writing) and separators other than the space.
    """
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def flat(text: str) -> str:
    """`text` as part of one line of ours: runs of blanks are one, nothing reaches beyond it."""
    return printable(" ".join(text.split())).translate(_DIRECTIONS)


def one_line(text: str, width: int = 78) -> str:
    """`text` on one line of at most `width` characters, cut with `…`."""
    line = flat(text)
    return line if len(line) <= width else line[: width - 1] + "…"


def short(chat_id: str) -> str:
    """What names a chat to a person: the end of its id, since the beginning is only the time."""
    return chat_id[-8:]


def _escaped(char: str) -> str:
    code = ord(char)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
