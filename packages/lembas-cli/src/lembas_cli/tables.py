"""Lists as aligned columns, results as JSON."""

from __future__ import annotations

import json
import shutil
import sys
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lembas_cli.clean import flat
from lembas_cli.out import is_terminal

if TYPE_CHECKING:
    from lembas_cli.out import Out

__all__ = ("ago", "print_json", "print_table")


def print_json(out: Out, value: Any) -> None:
    """Print a value as JSON for a program to read."""
    out.line(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def print_table(out: Out, rows: Sequence[Sequence[str]]) -> None:
    """Print rows as columns; on a terminal the last column is cut to fit, in a pipe nothing is."""
    clean = [[_indented(cell) for cell in row] for row in rows]
    if not clean:
        return
    widths = [max(_width(cell) for cell in column) for column in zip(*clean, strict=True)]
    room = shutil.get_terminal_size().columns if is_terminal(sys.stdout) else None
    for row in clean:
        line = "  ".join(cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True))
        out.line(_cut(line.rstrip(), room))


def ago(seconds: float) -> str:
    """How long ago, in the largest unit that fits."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return "now"


def _indented(cell: str) -> str:
    return " " * (len(cell) - len(cell.lstrip(" "))) + flat(cell)


def _width(text: str) -> int:
    """Columns on a terminal: East Asian wide characters take two, combining ones none."""
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(unicodedata.combining(char) > 0 for char in text)


def _cut(line: str, room: int | None) -> str:
    if room is None or _width(line) <= room:
        return line
    while _width(line) > room - 1:
        line = line[:-1]
    return line + "…"
