"""Events of a reply as a plain iterator.

One task on the loop runs the whole stream and hands the events over: stepping an async iterator from outside,
one call per item, would leave its cancel scopes in other tasks than they were entered in.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from queue import SimpleQueue
from types import TracebackType
from typing import TYPE_CHECKING, Generic, TypeVar

import anyio

from lembas_core.engine.events import Event
from lembas_core.instance.streaming import ReplyStream as AsyncReplyStream
from lembas_core.sync.loop import Loop

if TYPE_CHECKING:
    from typing import Self

    from lembas_core.engine.questions import Answer
    from lembas_core.engine.reply import Reply

__all__ = ("Following", "ReplyStream")

S = TypeVar("S", bound=AsyncIterator[Event])


class Following(Generic[S]):
    """A stream of events: enter it, iterate, leave it whenever you like."""

    def __init__(self, loop: Loop, stream: AbstractAsyncContextManager[S]) -> None:
        self._loop = loop
        self._stream = stream
        self._entered: Future[S] = Future()
        self._scope: anyio.CancelScope | None = None
        self._events: SimpleQueue[Event | BaseException | None] = SimpleQueue()
        self._pump: Future[None] | None = None
        self._over = False

    def __enter__(self) -> Self:
        self._pump = self._loop.begin(self._run)
        try:
            self._entered.result()
        except BaseException:
            self._pump.cancel()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        assert self._pump is not None
        assert self._scope is not None
        self._loop.call(self._scope.cancel)
        self._pump.result()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        if self._over:
            raise StopIteration
        event = self._events.get()
        if event is None or isinstance(event, BaseException):
            self._over = True
            raise event or StopIteration
        return event

    async def _run(self) -> None:
        try:
            async with self._stream as stream:
                with anyio.CancelScope() as self._scope:
                    self._entered.set_result(stream)
                    await self._hand_over(stream)
        except BaseException as error:
            if self._entered.done():
                raise
            self._entered.set_exception(error)
        finally:
            self._events.put(None)

    async def _hand_over(self, stream: S) -> None:
        try:
            async for event in stream:
                self._events.put(event)
        except Exception as error:
            self._events.put(error)


class ReplyStream(Following[AsyncReplyStream]):
    """The events of one reply, each once; `with` begins it, and leaving early stops it.

    What arrived is kept either way. A fault does not raise here: the last event tells it, and `reply.error`
    holds it.
    """

    @property
    def chat_id(self) -> str:
        """The chat it belongs to."""
        return self._entered.result().chat_id

    @property
    def id(self) -> str:
        """The reply's message."""
        return self._entered.result().id

    @property
    def reply(self) -> Reply:
        """The whole reply, once it has ended or the block was left.

        Raises:
            RuntimeError: It still runs.
        """
        return self._entered.result().reply

    def answer(self, question_id: str, answer: Answer) -> bool:
        """Answer what the reply asks; False when that was answered already."""
        return self._loop.run(self._entered.result().answer, question_id, answer)

    def stop(self) -> None:
        """End it and keep what arrived; the events go on to `Finished`.

        It does not wait, so that another thread or a signal handler may call it.
        """
        self._loop.begin(self._entered.result().stop)
