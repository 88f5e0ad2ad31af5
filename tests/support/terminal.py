"""A terminal of a given size with a command in it: what a person types, and what they then see."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

__all__ = ("Screen", "Terminal")

# What a read may cut: the beginning of a sequence, up to where its kind is known.
BEGUN = re.compile(r"\x1b(\[[0-9;?]*|\][^\x07\x1b]*\x1b?)?\Z")
SEQUENCE = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|\][^\x07\x1b]*(?:\x07|\x1b\\)|.)", re.DOTALL)


class Screen:
    """What the bytes of a program look like: the lines, those that scrolled away included.

    It knows the few sequences that our own drawing and a line editor use, and refuses any other.
    """

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self.lines: list[list[str]] = [[]]
        self.row = 0
        self.column = 0
        self.held = ""

    @property
    def text(self) -> str:
        """The lines without blanks at their ends and without empty ones at the end."""
        return "\n".join("".join(line).rstrip() for line in self.lines).rstrip("\n")

    def feed(self, text: str) -> None:
        """Take what a program wrote, wherever it was cut."""
        text = self.held + text
        begun = BEGUN.search(text)
        self.held = begun[0] if begun else ""
        text = text.removesuffix(self.held)
        position = 0
        for match in SEQUENCE.finditer(text):
            self._write(text[position : match.start()])
            self._control(match[1])
            position = match.end()
        self._write(text[position:])

    def _write(self, text: str) -> None:
        for char in text:
            if char == "\n":
                self._down()
            elif char == "\r":
                self.column = 0
            elif char == "\b":
                self.column = max(0, self.column - 1)
            elif char != "\a":
                self._put(char)

    def _put(self, char: str) -> None:
        if self.column >= self.columns:
            self.column = 0
            self._down()
        line = self.lines[self.row]
        line.extend(" " * (self.column + 1 - len(line)))
        line[self.column] = char
        self.column += 1

    def _down(self) -> None:
        self.row += 1
        if self.row == len(self.lines):
            self.lines.append([])

    def _control(self, sequence: str) -> None:
        kind, numbers = sequence[-1], re.findall(r"\d+", sequence)
        count = int(numbers[0]) if numbers else 1
        if sequence[0] == "]" or kind in "mhl=>":  # titles, colours, modes
            return
        match kind:
            case "A":
                self.row = max(0, self.row - count)
            case "C":
                self.column += count
            case "D":
                self.column = max(0, self.column - count)
            case "G":
                self.column = count - 1
            case "K":
                del self.lines[self.row][0 if numbers == ["2"] else self.column :]
            case "J":
                del self.lines[self.row][self.column :], self.lines[self.row + 1 :]
            case "P":
                del self.lines[self.row][self.column : self.column + count]
            case "@":
                self.lines[self.row][self.column : self.column] = " " * count
            case _:
                raise AssertionError(f"The screen does not know the sequence {sequence!r}.")


class Terminal:
    """A command in a terminal; leaving the block ends it."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: dict[str, str],
        cwd: str | os.PathLike[str],
        columns: int = 80,
        rows: int = 24,
        patience: float = 30.0,
    ) -> None:
        self._patience = patience
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={"TERM": "xterm-256color", **env},
            cwd=cwd,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(theirs)
        self.raw = ""
        self.screen = Screen(columns)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._ours)

    @property
    def text(self) -> str:
        """What is on the screen and above it."""
        return self.screen.text

    def type(self, text: str) -> None:
        """Press keys: a carriage return is Enter, the control characters 3 and 4 are Ctrl-C and Ctrl-D."""
        os.write(self._ours, text.encode())

    def wait_for(self, text: str, *, after: int = 0) -> int:
        """Wait until the screen shows `text` behind `after`; gives the place behind it.

        Raises:
            AssertionError: It did not come in time, or the command ended without it.
        """
        until = time.monotonic() + self._patience
        while text not in self.text[after:]:
            if not self._read(until):
                raise AssertionError(f"{text!r} is not on the screen:\n{self.text}")
        return self.text.index(text, after) + len(text)

    def press_until(self, key: str, text: str) -> int:
        """Press a key until the screen shows `text`; gives the place behind it.

        A signal that reaches Python just before its line editor waits for keys is seen only at the next key.
        """
        until = time.monotonic() + self._patience
        while text not in self.text and time.monotonic() < until:
            self.type(key)
            again = time.monotonic() + 1
            while text not in self.text and self._read(again):
                pass
        return self.wait_for(text)

    def end(self) -> int:
        """Wait for the command to end and give its exit code."""
        until = time.monotonic() + self._patience
        while self._read(until):
            pass
        return self._process.wait(max(0.1, until - time.monotonic()))

    def _read(self, until: float) -> bool:
        ready, _, _ = select.select([self._ours], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            return False
        try:
            piece = os.read(self._ours, 65536).decode(errors="replace")
        except OSError:  # Linux says so when the other side is closed
            return False
        self.raw += piece
        self.screen.feed(piece)
        return bool(piece)
