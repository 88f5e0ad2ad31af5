"""Just enough of HTTP/1.1 for a server in a test: one request for each connection."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

import anyio
from anyio.abc import ByteStream
from anyio.streams.buffered import BufferedByteReceiveStream

from lembas_core.frozen import frozen

__all__ = ("Incoming", "Outgoing", "receive")

LONGEST_HEAD = 65_536


@frozen
class Incoming:
    """A request as it came: header names in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


async def receive(stream: ByteStream) -> Incoming | None:
    """Read one request; None when the other side left."""
    reader = BufferedByteReceiveStream(stream)
    try:
        head = (await reader.receive_until(b"\r\n\r\n", LONGEST_HEAD)).decode("latin-1")
        first, *lines = head.split("\r\n")
        named = (line.partition(":") for line in lines)
        headers = {name.strip().lower(): value.strip() for name, _, value in named}
        body = await reader.receive_exactly(int(headers.get("content-length", "0")))
    except (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError):
        return None
    method, path, *_ = first.split(" ")
    return Incoming(method, path, headers, body)


class Outgoing:
    """A response: either whole, or begun and written piece by piece.

    Attributes:
        ended: Whether there is no more to come.
    """

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self.ended: bool = False

    async def whole(self, status: int, content_type: str, body: bytes, headers: Mapping[str, str]) -> None:
        """Send everything at once."""
        await self._head(status, {"Content-Type": content_type, "Content-Length": str(len(body)), **headers})
        self.ended = True
        await self._stream.send(body)

    async def begin(self, status: int, content_type: str, headers: Mapping[str, str]) -> None:
        """Send the head of a response that is written in pieces."""
        await self._head(status, {"Content-Type": content_type, "Transfer-Encoding": "chunked", **headers})

    async def write(self, piece: bytes) -> None:
        """Send a piece."""
        if piece:
            await self._stream.send(b"%x\r\n%b\r\n" % (len(piece), piece))

    async def end(self) -> None:
        """End a response that was written in pieces."""
        self.ended = True
        await self._stream.send(b"0\r\n\r\n")

    def drop(self) -> None:
        """Let the connection be closed as it is."""
        self.ended = True

    async def _head(self, status: int, headers: Mapping[str, str]) -> None:
        lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        await self._stream.send("\r\n".join([*lines, "", ""]).encode("latin-1"))
