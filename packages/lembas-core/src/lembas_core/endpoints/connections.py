"""HTTP/1.1 over llhttp and anyio, made for streams: what one read of the socket brought is one piece.

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
from anyio.abc import SocketAttribute

from lembas_core.endpoints.http1 import Response

__all__ = ("Connection", "Connections", "Dropped", "NoConnection", "NotHTTP")

_READ: Final = 64 << 10
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

    async def ask(self, request: bytes) -> Connection:
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
                await kept.ask(request)
            except _Unanswered:
                if anyio.current_time() - begun > _AT_ONCE_SECONDS:
                    raise
            else:
                return kept
        made = Connection(await self._open())
        await made.ask(request)
        return made

    async def give_back(self, connection: Connection) -> None:
        """Keep a connection whose answer is read; close one whose reader has left."""
        if self._keep and len(self._idle) < _MOST_IDLE and connection.is_reusable():
            self._idle.append(connection)
        else:
            await connection.drop()

    async def aclose(self) -> None:
        """Close the connections that are kept, and the others as soon as they are given back."""
        self._keep = False
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
        response: What is being read.
    """

    def __init__(self, stream: anyio.abc.ByteStream) -> None:
        self._stream = stream
        self._since = 0.0
        self._begin()

    def _begin(self) -> None:
        """Be ready for an exchange."""
        self.response: Response = Response()
        self._body = b""  # what is read of it and not given yet
        self._heard = False

    def is_usable(self) -> bool:
        """Whether the server has not closed it, as far as can be seen from here."""
        if anyio.current_time() - self._since > _IDLE_SECONDS:
            return False
        with selectors.DefaultSelector() as selector:
            selector.register(self._stream.extra(SocketAttribute.raw_socket), selectors.EVENT_READ)
            return not selector.select(0)

    def is_reusable(self) -> bool:
        """Whether the exchange on it came to a good end; then it is ready for the next one."""
        if not self.response.keeps:
            return False
        self._begin()
        self._since = anyio.current_time()
        return True

    async def ask(self, request: bytes) -> None:
        """Send a request and read the head of its answer; the body is read later.

        Raises:
            Dropped: The connection ended without an answer.
            NotHTTP: The answer is no HTTP.
        """
        try:
            await self._send(request)
            while not self.response.status:
                await self._read()
        except BaseException:
            await self.drop()
            raise

    async def drop(self) -> None:
        """Close at once, whatever is still under way."""
        await anyio.aclose_forcefully(self._stream)

    async def piece(self) -> bytes | None:
        """More of the answer's body: all that one read brought; None at its end.

        Raises:
            Dropped: The connection ended before the body did.
            NotHTTP: The body is not framed as HTTP has it.
        """
        while not (self._body or self.response.done):
            await self._read()
        piece, self._body = self._body, b""
        return piece or None

    async def _send(self, request: bytes) -> None:
        try:
            await self._stream.send(request)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            # A server may refuse a request before it has read all of it: its answer is there to be read.
            return

    async def _read(self) -> None:
        """Read once; what came before a fault is given before it is raised."""
        if self.response.fault:
            raise NotHTTP(self.response.fault)
        try:
            data = await self._stream.receive(_READ)
        except anyio.EndOfStream:
            if not self.response.close():
                raise self._dropped() from None
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, ssl.SSLError) as error:
            raise self._dropped() from error
        else:
            self._heard = True
            self._body = self.response.feed(data)

    def _dropped(self) -> Dropped:
        return (Dropped if self._heard else _Unanswered)(_CLOSED)


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
