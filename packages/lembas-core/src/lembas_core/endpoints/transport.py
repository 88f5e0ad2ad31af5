"""HTTP, thinly: the requests to one endpoint, its faults as typed errors, a limit on every wait.

Redirects are never followed (the key would go along), proxies and netrc of the environment are not read, and
leaving a body early closes its connection at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import urlsplit

import anyio

from lembas_core.endpoints.connections import Connection, Connections, Dropped, NoConnection, NotHTTP
from lembas_core.endpoints.faults import Faults
from lembas_core.endpoints.http1 import encode
from lembas_core.endpoints.inflating import Inflater, inflater_for
from lembas_core.errors import EndpointError

__all__ = ("Answer", "Transport")

_CLOSING_SECONDS: Final = 2.0


class Transport:
    """Sends requests to one endpoint.

    Args:
        faults: Makes the errors.
        origin: Scheme, host and port that all requests go to.
        headers: What every request carries.
        connect: Seconds to wait for a connection.
        keep: Keep connections for the next request; the owner then has to call `aclose`.
    """

    def __init__(
        self, faults: Faults, origin: str, headers: Mapping[str, str], *, connect: float, keep: bool
    ) -> None:
        parts = urlsplit(origin)
        secure = parts.scheme == "https"
        port = parts.port or (443 if secure else 80)
        self._faults = faults
        self._headers = list({"host": parts.netloc, **headers}.items())
        self._connections = Connections(parts.hostname or "", port, secure=secure, connect=connect, keep=keep)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._connections.aclose()

    async def open(self, method: str, url: str, body: bytes | None, seconds: float) -> Answer:
        """Send a request and read the head of its answer, for which `seconds` are given.

        Raises:
            EndpointError: No answer came.
        """
        request = encode(method, urlsplit(url).path, self._headers, body)
        try:
            with anyio.fail_after(seconds):
                connection = await self._connections.ask(request)
        except TimeoutError:
            raise self._faults.silent(seconds) from None
        except NoConnection as error:
            raise self._faults.unreachable(str(error), timed_out=error.timed_out) from error
        except (Dropped, NotHTTP) as error:
            raise _broken(error, self._faults) from error
        return Answer(connection, self._connections, self._faults)


class Answer:
    """An HTTP answer whose body is read piece by piece.

    Attributes:
        status: The HTTP status.
        headers: Header fields, names in lower case.
    """

    def __init__(self, connection: Connection, home: Connections, faults: Faults) -> None:
        self.status: int = connection.response.status
        self.headers: Mapping[str, str] = connection.response.headers
        self._connection = connection
        self._home = home
        self._faults = faults
        self._inflater: Inflater | None = None
        self._steps: Iterator[bytes] = iter(())
        self._fresh = True
        self._closed = False

    async def piece(self, seconds: float) -> bytes | None:
        """The next piece of the body, unpacked; None at its end.

        Raises:
            TimeoutError: Nothing came in time.
            EndpointError: The connection broke, or the body is no HTTP.
        """
        try:
            if self._fresh:
                self._fresh, self._inflater = False, inflater_for(self.headers.get("content-encoding", ""))
            if self._inflater is not None and (step := next(self._steps, None)) is not None:
                return step
            data: bytes | None = None
            with anyio.CancelScope(deadline=anyio.current_time() + seconds) as scope:
                data = await self._connection.piece()
            if scope.cancelled_caught:
                raise TimeoutError
            if self._inflater is None or data is None:
                return data
            self._steps = self._inflater.feed(data)
            return next(self._steps, b"")
        except (Dropped, NotHTTP) as error:
            raise _broken(error, self._faults) from error
        except ValueError as error:
            raise self._faults.garbled(str(error)) from None

    async def read(self, limit: int, seconds: float) -> bytes:
        """The body, at most `limit` bytes of it.

        Raises:
            EndpointError: It is not there within `seconds`, or broken.
        """
        read = bytearray()
        try:
            with anyio.fail_after(seconds):
                while len(read) < limit and (piece := await self.piece(math.inf)) is not None:
                    read += piece
        except TimeoutError:
            raise self._faults.silent(seconds) from None
        return bytes(read[:limit])

    async def aclose(self) -> None:
        """Close; a body that was not read to its end takes its connection along."""
        if not self._closed:
            self._closed = True
            with anyio.move_on_after(_CLOSING_SECONDS, shield=True):
                await self._home.give_back(self._connection)


def _broken(error: Dropped | NotHTTP, faults: Faults) -> EndpointError:
    return faults.dropped() if isinstance(error, Dropped) else faults.garbled(str(error))
