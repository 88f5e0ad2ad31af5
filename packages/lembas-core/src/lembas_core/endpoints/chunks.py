"""Undoing the chunked transfer coding (RFC 9112, section 7.1): bytes in, the body's bytes out. No I/O."""

from __future__ import annotations

import re
from typing import Final

__all__ = ("ChunkDecoder",)

_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,12})[ \t]*(?:;.*)?")
_LONGEST_LINE: Final = 4096
_MOST_TRAILERS: Final = 100


class ChunkDecoder:
    """Joins what one read brought of a chunked body; extensions and trailers are passed over.

    Attributes:
        done: The last chunk and what trails it have come.
        rest: What waits for more: half a line, or after the end what is not of this body.
        fault: "" or how the framing is broken; data before it is still given.
    """

    __slots__ = ("_at_end_of_chunk", "_left", "_trailers", "done", "fault", "rest")

    def __init__(self) -> None:
        self.done: bool = False
        self.rest: bytes = b""
        self.fault: str = ""
        self._left = 0
        self._at_end_of_chunk = False
        self._trailers = 0  # lines after the last chunk, counted from 1

    def feed(self, data: bytes) -> bytes:
        """The part of the body that `data` holds."""
        data = self.rest + data
        pieces: list[bytes] = []
        at: int = 0
        while not (self.done or self.fault):
            if self._left:
                piece = data[at : at + self._left]
                pieces.append(piece)
                at += len(piece)
                self._left -= len(piece)
                self._at_end_of_chunk = not self._left
            end = -1 if self._left else data.find(b"\n", at)
            if end < 0:
                break
            self._line(data[at:end].removesuffix(b"\r"))
            at = end + 1
        self.rest = data[at:]
        if len(self.rest) > _LONGEST_LINE and not self.done:
            self.fault = self.fault or "a chunk's head is too long"
        return b"".join(pieces)

    def _line(self, line: bytes) -> None:
        """A line between the chunks' data: the end of one, the size of the next, or a trailer."""
        if self._at_end_of_chunk:
            self._at_end_of_chunk = False
            self.fault = "a chunk does not end where it said" if line else ""
        elif self._trailers:
            self.done = not line
            self._trailers += 1
            self.fault = "too many trailers" if self._trailers > _MOST_TRAILERS else ""
        elif match := _SIZE.fullmatch(line):
            self._left = int(match[1], 16)
            self._trailers = int(not self._left)
        else:
            self.fault = "a chunk has no size"
