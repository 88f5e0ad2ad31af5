"""What is piped in: read from pipes and files only, and never waited for in silence."""

from __future__ import annotations

import os
import stat
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lembas_cli.out import Out

__all__ = ("decoded", "question_with", "read_piped", "read_stdin")

_PATIENCE = 1.0


def read_piped(out: Out, *, asked: bool) -> str | None:
    """The text of stdin when it is a pipe or a regular file, else None.

    A socket or a device that was merely inherited is left alone, or a job runner that never closes it would
    hang us.

    Args:
        out: Where to say that we wait.
        asked: Whether there is a question already; then waiting is worth a word after a second.
    """
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError, AttributeError):  # closed, or no real file
        return None
    if not (stat.S_ISFIFO(mode) or stat.S_ISREG(mode)):
        return None
    return read_stdin(out, asked=asked)


def read_stdin(out: Out, *, asked: bool = False) -> str:
    """All of stdin as text.

    Raises:
        Invalid: It is not text.
    """
    started = threading.Event()
    reader = _Reader(started)
    reader.start()
    if asked and not started.wait(_PATIENCE):
        out.note("Waiting for the end of what is piped in; --no-stdin leaves it unread.")
    reader.join()
    if reader.fault is not None:
        raise reader.fault
    return decoded(bytes(reader.data))


def question_with(question: str, piped: str | None) -> str:
    """One turn from a question and what was piped in, each still to be told apart by the model."""
    if piped is None or not piped.strip():
        return question
    if not question.strip():
        return piped.strip("\n")
    return f"{question}\n\n<stdin>\n{piped.strip(chr(10))}\n</stdin>"


class _Reader(threading.Thread):
    """Reads stdin to its end; a thread, because a pipe cannot be waited for with a limit everywhere."""

    def __init__(self, started: threading.Event) -> None:
        super().__init__(daemon=True)
        self.data = bytearray()
        self.fault: OSError | None = None
        self._started_reading = started

    def run(self) -> None:
        try:
            while piece := os.read(sys.stdin.fileno(), 1 << 20):
                self.data += piece
                self._started_reading.set()
        except OSError as error:
            self.fault = error
        self._started_reading.set()


def decoded(data: bytes) -> str:
    """What came in as text.

    Raises:
        Invalid: It is not text.
    """
    from lembas_core.errors import Invalid

    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Invalid("What is piped in is not UTF-8 text.") from None
    if "\0" in text:
        raise Invalid("What is piped in is not text.")
    return text
