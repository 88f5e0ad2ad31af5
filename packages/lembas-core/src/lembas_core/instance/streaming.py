"""A reply watched while it arrives by the one who asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Final

import anyio

from lembas_core.engine.events import Event, Finished, Snapshot
from lembas_core.engine.reply import Reply

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Self

    from lembas_core.chats import Sent
    from lembas_core.engine.questions import Answer
    from lembas_core.replies import Replies

__all__ = ("ReplyStream", "finished")

STOP_SECONDS: Final = 10.0
"""How long leaving may take: a stop is immediate unless the database hangs."""


class ReplyStream:
    """The events of one reply, each once; `async with` begins it, and leaving early stops it.

    What arrived is kept either way. A fault does not raise here: the last event tells it, and `reply.error`
    holds it.
    """

    def __init__(self, begin: Callable[[], Awaitable[Sent]], replies: Replies) -> None:
        self._begin = begin
        self._replies = replies
        self._stack = AsyncExitStack()
        self._sent: Sent | None = None
        self._events: AsyncIterator[Event] | None = None
        self._reply: Reply | None = None

    async def __aenter__(self) -> Self:
        self._sent = await self._begin()
        try:
            following = self._replies.follow(self._sent.reply_id)
            self._events = await self._stack.enter_async_context(following)
        except BaseException:
            await self._leave()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        await self._leave()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        assert self._events is not None, "iterate inside `async with`"
        event = await anext(self._events)
        if isinstance(event, Snapshot) and event.number == 0:
            event = await anext(self._events)
        if isinstance(event, Finished):
            self._reply = await finished(self._replies, self._begun)
        return event

    @property
    def chat_id(self) -> str:
        """The chat it belongs to."""
        return self._begun.chat_id

    @property
    def id(self) -> str:
        """The reply's message."""
        return self._begun.reply_id

    @property
    def reply(self) -> Reply:
        """The whole reply, once it has ended or the block was left.

        Raises:
            RuntimeError: It still runs.
        """
        if self._reply is None:
            raise RuntimeError("The reply has not ended yet.")
        return self._reply

    async def answer(self, question_id: str, answer: Answer) -> bool:
        """Answer what the reply asks; False when that was answered already."""
        return await self._replies.answer(self.id, question_id, answer)

    async def stop(self) -> bool:
        """End it and keep what arrived; the events go on to `Finished`. False when it had ended."""
        return await self._replies.stop(self.id)

    @property
    def _begun(self) -> Sent:
        assert self._sent is not None, "use it inside `async with`"
        return self._sent

    async def _leave(self) -> None:
        # Shielded: a caller that is cancelled leaves too, and what arrived must be stored all the same.
        with anyio.move_on_after(STOP_SECONDS, shield=True):
            if self._reply is None:
                await self.stop()
                self._reply = await finished(self._replies, self._begun)
            await self._stack.aclose()


async def finished(replies: Replies, sent: Sent) -> Reply:
    """Wait until the reply to a turn has ended."""
    ended = await replies.wait(sent.reply_id)
    return Reply.from_view(ended.view, error=ended.error, chat_id=sent.chat_id, message_id=sent.reply_id)
