"""Lines of JSON as they come over a wire: bytes in, whole lines out. No I/O."""

from __future__ import annotations

from lembas_core.endpoints.wire import MAX_EVENT_BYTES, OutOfBounds

__all__ = ("LineDecoder",)


class LineDecoder:
    """Splits a stream into lines; blank ones are left out, a last one without a line end counts."""

    __slots__ = ("_limit", "_size", "_tail")

    def __init__(self, limit: int = MAX_EVENT_BYTES) -> None:
        self._limit = limit
        self._tail: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes.

        Raises:
            OutOfBounds: A line is longer than the limit.
        """
        *lines, tail = data.split(b"\n")
        if lines:
            lines[0] = b"".join([*self._tail, lines[0]])
            self._tail, self._size = [], 0
        if tail:
            self._tail.append(tail)
            self._size += len(tail)
        if self._size > self._limit:
            raise OutOfBounds(f"a line is longer than {self._limit} bytes")
        return [line for line in map(bytes.strip, lines) if line]

    def finish(self) -> list[bytes]:
        """The last line, when the stream ended without a line end."""
        line = b"".join(self._tail).strip()
        self._tail, self._size = [], 0
        return [line] if line else []
