"""A chat in the hand of one caller: what it is offered and whom it asks lives here, the rest is stored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import anyio

from lembas_core.chats import ChatSetup, RunWith
from lembas_core.context.parameters import merge_parameters
from lembas_core.endpoints.values import Parameters
from lembas_core.engine.questions import Answer, Question
from lembas_core.errors import NotFound
from lembas_core.given import expect
from lembas_core.instance.streaming import STOP_SECONDS, ReplyStream, finished

if TYPE_CHECKING:
    from lembas_core.chats import ChatInfo, Chats, MessageInfo, Sent
    from lembas_core.endpoints.values import Image, Request
    from lembas_core.engine.reply import Reply
    from lembas_core.replies import Replies

__all__ = ("Chat",)


class Chat:
    """A conversation. It is stored with its first turn; before that `id` is None.

    Turns go out one after the other: each method that begins a reply may be used again once it ended.
    """

    def __init__(
        self,
        chats: Chats,
        replies: Replies,
        *,
        chat_id: str | None = None,
        setup: ChatSetup | None = None,
        run: RunWith | None = None,
    ) -> None:
        self._chats = chats
        self._replies = replies
        self._setup = setup or ChatSetup()
        self._run = run or RunWith()
        self._id = chat_id
        self._creating = anyio.Lock()

    @property
    def id(self) -> str | None:
        """The chat's id; None until the first turn is stored."""
        return self._id

    async def say(
        self,
        text: str = "",
        *,
        images: Iterable[Image] = (),
        instead_of: str | None = None,
        parameters: Parameters | None = None,
    ) -> Reply:
        """Say something and wait for the whole reply. Being cancelled stops it; what arrived is kept.

        Args:
            text: What is said; may be empty when there are images.
            images: Pictures, for models that see.
            instead_of: One's own earlier turn: this one becomes another version of it.
            parameters: How to sample this time.

        Raises:
            EndpointError: The reply failed. It is stored all the same; `partial` holds what had arrived.
            Invalid: There is nothing to send.
            NotFound: The chat, the turn or the model does not exist.
        """
        sent = await self._send(text, images, instead_of, self._attended(parameters))
        return await self._awaited(sent)

    def reply(
        self,
        text: str = "",
        *,
        images: Iterable[Image] = (),
        instead_of: str | None = None,
        parameters: Parameters | None = None,
    ) -> ReplyStream:
        """Say something and watch the reply: `async with chat.reply("…") as reply`.

        Leaving the block early stops the reply; what arrived is kept. Questions wait for
        `reply.answer(...)` unless the chat has an `on_question`. Arguments are those of `say`.
        """
        return ReplyStream(
            lambda: self._send(text, images, instead_of, self._with(parameters)), self._replies
        )

    async def start(
        self,
        text: str = "",
        *,
        images: Iterable[Image] = (),
        instead_of: str | None = None,
        parameters: Parameters | None = None,
    ) -> Sent:
        """Say something and leave the reply to the instance: follow, stop or answer it by its id.

        Arguments and errors are those of `say`, but for a reply that fails: its message tells.
        """
        return await self._send(text, images, instead_of, self._with(parameters))

    async def regenerate(self, reply_id: str | None = None) -> Reply:
        """Have another reply to the same turn; the one that was there stays as a version.

        Args:
            reply_id: The reply; the newest when None.

        Raises:
            EndpointError: The reply failed.
            NotFound: There is no such reply.
        """
        return await self._awaited(await self._again(reply_id, self._attended(None)))

    async def resume(self, reply_id: str | None = None) -> Reply:
        """Go on with a reply that was stopped, failed or was interrupted.

        Args:
            reply_id: The reply; the newest when None.

        Raises:
            EndpointError: The reply failed.
            NotFound: There is no such reply.
        """
        return await self._awaited(await self._onward(reply_id, self._attended(None)))

    def regenerating(self, reply_id: str | None = None) -> ReplyStream:
        """Have another reply to the same turn and watch it, as `reply` does."""
        return ReplyStream(lambda: self._again(reply_id, self._run), self._replies)

    def resuming(self, reply_id: str | None = None) -> ReplyStream:
        """Go on with a reply and watch it; the first event is a snapshot of what it holds."""
        return ReplyStream(lambda: self._onward(reply_id, self._run), self._replies)

    async def request(
        self,
        text: str = "",
        *,
        images: Iterable[Image] = (),
        instead_of: str | None = None,
        parameters: Parameters | None = None,
    ) -> Request:
        """The request that saying this would send; nothing is stored and nothing is sent.

        Arguments and errors are those of `say`, but for a reply that fails: there is none.
        """
        self._require_turn(instead_of)
        return await self._chats.preview(
            text,
            chat_id=self._id,
            images=tuple(images),
            instead_of=instead_of,
            setup=self._setup if self._id is None else None,
            run=self._with(parameters),
        )

    async def info(self) -> ChatInfo:
        """The chat without its messages.

        Raises:
            NotFound: It is not stored yet, or was deleted.
        """
        return await self._chats.get(self._stored())

    async def messages(self, *, limit: int | None = None, before: str | None = None) -> list[MessageInfo]:
        """The conversation, oldest first: all of it, or the last `limit` messages (before one of them)."""
        if self._id is None:
            return []
        return await self._chats.messages(self._id, limit=limit, before=before)

    async def versions(self, message_id: str) -> list[MessageInfo]:
        """A message and its other versions, oldest first.

        Raises:
            NotFound: There is no such message in this chat.
        """
        versions = await self._chats.versions(message_id)
        if versions[0].chat_id != self._id:
            raise _no_such_message()
        return versions

    async def switch(self, message_id: str) -> None:
        """Go on from another version of a message.

        Raises:
            NotFound: There is no such message in this chat.
        """
        await self._chats.switch(await self._own(message_id))

    async def fork(self, message_id: str) -> Chat:
        """A chat of its own that holds everything up to a message, with the same tools.

        Raises:
            NotFound: There is no such message in this chat.
        """
        info = await self._chats.fork(await self._own(message_id))
        return Chat(self._chats, self._replies, chat_id=info.id, run=self._run)

    async def rename(self, title: str) -> None:
        """Give it a title, which no model changes any more."""
        await self._chats.rename(self._stored(), title)

    async def delete(self) -> None:
        """Delete it."""
        await self._chats.delete([self._stored()])

    async def export(self, format: Literal["markdown", "json"] = "markdown") -> str:
        """The conversation as text."""
        return await self._chats.export(self._stored(), format)

    async def _send(self, text: str, images: Iterable[Image], instead_of: str | None, run: RunWith) -> Sent:
        images = tuple(images)
        if self._id is not None:
            return await self._chats.send(
                text, chat_id=self._id, images=images, instead_of=instead_of, run=run
            )
        self._require_turn(instead_of)
        async with self._creating:
            setup = self._setup if self._id is None else None
            sent = await self._chats.send(text, chat_id=self._id, images=images, setup=setup, run=run)
            self._id = sent.chat_id
        return sent

    def _require_turn(self, instead_of: str | None) -> None:
        """Refuse a turn to be said differently as long as there is none."""
        if self._id is None and instead_of is not None:
            raise _no_such_message()

    async def _again(self, reply_id: str | None, run: RunWith) -> Sent:
        return await self._chats.regenerate(await self._own(reply_id), run=run)

    async def _onward(self, reply_id: str | None, run: RunWith) -> Sent:
        return await self._chats.resume(await self._own(reply_id), run=run)

    async def _awaited(self, sent: Sent) -> Reply:
        try:
            reply = await finished(self._replies, sent)
        except BaseException:
            with anyio.move_on_after(STOP_SECONDS, shield=True):
                await self._replies.stop(sent.reply_id)
                await self._replies.wait(sent.reply_id)
            raise
        if reply.error is not None:
            raise reply.error
        return reply

    def _with(self, parameters: Parameters | None) -> RunWith:
        if parameters is None:
            return self._run
        expect("parameters", parameters, Parameters)
        return replace(self._run, parameters=merge_parameters(self._run.parameters, parameters))

    def _attended(self, parameters: Parameters | None) -> RunWith:
        """Somebody who only waits for the reply cannot answer a question, so nobody is asked."""
        run = self._with(parameters)
        return run if run.on_question is not None else replace(run, on_question=_nobody)

    def _stored(self) -> str:
        if self._id is None:
            raise NotFound("The chat is not stored yet: it is with its first turn.")
        return self._id

    async def _own(self, message_id: str | None) -> str:
        """A message of this chat, which a message of another one is not; its newest reply when None."""
        if message_id is None:
            return await self._newest()
        await self.versions(message_id)
        return message_id

    async def _newest(self) -> str:
        for message in reversed(await self.messages(limit=2)):
            if message.role == "assistant":
                return message.id
        raise NotFound("The chat has no reply yet.")


def _no_such_message() -> NotFound:
    return NotFound("There is no such message in this chat.")


async def _nobody(question: Question) -> Answer:
    return Answer.nobody()
