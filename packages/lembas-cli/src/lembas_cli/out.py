"""Where words go: the answer to stdout, everything else to stderr."""

from __future__ import annotations

import os
import sys
from typing import IO, Literal

from lembas_cli.clean import printable

__all__ = ("Color", "Out", "is_terminal")

Color = Literal["auto", "always", "never"]

_STYLES = {"dim": "2", "error": "1;31", "plain": "", "strong": "1"}


def is_terminal(stream: IO[str]) -> bool:
    """Whether a person sits at `stream`."""
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False


class Out:
    """The two streams of one run. `quiet` silences notes, never errors.

    Streams are looked up when they are written to, so that whatever stands in for them is used.
    """

    def __init__(self, *, color: Color = "auto", quiet: bool = False, verbose: bool = False) -> None:
        self._color: Color = color
        self.quiet = quiet
        self.verbose = verbose

    @property
    def draws(self) -> bool:
        """Whether stdout is a terminal that can move its cursor."""
        return is_terminal(sys.stdout) and os.environ.get("TERM") != "dumb"

    @property
    def asks(self) -> bool:
        """Whether a person can be asked: there is a keyboard to answer on and a terminal to ask at."""
        return is_terminal(sys.stdin) and is_terminal(sys.stderr)

    def colors(self, stream: IO[str]) -> bool:
        """Whether `stream` gets colours: what was asked for, else a terminal without NO_COLOR."""
        if self._color != "auto":
            return self._color == "always"
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        return is_terminal(stream) and not plain

    def answer(self, text: str) -> None:
        """Write a piece of the answer as it is and let it go at once; a terminal gets no controls."""
        sys.stdout.write(printable(text) if is_terminal(sys.stdout) else text)
        sys.stdout.flush()

    def line(self, text: str = "", *, clean: bool = False) -> None:
        """Write a line of a result to stdout; `clean` says that its controls are our own."""
        sys.stdout.write((text if clean or not is_terminal(sys.stdout) else printable(text)) + "\n")

    def note(self, text: str, *, style: str = "dim") -> None:
        """Write a line about what happens to stderr."""
        if not self.quiet:
            self._to_stderr(text, style)

    def error(self, sentence: str) -> None:
        """Write what went wrong to stderr, in one sentence."""
        self._to_stderr(f"Error: {sentence}", "error")

    def styled(self, text: str, style: str, stream: IO[str]) -> str:
        """`text` in a style where `stream` gets colours."""
        if not self.colors(stream):
            return text
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"

    def _to_stderr(self, text: str, style: str) -> None:
        sys.stderr.write(self.styled(printable(text), style, sys.stderr) + "\n")
        sys.stderr.flush()
