"""A chat, without `await`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from lembas_core.instance.chat import Chat as AsyncChat
from lembas_core.sync.loop import Loop
from lembas_core.sync.streaming import ReplyStream

if TYPE_CHECKING:
    from lembas_core.chats import ChatInfo, MessageInfo, Sent
    from lembas_core.endpoints.values import Image, Parameters, Request
    from lembas_core.engine.reply import Reply

__all__ = ("Chat",)


class Chat:
    """A conversation. It is stored with its first turn; before that `id` is None."""

    def __init__(self, loop: Loop, chat: AsyncChat) -> None:
        self._loop = loop
        self._chat = chat

    @property
    def id(self) -> str | None:
        """The chat's id; None until the first turn is stored."""
        return self._chat.id

    def say(
        self,
        text: str = "",
        *,
        images: Iterable[Image] = (),
        instead_of: str | None = None,
        parameters: Parameters | None = None,
    ) -> Reply:
        """Say something and wait for the whole reply. Ctrl-C stops it; what arrived is kept.

        Arguments and errors are those of `lembas_core.Chat.say`.
        """
        return self._loop.run(
            self._chat.say, text, images=images, instead_of=instead_of, parameters=parameters
        )

    def reply(
        self,
        text: str = "",
        *,
        images: Iterable[Image] = (),
        instead_of: str | None = None,
        parameters: Parameters | None = None,
    ) -> ReplyStream:
        """Say something and watch the reply: `with chat.reply("…") as reply`.

        Leaving the block early stops the reply; what arrived is kept.
        """
        stream = self._chat.reply(text, images=images, instead_of=instead_of, parameters=parameters)
        return ReplyStream(self._loop, stream)

    def start(
        self,
        text: str = "",
        *,
        images: Iterable[Image] = (),
        instead_of: str | None = None,
        parameters: Parameters | None = None,
    ) -> Sent:
        """Say something and leave the reply to the instance: follow, stop or answer it by its id."""
        return self._loop.run(
            self._chat.start, text, images=images, instead_of=instead_of, parameters=parameters
        )

    def regenerate(self, reply_id: str | None = None) -> Reply:
        """Have another reply to the same turn; the one that was there stays as a version."""
        return self._loop.run(self._chat.regenerate, reply_id)

    def resume(self, reply_id: str | None = None) -> Reply:
        """Go on with a reply that was stopped, failed or was interrupted."""
        return self._loop.run(self._chat.resume, reply_id)

    def regenerating(self, reply_id: str | None = None) -> ReplyStream:
        """Have another reply to the same turn and watch it, as `reply` does."""
        return ReplyStream(self._loop, self._chat.regenerating(reply_id))

    def resuming(self, reply_id: str | None = None) -> ReplyStream:
        """Go on with a reply and watch it; the first event is a snapshot of what it holds."""
        return ReplyStream(self._loop, self._chat.resuming(reply_id))

    def request(
        self,
        text: str = "",
        *,
        images: Iterable[Image] = (),
        instead_of: str | None = None,
        parameters: Parameters | None = None,
    ) -> Request:
        """The request that saying this would send; nothing is stored and nothing is sent."""
        return self._loop.run(
            self._chat.request, text, images=images, instead_of=instead_of, parameters=parameters
        )

    def info(self) -> ChatInfo:
        """The chat without its messages."""
        return self._loop.run(self._chat.info)

    def messages(self, *, limit: int | None = None, before: str | None = None) -> list[MessageInfo]:
        """The conversation, oldest first: all of it, or the last `limit` messages (before one of them)."""
        return self._loop.run(self._chat.messages, limit=limit, before=before)

    def versions(self, message_id: str) -> list[MessageInfo]:
        """A message and its other versions, oldest first."""
        return self._loop.run(self._chat.versions, message_id)

    def switch(self, message_id: str) -> None:
        """Go on from another version of a message."""
        self._loop.run(self._chat.switch, message_id)

    def fork(self, message_id: str) -> Chat:
        """A chat of its own that holds everything up to a message, with the same tools."""
        return Chat(self._loop, self._loop.run(self._chat.fork, message_id))

    def rename(self, title: str) -> None:
        """Give it a title, which no model changes any more."""
        self._loop.run(self._chat.rename, title)

    def delete(self) -> None:
        """Delete it."""
        self._loop.run(self._chat.delete)

    def export(self, format: Literal["markdown", "json"] = "markdown") -> str:
        """The conversation as text."""
        return self._loop.run(self._chat.export, format)
