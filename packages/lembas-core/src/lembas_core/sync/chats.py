"""One person's chats, without `await`; each method is that of `lembas_core.Chats`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Literal

from lembas_core.chats import Chats as AsyncChats
from lembas_core.keep import KEEP, Keep
from lembas_core.sync.loop import Loop

if TYPE_CHECKING:
    from datetime import datetime

    from lembas_core.chats import ChatInfo, ChatSetup, MessageInfo, Page, RunWith, Sent
    from lembas_core.endpoints.values import Image, Parameters, Request
    from lembas_core.store.search import Hit

    # Inside the class `list` is its method.
    Messages = list[MessageInfo]

__all__ = ("Chats",)


class Chats:
    """The chats of one person; what belongs to others is not found."""

    def __init__(self, loop: Loop, chats: AsyncChats) -> None:
        self._loop = loop
        self._chats = chats

    def send(
        self,
        text: str = "",
        *,
        chat_id: str | None = None,
        images: Iterable[Image] = (),
        instead_of: str | None = None,
        setup: ChatSetup | None = None,
        run: RunWith | None = None,
    ) -> Sent:
        """Say something; the reply then runs in the background."""
        return self._loop.run(
            self._chats.send,
            text,
            chat_id=chat_id,
            images=images,
            instead_of=instead_of,
            setup=setup,
            run=run,
        )

    def preview(
        self,
        text: str = "",
        *,
        chat_id: str | None = None,
        images: Iterable[Image] = (),
        instead_of: str | None = None,
        setup: ChatSetup | None = None,
        run: RunWith | None = None,
    ) -> Request:
        """The request that `send` would make; nothing is stored and nothing is sent."""
        return self._loop.run(
            self._chats.preview,
            text,
            chat_id=chat_id,
            images=images,
            instead_of=instead_of,
            setup=setup,
            run=run,
        )

    def regenerate(self, reply_id: str, *, run: RunWith | None = None) -> Sent:
        """Have the turn that a reply answers answered anew; the reply that was there stays as a version."""
        return self._loop.run(self._chats.regenerate, reply_id, run=run)

    def resume(self, reply_id: str, *, run: RunWith | None = None) -> Sent:
        """Continue a reply that was cut off: what comes is added to it."""
        return self._loop.run(self._chats.resume, reply_id, run=run)

    def get(self, chat_id: str) -> ChatInfo:
        """A chat by its id, or by the beginning or the end of one (six characters or more)."""
        return self._loop.run(self._chats.get, chat_id)

    def list(
        self, *, limit: int = 50, cursor: str | None = None, archived: bool = False, origin: str | None = None
    ) -> Page[ChatInfo]:
        """The chats by last activity, the latest first; temporary ones are not among them."""
        return self._loop.run(self._chats.list, limit=limit, cursor=cursor, archived=archived, origin=origin)

    def message(self, message_id: str) -> MessageInfo:
        """One message."""
        return self._loop.run(self._chats.message, message_id)

    def messages(self, chat_id: str, *, limit: int | None = None, before: str | None = None) -> Messages:
        """The conversation, oldest first."""
        return self._loop.run(self._chats.messages, chat_id, limit=limit, before=before)

    def versions(self, message_id: str) -> Messages:
        """All versions of a message, oldest first."""
        return self._loop.run(self._chats.versions, message_id)

    def switch(self, message_id: str) -> None:
        """Show this version of a message, and the conversation as it last went on from there."""
        self._loop.run(self._chats.switch, message_id)

    def delete_version(self, message_id: str) -> None:
        """Delete one of several versions of a message, and what was said after it."""
        self._loop.run(self._chats.delete_version, message_id)

    def fork(self, message_id: str) -> ChatInfo:
        """A new chat with a copy of the conversation up to this message."""
        return self._loop.run(self._chats.fork, message_id)

    def rename(self, chat_id: str, title: str) -> None:
        """Give a chat a title, which no model changes any more."""
        self._loop.run(self._chats.rename, chat_id, title)

    def update(
        self,
        chat_id: str,
        *,
        pinned: bool | Keep = KEEP,
        archived: bool | Keep = KEEP,
        temporary: bool | Keep = KEEP,
        system: str | Keep | None = KEEP,
        model: str | Keep = KEEP,
        parameters: Parameters | Keep = KEEP,
        effort: str | Keep | None = KEEP,
    ) -> None:
        """Change what is given. `temporary=False` keeps a temporary chat."""
        self._loop.run(
            self._chats.update,
            chat_id,
            pinned=pinned,
            archived=archived,
            temporary=temporary,
            system=system,
            model=model,
            parameters=parameters,
            effort=effort,
        )

    def mark_read(self, chat_id: str) -> None:
        """Note that the person has seen the chat."""
        self._loop.run(self._chats.mark_read, chat_id)

    def delete(self, chat_ids: str | Collection[str]) -> None:
        """Put chats into the bin; a temporary one is gone at once. What runs in them is stopped."""
        self._loop.run(self._chats.delete, chat_ids)

    def search(
        self, query: str, *, limit: int = 20, cursor: str | None = None, since: datetime | None = None
    ) -> Page[Hit]:
        """The best matches of a query in titles and messages."""
        return self._loop.run(self._chats.search, query, limit=limit, cursor=cursor, since=since)

    def export(self, chat_id: str, format: Literal["markdown", "json"] = "markdown") -> str:
        """A chat as text: Markdown of the conversation, or JSON that holds every version as well."""
        return self._loop.run(self._chats.export, chat_id, format)

    def export_exchange(self, reply_id: str) -> str:
        """A reply and the turn it answers, in the JSON of `export`; the rest of the chat is not read."""
        return self._loop.run(self._chats.export_exchange, reply_id)
