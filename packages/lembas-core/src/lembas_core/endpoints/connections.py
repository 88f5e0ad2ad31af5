"""An HTTP/1.1 transport for httpx2 that is made for streams.

httpx2's own transport gives a body piece by piece as the server framed it, each through six generators: in
a burst that costs several times what decoding a reply does. This one speaks through h11 as well, but gives
what one read of the socket brought as one piece, and joins the chunks of a stream itself, which takes a tenth
of what h11 takes for it. It knows neither proxies nor HTTP/2; model servers need neither.
"""

from __future__ import annotations

import errno
import os
import selectors
import ssl
from collections.abc import Awaitable, Callable
from typing import Final, cast

import anyio
import anyio.abc
import h11
import httpx2
from anyio.abc import SocketAttribute

from lembas_core.endpoints.chunks import ChunkDecoder

__all__ = ("Connections",)

_READ: Final = 64 << 10
_MAX_HEAD: Final = 100 << 10
_MOST_IDLE: Final = 20
_IDLE_SECONDS: Final = 30.0
_CLOSED: Final = "the connection was closed"


class Connections(httpx2.AsyncBaseTransport):
    """Connections to one server; one that ended its answer well may be used again.

    Args:
        connect: Seconds to wait for a connection.
        keep: Whether to keep connections for the next request; `aclose` then closes them.
    """

    def __init__(self, *, connect: float, keep: bool) -> None:
        self._connect = connect
        self._keep = keep
        self._idle: list[_Connection] = []
        self._tls: ssl.SSLContext | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send `request` and read the head of its answer.

        When nothing at all comes back on a connection that was kept, the server had closed it meanwhile, and
        the request goes out once more on a new one.
        """
        body = await request.aread()
        connection = await self._kept()
        if connection is not None:
            try:
                return await connection.ask(request, body)
            except _Unanswered:
                pass
        connection = _Connection(await self._open(request.url), self._give_back)
        return await connection.ask(request, body)

    async def aclose(self) -> None:
        """Close the connections that are kept."""
        idle, self._idle = self._idle, []
        for connection in idle:
            await connection.aclose()

    async def _kept(self) -> _Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable():
                return connection
            await connection.aclose()
        return None

    async def _give_back(self, connection: _Connection) -> None:
        if self._keep and len(self._idle) < _MOST_IDLE and connection.is_reusable():
            self._idle.append(connection)
        else:
            await connection.aclose()

    async def _open(self, url: httpx2.URL) -> anyio.abc.ByteStream:
        if url.scheme == "https" and self._tls is None:
            # SSL_CERT_FILE names a trust store of one's own, as everywhere.
            self._tls = httpx2.create_ssl_context(trust_env=True)
        host, port = url.raw_host.decode("ascii"), url.port or (443 if url.scheme == "https" else 80)
        try:
            with anyio.fail_after(self._connect):
                if url.scheme != "https":
                    return await anyio.connect_tcp(host, port)
                return await anyio.connect_tcp(
                    host, port, tls=True, ssl_context=self._tls, tls_standard_compatible=False
                )
        except TimeoutError:
            raise httpx2.ConnectTimeout("no connection in time") from None
        except (OSError, UnicodeError, anyio.BrokenResourceError, anyio.EndOfStream) as error:
            raise httpx2.ConnectError(_reason(error)) from error


def _reason(error: BaseException) -> str:
    """What is behind "All connection attempts failed"."""
    told: BaseException = error.__cause__ or error
    while isinstance(told, BaseExceptionGroup):
        told = cast("BaseExceptionGroup[BaseException]", told).exceptions[0]
    if isinstance(told, ssl.SSLCertVerificationError):
        return f"the certificate is not trusted: {told.verify_message}"
    if isinstance(told, ssl.SSLError):
        return f"TLS failed: {told.reason or told}"
    if isinstance(told, OSError) and told.errno is not None and told.errno in errno.errorcode:
        return os.strerror(told.errno)
    return (told.strerror if isinstance(told, OSError) else None) or str(told)


class _Unanswered(httpx2.RemoteProtocolError):
    """The server closed the connection before the first byte of an answer."""


class _Connection:
    """One connection: requests on it follow one another."""

    def __init__(
        self, stream: anyio.abc.ByteStream, give_back: Callable[[_Connection], Awaitable[None]]
    ) -> None:
        self._stream = stream
        self._give_back = give_back
        self._since = 0.0
        self._begin()

    def _begin(self) -> None:
        """Be ready for an exchange."""
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_HEAD)
        self._chunks: ChunkDecoder | None = None
        self._early = b""  # what came of the chunks together with the head
        self._heard = False
        self._fault: httpx2.RemoteProtocolError | None = None

    def is_usable(self) -> bool:
        """Whether the server has not closed it, as far as can be seen from here."""
        if anyio.current_time() - self._since > _IDLE_SECONDS:
            return False
        with selectors.DefaultSelector() as selector:
            selector.register(self._stream.extra(SocketAttribute.raw_socket), selectors.EVENT_READ)
            return not selector.select(0)

    def is_reusable(self) -> bool:
        """Whether the exchange on it came to a good end; then it is ready for the next one."""
        if self._chunks is not None:
            ended, more = self._chunks.done, self._chunks.rest
        else:
            ended, more = self._http.their_state is h11.DONE, self._http.trailing_data[0]
        # h11 is done on our side only while neither side asked for the connection to be closed.
        if not ended or more or self._http.our_state is not h11.DONE:
            return False
        self._begin()
        self._since = anyio.current_time()
        return True

    async def ask(self, request: httpx2.Request, body: bytes) -> httpx2.Response:
        """Send a request; the answer's body is read later."""
        try:
            await self._send(request, body)
            head = await self._head()
        except BaseException:
            await self.aclose()
            raise
        if self._http.their_state is h11.SEND_BODY and b"transfer-encoding" in dict(head.headers):
            self._chunks, self._early = ChunkDecoder(), self._http.trailing_data[0]
        return httpx2.Response(head.status_code, headers=head.headers.raw_items(), stream=_Body(self))

    async def aclose(self) -> None:
        """Close at once, whatever is still under way."""
        await anyio.aclose_forcefully(self._stream)

    async def finish(self) -> None:
        """The answer is read, or its reader has left."""
        await self._give_back(self)

    async def piece(self) -> bytes | None:
        """More of the answer's body: all that one read brought; None at its end."""
        if self._chunks is not None:
            return await self._piece_of_chunks(self._chunks)
        while True:
            if data := self._data():
                return data
            if self._http.their_state is not h11.SEND_BODY:
                return None
            self._http.receive_data(await self._receive())

    async def _piece_of_chunks(self, chunks: ChunkDecoder) -> bytes | None:
        while not chunks.done:
            if chunks.fault:
                raise httpx2.RemoteProtocolError(chunks.fault)
            data, self._early = self._early or await self._receive(), b""
            if not data:
                raise httpx2.ReadError(_CLOSED)
            if piece := chunks.feed(data):
                return piece
        return None

    def _data(self) -> bytes:
        """The data that was read already; a fault behind it waits until the data is out."""
        if self._fault is not None:
            raise self._fault
        joined: list[bytes] = []
        try:
            while isinstance(event := self._next(), h11.Data):
                joined.append(event.data)
        except httpx2.RemoteProtocolError as error:
            if not joined:
                raise
            self._fault = error
        return b"".join(joined)

    async def _send(self, request: httpx2.Request, body: bytes) -> None:
        events = (
            h11.Request(method=request.method, target=request.url.raw_path, headers=request.headers.raw),
            h11.Data(data=body),
            h11.EndOfMessage(),
        )
        try:
            await self._stream.send(b"".join(self._http.send(event) or b"" for event in events))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            # A server may refuse a request before it has read all of it: its answer is there to be read.
            return

    async def _head(self) -> h11.Response:
        while not isinstance(event := self._next(), h11.Response):
            if event is not h11.NEED_DATA:
                continue
            data = await self._receive()
            if not data:
                raise (httpx2.ReadError if self._heard else _Unanswered)(_CLOSED)
            self._heard = True
            self._http.receive_data(data)
        return event

    def _next(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        try:
            return self._http.next_event()
        except h11.RemoteProtocolError as error:
            raise httpx2.RemoteProtocolError(str(error)) from error

    async def _receive(self) -> bytes:
        """What the next read brings; nothing when the server has closed its side."""
        try:
            return await self._stream.receive(_READ)
        except anyio.EndOfStream:
            return b""
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, ssl.SSLError) as error:
            raise (httpx2.ReadError if self._heard else _Unanswered)(_CLOSED) from error


class _Body(httpx2.AsyncByteStream):
    """The body of an answer, to be read once."""

    def __init__(self, connection: _Connection) -> None:
        self._connection = connection
        self._closed = False

    def __aiter__(self) -> _Body:
        return self

    async def __anext__(self) -> bytes:
        piece = await self._connection.piece()
        if piece is None:
            raise StopAsyncIteration
        return piece

    async def aclose(self) -> None:
        if not self._closed:
            self._closed = True
            await self._connection.finish()
