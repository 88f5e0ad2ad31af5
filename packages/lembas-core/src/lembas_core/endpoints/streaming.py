"""One streamed reply: the answer's pieces through a decoder, with a limit on every wait."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Final, Literal

import anyio

from lembas_core.endpoints.faults import Faults
from lembas_core.endpoints.values import Part
from lembas_core.errors import EndpointError
from lembas_core.frozen import frozen

if TYPE_CHECKING:
    from lembas_core.endpoints.decoding import ReplyDecoder
    from lembas_core.endpoints.transport import Answer

__all__ = ("PartStream", "Timeouts")

_USAGE_SECONDS: Final = 5.0
"""How long to wait for usage after the model said that it is done."""
_TAIL_SECONDS: Final = 0.1
"""How long to wait for the end of the HTTP body after the last event, so that its connection can be kept."""


@frozen
class Timeouts:
    """How long to wait for a server, in seconds.

    Attributes:
        connect: For a connection.
        first: From the request to the first byte of the reply: a cold model loads, a long prompt is read.
        silence: Between two reads after that.
    """

    connect: float = 10.0
    first: float = 300.0
    silence: float = 120.0


class PartStream:
    """An open request; a context manager and an iterator of parts.

    Args:
        begin: Sends the request; gives the answer and what decodes it.
        faults: Makes the errors.
        timeouts: How long to wait.
    """

    def __init__(
        self,
        begin: Callable[[], Awaitable[tuple[Answer, ReplyDecoder]]],
        faults: Faults,
        timeouts: Timeouts,
    ) -> None:
        self._begin = begin
        self._faults = faults
        self._timeouts = timeouts
        self._parts: deque[Part] = deque()
        self._first_until = 0.0
        self._fresh = True
        self._ended = False
        self._whole = False

    async def __aenter__(self) -> PartStream:
        self._first_until = anyio.current_time() + self._timeouts.first
        self._answer, self._decoder = await self._begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._ended and self._decoder.done and not self._whole:
                await self._read_tail()
        finally:
            await self._answer.aclose()

    def __aiter__(self) -> PartStream:
        return self

    async def __anext__(self) -> Part:
        while not self._parts:
            if self._ended:
                raise StopAsyncIteration
            await self._read()
        return self._parts.popleft()

    async def _read(self) -> None:
        seconds = self._patience()
        try:
            piece = await self._answer.piece(seconds)
        except TimeoutError:
            self._end("timeout", self._faults.silent(seconds))
            return
        except EndpointError as error:
            self._end("incomplete", error)
            return
        self._fresh = self._fresh and not piece
        if piece is None:
            self._whole = True
            self._end()
            return
        self._parts.extend(self._decoder.feed(piece))
        if self._decoder.done:
            self._end()

    def _patience(self) -> float:
        if self._fresh:
            return max(self._first_until - anyio.current_time(), 0.001)
        if self._decoder.finishing:
            return min(_USAGE_SECONDS, self._timeouts.silence)
        return self._timeouts.silence

    def _end(
        self, cut: Literal["incomplete", "timeout"] | None = None, error: EndpointError | None = None
    ) -> None:
        self._ended = True
        self._parts.extend(self._decoder.finish(cut, error))

    async def _read_tail(self) -> None:
        with anyio.move_on_after(_TAIL_SECONDS):
            try:
                while await self._answer.piece(_TAIL_SECONDS) is not None:
                    pass
            except (TimeoutError, EndpointError):
                # The reply is whole; what is wrong with the rest only costs the connection.
                return
