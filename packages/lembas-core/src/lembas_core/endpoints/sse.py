"""Server-sent events as they come over a wire: bytes in, the data of whole events out. No I/O.

The rules are those of the WHATWG HTML standard, section 9.2.6 ("interpreting an event stream"), with two
exceptions that real servers ask for: an event that the end of the stream cuts off is still given, and a
field `error` counts as an event named so (llama.cpp before 2025).
"""

from __future__ import annotations

from lembas_core.endpoints.wire import BOM, MAX_EVENT_BYTES, OutOfBounds

__all__ = ("ErrorEvent", "SSEDecoder")


class ErrorEvent(bytes):
    """The data of an event that is named `error`."""

    __slots__ = ()


class SSEDecoder:
    """Splits a stream into the data of its events; comments, ids and empty events are left out.

    Attributes:
        pinged: A comment came, which servers send to show that they are there.
    """

    __slots__ = ("_after_cr", "_fresh", "_limit", "_open", "_open_size", "_tail", "_tail_size", "pinged")

    def __init__(self, limit: int = MAX_EVENT_BYTES) -> None:
        self._limit = limit
        self._tail: list[bytes] = []
        self._open: list[bytes] = []
        self._tail_size = self._open_size = 0
        self._fresh = True
        self._after_cr = False
        self.pinged: bool = False

    def feed(self, data: bytes) -> list[bytes]:
        """The data of the events that `data` completes.

        Raises:
            OutOfBounds: An event is longer than the limit.
        """
        if self._after_cr or b"\r" in data:
            data = self._newlines(data)
        cut = data.rfind(b"\n") + 1
        if not cut:
            self._keep(data)
            return []
        whole = data[:cut]
        if self._tail:
            whole = b"".join([*self._tail, whole])
            self._tail, self._tail_size = [], 0
        if self._fresh:
            self._fresh, whole = False, whole.removeprefix(BOM)
        events = self._events(whole)
        self._keep(data[cut:])
        return events

    def finish(self) -> list[bytes]:
        """The event that the end of the stream cut off, if it has data."""
        if self._tail:
            self._open.append(b"".join(self._tail))
            self._tail, self._tail_size = [], 0
        events: list[bytes] = []
        self._close(events)
        return events

    def _keep(self, tail: bytes) -> None:
        if tail:
            self._tail.append(tail)
            self._tail_size += len(tail)
        if self._tail_size + self._open_size > self._limit:
            raise OutOfBounds(f"an event is longer than {self._limit} bytes")

    def _newlines(self, data: bytes) -> bytes:
        """`data` with LF alone; a CR at its end may be half of a CRLF."""
        if self._after_cr and data:
            data = data.removeprefix(b"\n")
            self._after_cr = False
        if data.endswith(b"\r"):
            self._after_cr = True
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _events(self, whole: bytes) -> list[bytes]:
        """The events in `whole`, which ends with a line end; what is left stays open."""
        events: list[bytes] = []
        if self._open:
            end = 0 if whole.startswith(b"\n") else whole.find(b"\n\n") + 1
            if not end and not whole.startswith(b"\n"):
                self._grow(whole)
                return events
            self._grow(whole[:end])
            self._close(events)
            whole = whole[end + 1 :]
        blocks = whole.split(b"\n\n")
        rest = blocks.pop()
        for block in blocks:
            if block.startswith(b"data: ") and len(block) > 6 and b"\n" not in block:
                events.append(block[6:])
            elif block:
                self._open.append(block)
                self._close(events)
        if rest.strip(b"\n"):
            self._grow(rest)
        return events

    def _grow(self, lines: bytes) -> None:
        self._open.append(lines.rstrip(b"\n"))
        self._open_size += len(lines)

    def _close(self, events: list[bytes]) -> None:
        """End the open event: its data joins `events` unless it has none."""
        data: list[bytes] = []
        failed = False
        for line in b"\n".join(self._open).split(b"\n"):
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if field == b"data":
                data.append(value)
            elif line.startswith(b":"):
                self.pinged = True
            elif field == b"error":
                failed = True
                data.append(value)
            elif field == b"event":
                failed = value.strip() == b"error"
        self._open, self._open_size = [], 0
        joined = b"\n".join(data)
        if joined.strip():
            events.append(ErrorEvent(joined) if failed else joined)
