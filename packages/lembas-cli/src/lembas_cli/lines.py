"""Lines from a person: edited, remembered, several at once when they are pasted."""

from __future__ import annotations

import contextlib
import json
import os
import select
import sys
from functools import partial
from pathlib import Path
from typing import Any, Final

from lembas_cli.out import is_terminal
from lembas_cli.piped import decoded

__all__ = ("Lines",)

_KEPT: Final = 1000
_FENCE: Final = '"""'


class Lines:
    """What a person types at a terminal, or the lines of what is piped in.

    Args:
        history: The file that remembers what was typed; made for its owner only.
    """

    def __init__(self, history: Path) -> None:
        self._history = history
        self.typed = is_terminal(sys.stdin)
        self._edits = self.typed and is_terminal(sys.stdout)
        self._readline = _readline() if self._edits else None
        if self._readline is not None:
            _recall(self._readline, history)

    def read(self, *, prefilled: str = "", several: bool = False) -> str | None:
        """The next message, None when there are no more.

        Args:
            prefilled: Text that stands there already, to be changed.
            several: Whether it goes on to a line with three quotes, as if it had begun with them.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed.
            Invalid: What is piped in is not text.
        """
        first = _FENCE if several else self._pasted(prefilled)
        if first is None:
            return None
        text = self._fenced(first) if first.lstrip().startswith(_FENCE) else first
        self._remember(text)
        return text

    def _fenced(self, first: str) -> str:
        rest = first.lstrip().removeprefix(_FENCE)
        parts: list[str] = []
        while not rest.rstrip().endswith(_FENCE):
            parts.append(rest)
            more = self._line(". ")
            if more is None:
                return "\n".join(parts).strip("\n")
            rest = more
        return "\n".join([*parts, rest.rstrip().removesuffix(_FENCE)]).strip("\n")

    def _pasted(self, prefilled: str) -> str | None:
        """A line, and what was pasted behind it where the line editor does not hold a paste together."""
        if self._edits:
            sys.stdout.write("\n")
        text = self._line("> ", prefilled)
        if text is None or self._readline is None or self._holds_pastes():
            return text
        while select.select([sys.stdin], [], [], 0.02)[0] and (more := self._line("")) is not None:
            text += f"\n{more}"
        return text

    def _holds_pastes(self) -> bool:
        return "GNU" in (self._readline.__doc__ or "")

    def _line(self, prompt: str, prefilled: str = "") -> str | None:
        if not self._edits:
            return self._plain(prompt)
        if self._readline is not None and prefilled:
            self._readline.set_startup_hook(partial(self._readline.insert_text, prefilled))
        try:
            return input(prompt)
        except EOFError:
            sys.stdout.write("\n")
            return None
        finally:
            if self._readline is not None:
                self._readline.set_startup_hook(None)

    def _plain(self, prompt: str) -> str | None:
        if not self.typed:
            line = decoded(sys.stdin.buffer.readline())
        else:
            sys.stderr.write(prompt)
            sys.stderr.flush()
            line = sys.stdin.readline()
        return line.removesuffix("\n") if line else None

    def _remember(self, text: str) -> None:
        if self._readline is None or not text.strip():
            return
        self._readline.add_history(text)
        # A history that cannot be written is no reason to stop talking.
        with contextlib.suppress(OSError):
            self._history.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            file = os.open(self._history, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(file, "a", encoding="utf-8") as history:
                history.write(json.dumps(text, ensure_ascii=False) + "\n")


def _recall(readline: Any, history: Path) -> None:
    # One JSON string a line, since a message may have several lines.
    with contextlib.suppress(OSError, ValueError):
        for line in history.read_text(encoding="utf-8").splitlines()[-_KEPT:]:
            readline.add_history(json.loads(line))


def _readline() -> Any:
    """The line editor, None where Python has none."""
    try:
        import readline
    except ImportError:
        return None
    readline.set_auto_history(False)
    if "GNU" in (readline.__doc__ or ""):
        readline.parse_and_bind("set enable-bracketed-paste on")
    return readline
