"""Three ways to draw one reply: plain text, live Markdown, the events themselves."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Protocol

from lembas_cli import telling
from lembas_cli.clean import one_line, printable
from lembas_cli.out import is_terminal

if TYPE_CHECKING:
    from lembas_core.engine.events import Event

    from lembas_cli.live import LiveMarkdown
    from lembas_cli.out import Out

__all__ = ("JsonLines", "Live", "Plain", "Screen", "Silent")

RETHOUGHT = "What was printed so far turned out to be the model's thinking, not its answer."


class Screen(Protocol):
    """Something that draws a reply, event by event."""

    def show(self, event: Event) -> None:
        """Draw what is new."""
        ...

    def aside(self) -> AbstractContextManager[None]:
        """Within this the terminal is free for a question."""
        ...

    def close(self) -> None:
        """Draw the rest."""
        ...


class _StatusLine:
    """A line on stderr that is wiped before anything else is written; nothing where nobody looks."""

    def __init__(self, out: Out) -> None:
        self._shown = False
        self._on = is_terminal(sys.stderr) and not out.quiet
        self._out = out

    def set(self, text: str) -> None:
        """Show `text`; "" wipes the line."""
        if not self._on or (not text and not self._shown):
            return
        styled = self._out.styled(printable(one_line(text, 78)), "dim", sys.stderr) if text else ""
        sys.stderr.write(f"\r\x1b[2K{styled}")
        sys.stderr.flush()
        self._shown = bool(text)


class _Thoughts:
    """Writes the model's thinking to stderr, and a blank line when it ends."""

    def __init__(self, out: Out, *, shown: bool) -> None:
        self._out = out
        self.shown = shown
        self._line = ""
        self._wrote = False

    def add(self, text: str) -> None:
        """More thinking: whole lines are written, the rest waits."""
        *lines, self._line = (self._line + text).split("\n")
        for line in lines:
            self._write(line)

    def end(self) -> None:
        """The thinking is over."""
        if self._line:
            self._write(self._line)
        if self._wrote:
            self._out.note("")
        self._line, self._wrote = "", False

    @property
    def open(self) -> bool:
        """Whether something was written that has not been ended."""
        return bool(self._line) or self._wrote

    def _write(self, line: str) -> None:
        self._out.note(line)
        self._wrote = True


class Plain:
    """The answer as it is.

    Args:
        out: Where to write.
        thoughts: Whether the model's thinking is shown, on stderr.
        stream: Whether the answer is written as it arrives or when it is whole.
    """

    def __init__(self, out: Out, *, thoughts: bool, stream: bool = True) -> None:
        self._out = out
        self._stream = stream
        self._status = _StatusLine(out)
        self._thoughts = _Thoughts(out, shown=thoughts)
        self._held = ""
        self._last = ""
        self._written = 0

    def show(self, event: Event) -> None:
        """Draw what is new."""
        match event.kind:
            case "text":
                self._answer(event.added)
            case "reasoning":
                self._think(event.added)
            case "rethought":
                self._rethink(event.start)
            case "tool_started":
                self._aside(telling.tool_started(event))
            case "tool_finished":
                self._aside(telling.tool_finished(event))
            case "status":
                self._status.set(event.text)
            case "round_started":
                self._status.set("Waiting for the model …")
            case _:
                pass

    @contextmanager
    def aside(self) -> Generator[None]:
        """Within this the terminal is free for a question."""
        self._free_line()
        yield

    def close(self) -> None:
        """Write what was held back and end the last line."""
        self._status.set("")
        self._end_thoughts()
        if self._held:
            self._write(self._held)
            self._held = ""
        if self._last and self._last != "\n":
            self._write("\n")

    def _answer(self, added: str) -> None:
        self._status.set("")
        self._end_thoughts()
        if self._stream:
            self._write(added)
        else:
            self._held += added

    def _think(self, added: str) -> None:
        if self._thoughts.shown:
            self._free_line()
            self._thoughts.add(added)
        else:
            self._status.set("Thinking …")

    def _rethink(self, start: int) -> None:
        self._held = self._held[:start]
        if self._written > start:
            self._aside(RETHOUGHT)

    def _aside(self, line: str) -> None:
        self._free_line()
        self._end_thoughts()
        self._out.note(line)

    def _end_thoughts(self) -> None:
        if self._thoughts.open:
            self._thoughts.end()

    def _free_line(self) -> None:
        """Both streams may be one terminal: what goes to stderr begins on a line of its own."""
        self._status.set("")
        if self._last not in ("", "\n") and is_terminal(sys.stdout):
            self._write("\n")

    def _write(self, text: str) -> None:
        self._out.answer(text)
        self._last = text[-1:] or self._last
        self._written += len(text)


class Live:
    """The answer as Markdown on a terminal, drawn while it arrives."""

    def __init__(self, out: Out, *, thoughts: bool, stream: bool = True) -> None:
        from lembas_cli.live import LiveMarkdown

        self._out = out
        self._thoughts = _Thoughts(out, shown=thoughts)
        self._stream = stream
        self._held = ""
        self._live: LiveMarkdown = LiveMarkdown(color=out.colors(sys.stdout))

    def show(self, event: Event) -> None:
        """Draw what is new."""
        match event.kind:
            case "text":
                self._answer(event.added)
            case "reasoning":
                self._think(event.added)
            case "rethought":
                self._rethink(event.start)
            case "tool_started":
                self._note(telling.tool_started(event))
                self._live.status("Running")
            case "tool_finished":
                self._note(telling.tool_finished(event))
            case "status":
                self._live.status(event.text)
            case "round_started":
                self._live.status("Waiting for the model …")
            case _:
                pass

    def aside(self) -> AbstractContextManager[None]:
        """Within this the terminal is free for a question."""
        return self._live.aside()

    def close(self) -> None:
        """Draw the rest."""
        self._end_thoughts()
        self._live.add(self._held)
        self._live.close()

    def _answer(self, added: str) -> None:
        self._end_thoughts()
        if self._stream:
            self._live.status("")
            self._live.add(added)
        else:
            self._live.status("Writing …")
            self._held += added

    def _think(self, added: str) -> None:
        self._live.status("Thinking …")
        if self._thoughts.shown:
            with self._live.aside():
                self._thoughts.add(added)

    def _end_thoughts(self) -> None:
        if self._thoughts.open:
            with self._live.aside():
                self._thoughts.end()

    def _rethink(self, start: int) -> None:
        self._held = self._held[:start]
        if not self._live.withdraw(start):
            self._note(RETHOUGHT)

    def _note(self, line: str) -> None:
        with self._live.aside():
            self._thoughts.end()
            self._out.note(line)


class JsonLines:
    """Every event as one line of JSON, as it happens."""

    def __init__(self, out: Out) -> None:
        self._out = out

    def show(self, event: Event) -> None:
        """Write the event."""
        from lembas_cli.wire import event_line

        self._out.answer(event_line(event))

    def aside(self) -> AbstractContextManager[None]:
        """Nothing is drawn, so nothing is in the way."""
        return nullcontext()

    def close(self) -> None:
        """Every line is out already."""


class Silent(Plain):
    """Nothing of the answer, the rest as ever: for when the answer is printed in another shape at the end."""

    def __init__(self, out: Out, *, thoughts: bool) -> None:
        super().__init__(out, thoughts=thoughts, stream=False)

    def close(self) -> None:
        """Keep the answer to oneself."""
        self._held = ""
        super().close()
