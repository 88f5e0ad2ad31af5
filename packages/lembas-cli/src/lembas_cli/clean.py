"""Text from elsewhere made safe to put on a terminal."""

from __future__ import annotations

__all__ = ("flat", "one_line", "printable", "short", "visible")

# What reverses the direction of everything behind it, the rest of our own line included.
_DIRECTIONS = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))

# These and the C0 and C1 controls but for tab and newline: an escape among them could move the cursor, set
# the window's title or fill the clipboard.
_CONTROLS = dict.fromkeys({*range(0x20), *range(0x7F, 0xA0), *_DIRECTIONS} - {0x09, 0x0A})

# Without width or meaning; the joiners (U+200C, U+200D) have one in many scripts and in emoji.
_WIDTHLESS = dict.fromkeys((0x200B, *range(0x2060, 0x2065), 0xFEFF))

# What is drawn as nothing though it counts as printable: fillers, blanks, variation selectors.
_BLANK = frozenset(
    map(
        chr,
        (
            *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0),
            *(*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)),
        ),
    )
)


def printable(text: str) -> str:
    """`text` without controls and changes of direction, so that a model cannot drive the terminal."""
    return text.translate(_CONTROLS)


def visible(text: str) -> str:
    """`text` with every character that would not be seen as itself written as an escape.

    For what a person must judge by its looks, such as a call that asks for permission: controls, format
    characters (which can reverse the direction of writing) and separators other than the space.
    """
    return "".join(char if char.isprintable() and char not in _BLANK else _escaped(char) for char in text)


def flat(text: str) -> str:
    """`text` as part of one line of ours: runs of blanks are one, nothing reaches beyond it."""
    return printable(" ".join(text.split())).translate(_WIDTHLESS)


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
