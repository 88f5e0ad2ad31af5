"""HTTP, thinly: one httpx2 client per endpoint, its limits set for streams.

Redirects are never followed (the key would go along), proxies and netrc of the environment are not read, and
leaving a body early closes its connection at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Final

import anyio
import httpx2

from lembas_core.endpoints.connections import Connections
from lembas_core.endpoints.faults import Faults
from lembas_core.endpoints.inflating import Inflater, inflater_for
from lembas_core.errors import EndpointError

__all__ = ("Answer", "Transport")

_CLOSING_SECONDS: Final = 2.0


class Transport:
    """Sends requests to one endpoint.

    Args:
        faults: Makes the errors.
        headers: What every request carries.
        connect: Seconds to wait for a connection.
        keep: Keep connections for the next request; the owner then has to call `aclose`.
    """

    def __init__(
        self,
        faults: Faults,
        headers: Mapping[str, str],
        *,
        connect: float,
        keep: bool,
    ) -> None:
        self._faults = faults
        self._client = httpx2.AsyncClient(
            headers=headers, trust_env=False, timeout=None, transport=Connections(connect=connect, keep=keep)
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def open(self, method: str, url: str, body: bytes | None, seconds: float) -> Answer:
        """Send a request and read the head of its answer, for which `seconds` are given.

        Raises:
            EndpointError: No answer came.
        """
        try:
            with anyio.fail_after(seconds):
                request = self._client.build_request(method, url, content=body)
                return Answer(await self._client.send(request, stream=True), self._faults)
        except TimeoutError:
            raise self._faults.silent(seconds) from None
        except httpx2.HTTPError as error:
            raise self._fault(error) from error

    def _fault(self, error: httpx2.HTTPError) -> EndpointError:
        if isinstance(error, httpx2.ConnectTimeout):
            return self._faults.unreachable("no connection in time", timed_out=True)
        if isinstance(error, httpx2.ConnectError):
            return self._faults.unreachable(str(error))
        return _broken(error, self._faults)


class Answer:
    """An HTTP answer whose body is read piece by piece.

    Attributes:
        status: The HTTP status.
        headers: Header fields, names in any case.
    """

    def __init__(self, response: httpx2.Response, faults: Faults) -> None:
        self.status: int = response.status_code
        self.headers: Mapping[str, str] = response.headers
        self._response = response
        self._faults = faults
        self._pieces = response.aiter_raw()
        self._inflater: Inflater | None = None
        self._steps: Iterator[bytes] = iter(())
        self._fresh = True

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
                data = await anext(self._pieces, None)
            if scope.cancelled_caught:
                raise TimeoutError
            if self._inflater is None or data is None:
                return data
            self._steps = self._inflater.feed(data)
            return next(self._steps, b"")
        except httpx2.HTTPError as error:
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
        with anyio.move_on_after(_CLOSING_SECONDS, shield=True):
            await self._pieces.aclose()
            await self._response.aclose()


def _broken(error: httpx2.HTTPError, faults: Faults) -> EndpointError:
    """The error for an exchange that broke: a connection that ended, or bytes that are no HTTP."""
    words = str(error)
    if isinstance(error, httpx2.RemoteProtocolError) and "closed" not in words:
        return faults.garbled(words)
    return faults.dropped()
