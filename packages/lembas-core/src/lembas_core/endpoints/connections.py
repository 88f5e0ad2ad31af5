"""HTTP/1.1 over h11 and anyio, made for streams: what one read of the socket brought is one piece.

A general HTTP client gives a body as the server framed it, each chunk through layers of generators: a burst
costs three times as much, and its import alone as much as everything else a first question needs. Redirects,
cookies, proxies, HTTP/2 and credentials from the environment are not left out by accident: a model server
needs none of them, and what is not there cannot send a key anywhere.
"""

from __future__ import annotations

import errno
import os
import selectors
import ssl
from typing import Final, cast

import anyio
import anyio.abc
import h11
from anyio.abc import SocketAttribute

from lembas_core.endpoints.chunks import ChunkDecoder

__all__ = ("Connection", "Connections", "Dropped", "NoConnection", "NotHTTP")

_READ: Final = 64 << 10
_MAX_HEAD: Final = 100 << 10
_MOST_IDLE: Final = 20
_IDLE_SECONDS: Final = 30.0
_AT_ONCE_SECONDS: Final = 1.0
_CLOSED: Final = "the connection was closed"


class NoConnection(Exception):
    """No connection could be made; `timed_out` when none came in time."""

    def __init__(self, why: str, *, timed_out: bool = False) -> None:
        super().__init__(why)
        self.timed_out = timed_out


class Dropped(Exception):
    """The connection ended before the answer did."""


class NotHTTP(Exception):
    """What came is no HTTP."""


class _Unanswered(Dropped):
    """The connection ended before the first byte of an answer."""


class Connections:
    """Connections to one server; one that ended its answer well may be used again.

    Args:
        host: The server's name or address, in ASCII.
        port: Its port.
        secure: Whether it speaks TLS; if not, no trust store is read.
        connect: Seconds to wait for a connection.
        keep: Whether to keep connections for the next request; `aclose` then closes them.
    """

    def __init__(self, host: str, port: int, *, secure: bool, connect: float, keep: bool) -> None:
        self._host = host
        self._port = port
        self._secure = secure
        self._connect = connect
        self._keep = keep
        self._idle: list[Connection] = []
        self._tls: ssl.SSLContext | None = None

    async def ask(self, request: h11.Request, body: bytes) -> Connection:
        """Send a request and read the head of its answer; give the connection back when its body is read.

        When a connection that was kept ends at once and without a byte, the server had closed it meanwhile,
        and the request goes out once more on a new one. When it ends later, the server may have worked on it.

        Raises:
            NoConnection: No connection could be made.
            Dropped: The connection ended without an answer.
            NotHTTP: The answer is no HTTP.
        """
        kept = await self._kept()
        if kept is not None:
            begun = anyio.current_time()
            try:
                await kept.ask(request, body)
            except _Unanswered:
                if anyio.current_time() - begun > _AT_ONCE_SECONDS:
                    raise
            else:
                return kept
        made = Connection(await self._open())
        await made.ask(request, body)
        return made

    async def give_back(self, connection: Connection) -> None:
        """Keep a connection whose answer is read; close one whose reader has left."""
        if self._keep and len(self._idle) < _MOST_IDLE and connection.is_reusable():
            self._idle.append(connection)
        else:
            await connection.drop()

    async def aclose(self) -> None:
        """Close the connections that are kept."""
        idle, self._idle = self._idle, []
        for connection in idle:
            await connection.drop()

    async def _kept(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable():
                return connection
            await connection.drop()
        return None

    async def _open(self) -> anyio.abc.ByteStream:
        try:
            with anyio.fail_after(self._connect):
                if not self._secure:
                    return await anyio.connect_tcp(self._host, self._port)
                return await anyio.connect_tcp(
                    self._host, self._port, tls=True, ssl_context=self._trust(), tls_standard_compatible=False
                )
        except TimeoutError:
            raise NoConnection("no connection in time", timed_out=True) from None
        except (OSError, UnicodeError, anyio.BrokenResourceError, anyio.EndOfStream) as error:
            raise NoConnection(_reason(error)) from error

    def _trust(self) -> ssl.SSLContext:
        """The trust store of this system, or the one that SSL_CERT_FILE names."""
        if self._tls is None:
            import httpx2

            self._tls = httpx2.create_ssl_context(trust_env=True)
        return self._tls


class Connection:
    """One connection: requests on it follow one another.

    Attributes:
        head: The head of the answer that is being read.
    """

    head: h11.Response

    def __init__(self, stream: anyio.abc.ByteStream) -> None:
        self._stream = stream
        self._since = 0.0
        self._begin()

    def _begin(self) -> None:
        """Be ready for an exchange."""
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_HEAD)
        self._chunks: ChunkDecoder | None = None
        self._early = b""  # what came of the chunks together with the head
        self._heard = False
        self._fault: Dropped | NotHTTP | None = None

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

    async def ask(self, request: h11.Request, body: bytes) -> None:
        """Send a request and read the head of its answer; the body is read later.

        Raises:
            Dropped: The connection ended without an answer.
            NotHTTP: The answer is no HTTP.
        """
        try:
            await self._send(request, body)
            self.head = await self._read_head()
        except BaseException:
            await self.drop()
            raise
        if self._http.their_state is h11.SEND_BODY and b"transfer-encoding" in dict(self.head.headers):
            self._chunks, self._early = ChunkDecoder(), self._http.trailing_data[0]

    async def drop(self) -> None:
        """Close at once, whatever is still under way."""
        await anyio.aclose_forcefully(self._stream)

    async def piece(self) -> bytes | None:
        """More of the answer's body: all that one read brought; None at its end.

        Raises:
            Dropped: The connection ended before the body did.
            NotHTTP: The body is not framed as HTTP has it.
        """
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
                raise NotHTTP(chunks.fault)
            data, self._early = self._early or await self._receive(), b""
            if not data:
                raise Dropped(_CLOSED)
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
        except (Dropped, NotHTTP) as error:
            if not joined:
                raise
            self._fault = error
        return b"".join(joined)

    async def _send(self, request: h11.Request, body: bytes) -> None:
        events = (request, h11.Data(data=body), h11.EndOfMessage())
        try:
            await self._stream.send(b"".join(self._http.send(event) or b"" for event in events))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            # A server may refuse a request before it has read all of it: its answer is there to be read.
            return

    async def _read_head(self) -> h11.Response:
        while not isinstance(event := self._next(), h11.Response):
            if event is not h11.NEED_DATA:
                continue
            data = await self._receive()
            if not data:
                raise (Dropped if self._heard else _Unanswered)(_CLOSED)
            self._heard = True
            self._http.receive_data(data)
        return event

    def _next(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        try:
            return self._http.next_event()
        except h11.RemoteProtocolError as error:
            raise (Dropped if "closed" in str(error) else NotHTTP)(str(error)) from error

    async def _receive(self) -> bytes:
        """What the next read brings; nothing when the server has closed its side."""
        try:
            return await self._stream.receive(_READ)
        except anyio.EndOfStream:
            return b""
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, ssl.SSLError) as error:
            raise (Dropped if self._heard else _Unanswered)(_CLOSED) from error


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
