"""One person's chats: found, read, changed, searched, exported; talked in as `Talking` says."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Literal

import orjson
from sqlalchemy import Connection

from lembas_core.chats import reading, writing
from lembas_core.chats.export import chat_document, chat_markdown
from lembas_core.chats.rows import chat_of
from lembas_core.chats.talking import Talking, one_line
from lembas_core.chats.values import ChatInfo, MessageInfo, Page
from lembas_core.context.parameters import parameters_to_json
from lembas_core.endpoints.values import Parameters
from lembas_core.given import expect, expect_count
from lembas_core.ids import new_id
from lembas_core.keep import KEEP, Keep

if TYPE_CHECKING:
    from datetime import datetime

    from lembas_core.clock import Clock
    from lembas_core.store import Store
    from lembas_core.store.search import Hit

__all__ = ("Chats", "sweep_temporary_chats")


class Chats(Talking):
    """The chats of one person. What belongs to somebody else is not found, as if it were not there."""

    async def get(self, chat_id: str) -> ChatInfo:
        """A chat by its id, or by the beginning or the end of one (six characters or more).

        Raises:
            NotFound: There is none.
            Invalid: There are several.
        """
        expect("chat_id", chat_id, str)
        return await self._store.read(lambda c: reading.find_chat(c, self._person.id, chat_id))

    async def list(
        self, *, limit: int = 50, cursor: str | None = None, archived: bool = False, origin: str | None = None
    ) -> Page[ChatInfo]:
        """The chats by last activity, the latest first; temporary ones are not among them.

        Args:
            limit: How many.
            cursor: The `cursor` of the page before.
            archived: The archived ones in place of the others.
            origin: Only those that came from this frontend.

        Raises:
            ValueError: `limit` is less than 1.
        """
        expect_count("limit", limit)
        return await self._store.read(
            lambda c: reading.chat_page(
                c, self._person.id, limit=limit, cursor=cursor, archived=archived, origin=origin
            )
        )

    async def message(self, message_id: str) -> MessageInfo:
        """One message.

        Raises:
            NotFound: There is none.
        """
        versions = await self.versions(message_id)
        return next(message for message in versions if message.id == message_id)

    async def messages(
        self, chat_id: str, *, limit: int | None = None, before: str | None = None
    ) -> list[MessageInfo]:
        """The conversation, oldest first.

        Args:
            chat_id: The chat.
            limit: Only its last so many messages.
            before: Only what stands before this message.
        """

        def read(c: Connection) -> list[MessageInfo]:
            chat = reading.chat_row(c, self._person.id, chat_id)
            return reading.conversation(c, chat, limit=limit, before=before)

        return await self._store.read(read)

    async def versions(self, message_id: str) -> list[MessageInfo]:
        """All versions of a message, oldest first."""

        def read(c: Connection) -> list[MessageInfo]:
            return reading.version_list(c, reading.message_row(c, self._person.id, message_id))

        return await self._store.read(read)

    async def switch(self, message_id: str) -> None:
        """Show this version of a message, and the conversation as it last went on from there."""
        await self._store.write(lambda c: writing.show(c, self._person.id, message_id))

    async def delete_version(self, message_id: str) -> None:
        """Delete one of several versions of a message, and what was said after it.

        Raises:
            Invalid: It is the only version.
            Conflict: A reply in it is still being written.
        """
        await self._store.write(lambda c: writing.delete_version(c, self._person.id, message_id))

    async def fork(self, message_id: str) -> ChatInfo:
        """A new chat with a copy of the conversation up to this message.

        Raises:
            Conflict: It is a reply that is still being written.
        """
        new, at = new_id(), self._clock.now()

        def write(c: Connection) -> ChatInfo:
            writing.fork(c, self._person.id, message_id, new, at)
            return chat_of(reading.chat_row(c, self._person.id, new))

        return await self._store.write(write)

    async def rename(self, chat_id: str, title: str) -> None:
        """Give a chat a title, which no model changes any more."""
        await self._change(chat_id, title=one_line(title), title_source="person")

    async def update(
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
        """Change what is given. `temporary=False` keeps a temporary chat.

        Raises:
            NotFound: There is no such chat or model.
        """
        values: dict[str, Any] = {
            "pinned": pinned,
            "archived": archived,
            "temporary": temporary,
            "system": system,
            "model": model if isinstance(model, Keep) else (await self._means.resolve(model)).ref,
            "parameters": parameters if isinstance(parameters, Keep) else parameters_to_json(parameters),
            "effort": effort,
        }
        await self._change(chat_id, **{name: value for name, value in values.items() if value is not KEEP})

    async def mark_read(self, chat_id: str) -> None:
        """Note that the person has seen the chat."""
        chat = await self._store.read(lambda c: reading.chat_row(c, self._person.id, chat_id))
        if chat.unread:
            await self._change(chat_id, unread=False)

    async def _change(self, chat_id: str, **values: Any) -> None:
        await self._store.write(lambda c: writing.change_chat(c, self._person.id, chat_id, values))

    async def delete(self, chat_ids: str | Collection[str]) -> None:
        """Put chats into the bin; a temporary one is gone at once. What runs in them is stopped.

        Raises:
            NotFound: One of them is not there; then none is deleted.
        """
        ids = [chat_ids] if isinstance(chat_ids, str) else list(dict.fromkeys(chat_ids))
        await self._store.read(lambda c: [reading.chat_row(c, self._person.id, one) for one in ids])
        for chat_id in ids:
            await self._stop_running(chat_id)
        at = self._clock.now()
        await self._store.write(lambda c: writing.delete_chats(c, self._person.id, ids, at))

    async def search(
        self, query: str, *, limit: int = 20, cursor: str | None = None, since: datetime | None = None
    ) -> Page[Hit]:
        """The best matches of a query in titles and messages; deleted and temporary chats are not searched.

        Args:
            query: Words, in any form; what is odd in it is no error.
            limit: How many.
            cursor: The `cursor` of the page before.
            since: Only what was said since then.

        Raises:
            ValueError: `limit` is less than 1.
        """
        expect_count("limit", limit)
        from lembas_core.store.search import search

        hits = await self._store.read(
            lambda c: search(c, self._person.id, query, limit=limit + 1, after=cursor, since=since)
        )
        more = len(hits) > limit
        return Page(tuple(hits[:limit]), hits[limit - 1].cursor if more else None)

    async def export(self, chat_id: str, format: Literal["markdown", "json"] = "markdown") -> str:
        """A chat as text: Markdown of the conversation, or JSON that holds every version as well."""

        def read(c: Connection) -> str:
            row = reading.chat_row(c, self._person.id, chat_id)
            path = reading.conversation(c, row)
            if format == "markdown":
                return chat_markdown(chat_of(row), path)
            return _written(chat_document(chat_of(row), path, reading.off_the_path(c, row, path)))

        return await self._store.read(read)

    async def export_exchange(self, reply_id: str) -> str:
        """A reply and the turn it answers, in the JSON of `export`; the rest of the chat is not read.

        Raises:
            NotFound: There is no such reply.
        """

        def read(c: Connection) -> str:
            pair = reading.exchange(c, self._person.id, reply_id)
            return _written(
                chat_document(chat_of(reading.chat_row(c, self._person.id, pair[-1].chat_id)), pair)
            )

        return await self._store.read(read)


def _written(document: dict[str, Any]) -> str:
    return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode() + "\n"


async def sweep_temporary_chats(store: Store, clock: Clock) -> int:
    """Delete everybody's temporary chats a day after their last activity; how many. Asked at start-up."""
    at = clock.now()
    # Nothing is written when nothing is old, as at nearly every start.
    if not await store.read(lambda c: writing.has_old_temporary(c, at)):
        return 0
    return await store.write(lambda c: writing.sweep_temporary(c, at))
