"""Markdown drawn on a terminal while it arrives.

Finished blocks are printed once and scroll away like any output; only the open tail is drawn again. Drawing
has a thread of its own, so that a slow terminal never holds up the reply.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from lembas_cli.blocks import settled
from lembas_cli.clean import printable
from lembas_cli.drawing import Lines, drawn

if TYPE_CHECKING:
    from rich.segment import Segment

__all__ = ("LiveMarkdown",)

_TICK = 0.1
# A redraw may take this share of the time at most: a long list is one block and is parsed anew each time.
_SHARE = 0.1


class LiveMarkdown:
    """A growing Markdown text on stdout, with a status line below it.

    Args:
        color: Whether to use colours.
    """

    def __init__(self, *, color: bool) -> None:
        self._console = Console(no_color=not color, highlight=False, force_terminal=True)
        self._live = Live(
            console=self._console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
            vertical_overflow="visible",
        )
        self._lock = threading.RLock()
        self._pending = ""
        self._gone = 0
        self._status = ""
        self._since = time.monotonic()
        self._dirty = False
        self._printed = False
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._live.start()
        self._thread.start()

    def add(self, text: str) -> None:
        """Append to the answer."""
        with self._lock:
            self._pending += text
            self._dirty = True

    def withdraw(self, start: int) -> bool:
        """Forget the answer from `start` on, as far as it is not printed yet; False when some of it is."""
        with self._lock:
            self._pending = self._pending[: max(0, start - self._gone)]
            self._dirty = True
            return start >= self._gone

    def status(self, text: str) -> None:
        """Show `text` and the seconds it has been so below the answer; "" clears it."""
        with self._lock:
            if text != self._status:
                self._status, self._since, self._dirty = text, time.monotonic(), True

    @contextmanager
    def aside(self) -> Generator[None]:
        """Within this the terminal is somebody else's: what there is is printed, nothing is drawn."""
        with self._lock:
            self._settle(len(self._pending))
            self._live.update("")
            self._live.stop()
            try:
                yield
            finally:
                self._live.start()
                self._dirty = True

    def close(self) -> None:
        """Print the rest and give the terminal back."""
        self._done.set()
        self._thread.join()
        with self._lock:
            self._settle(len(self._pending))
            self._live.update("")
            self._live.stop()

    def _run(self) -> None:
        wait = _TICK
        while not self._done.wait(wait):
            began = time.monotonic()
            with self._lock:
                if self._dirty or self._status:
                    self._draw()
            wait = max(_TICK, (time.monotonic() - began) / _SHARE)

    def _draw(self) -> None:
        self._dirty = False
        self._settle(settled(self._pending))
        # Two lines stay free: the cursor's own and the status.
        tail = Lines(self._lines(self._pending)[-max(1, self._console.height - 2) :])
        status = [Text(self._status_line(), style="dim")] if self._status else []
        self._live.update(Group(tail, *status), refresh=True)

    def _status_line(self) -> str:
        seconds = int(time.monotonic() - self._since)
        return f"{self._status} {seconds} s" if seconds else self._status

    def _settle(self, length: int) -> None:
        """Print the first `length` pending characters for good."""
        lines = self._lines(self._pending[:length])
        self._pending = self._pending[length:]
        self._gone += length
        if lines:
            self._live.update("")
            self._console.print(Lines(lines), end="")
            self._printed = True

    def _lines(self, text: str) -> list[list[Segment]]:
        """`text` drawn, with a blank line before it unless it is the first."""
        lines = drawn(self._console, printable(text)) if text.strip() else []
        return [[], *lines] if lines and self._printed else lines
