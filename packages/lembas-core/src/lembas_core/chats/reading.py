"""Questions to the database about one person's chats. Somebody else's are not found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, bindparam, literal, or_, select, tuple_

from lembas_core.chats.rows import chat_of, message_of
from lembas_core.chats.values import ChatInfo, MessageInfo, Page
from lembas_core.errors import Invalid, NotFound
from lembas_core.store import tree
from lembas_core.store.tables import chats, messages

__all__ = (
    "chat_page",
    "chat_row",
    "conversation",
    "exchange",
    "find_chat",
    "message_row",
    "no_such_chat",
    "off_the_path",
    "running",
    "version_list",
)

_SHORTEST: Final = 6
_ID: Final = re.compile(r"[0-9a-f-]{6,36}\Z")
_TOO_SHORT: Final = re.compile(r"[0-9a-f-]{0,5}\Z")
_MANY: Final = 500


# Whose chats are seen is decided here and nowhere else.
_THEIRS: Final = (chats.c.person_id == bindparam("person_id")) & chats.c.deleted_at.is_(None)
# Made once: building a statement costs more than running it.
_CHAT: Final = select(chats).where(_THEIRS, chats.c.id == bindparam("chat_id"))
_CHAT_LOCKED: Final = _CHAT.with_for_update()
_MESSAGE: Final = (
    select(messages)
    .join(chats, chats.c.id == messages.c.chat_id)
    .where(_THEIRS, messages.c.id == bindparam("message_id"))
)


def no_such_chat() -> NotFound:
    """The error for a chat that is not there, is deleted, or is somebody else's."""
    return NotFound("There is no such chat.")


def chat_row(c: Connection, person_id: str, chat_id: str, *, lock: bool = False) -> Row[Any]:
    """The row of a person's chat; `lock` keeps other transactions from changing it meanwhile."""
    wanted = {"person_id": person_id, "chat_id": chat_id}
    row = c.execute(_CHAT_LOCKED if lock else _CHAT, wanted).one_or_none()
    if row is None:
        raise no_such_chat()
    return row


def message_row(c: Connection, person_id: str, message_id: str) -> Row[Any]:
    """The row of a message in one of a person's chats."""
    row = c.execute(_MESSAGE, {"person_id": person_id, "message_id": message_id}).one_or_none()
    if row is None:
        raise NotFound("There is no such message.")
    return row


def find_chat(c: Connection, person_id: str, given: str) -> ChatInfo:
    """A chat by its id, or by at least six characters of its beginning or end.

    Raises:
        NotFound: No chat of this person's has it.
        Invalid: Several have it.
    """
    part = given.strip().lower()
    if _TOO_SHORT.match(part):
        raise NotFound("There is no such chat: at least six characters of an id are needed.")
    if not _ID.match(part):
        raise no_such_chat()
    fits = or_(chats.c.id.startswith(part), chats.c.id.endswith(part))
    rows = c.execute(select(chats).where(_THEIRS, fits).limit(2), {"person_id": person_id}).all()
    if not rows:
        raise no_such_chat()
    if len(rows) > 1:
        raise Invalid(f"Several chats begin or end with {given!r}; give more of the id.")
    return chat_of(rows[0])


def chat_page(
    c: Connection, person_id: str, *, limit: int, cursor: str | None, archived: bool, origin: str | None
) -> Page[ChatInfo]:
    """A person's chats by last activity, the latest first; temporary ones are never listed."""
    shown = select(chats).where(_THEIRS, ~chats.c.temporary, chats.c.archived.is_(archived))
    if origin is not None:
        shown = shown.where(chats.c.origin == origin)
    if cursor is not None:
        shown = shown.where(_before(cursor))
    shown = shown.order_by(chats.c.updated_at.desc(), chats.c.id.desc()).limit(limit + 1)
    rows = c.execute(shown, {"person_id": person_id}).all()
    more = len(rows) > limit
    last = rows[limit - 1] if more else None
    return Page(
        tuple(chat_of(row) for row in rows[:limit]),
        f"{last.updated_at.isoformat()}_{last.id}" if last is not None else None,
    )


def _before(cursor: str) -> ColumnElement[bool]:
    moment, _, chat_id = cursor.rpartition("_")
    try:
        at = datetime.fromisoformat(moment)
    except ValueError:
        raise Invalid("This is not a place in the list of chats.") from None
    if at.tzinfo is None:
        raise Invalid("This is not a place in the list of chats.")
    return tuple_(chats.c.updated_at, chats.c.id) < tuple_(literal(at, chats.c.updated_at.type), chat_id)


def conversation(
    c: Connection, chat: Row[Any], *, limit: int | None = None, before: str | None = None
) -> list[MessageInfo]:
    """The current path of a chat, oldest first; with `limit` its end, `before` a message of the chat."""
    end = chat.head_id
    if before is not None:
        above = select(messages.c.parent_id).where(messages.c.id == before, messages.c.chat_id == chat.id)
        found = c.execute(above).one_or_none()
        if found is None:
            raise NotFound("There is no such message.")
        end = found.parent_id
    return _with_versions(c, chat.id, tree.path(c, end, limit=limit))


def exchange(c: Connection, person_id: str, reply_id: str) -> list[MessageInfo]:
    """The turn that a reply answers, and the reply."""
    reply = message_row(c, person_id, reply_id)
    return [message_of(row) for row in tree.path(c, reply.id, limit=2)]


def off_the_path(c: Connection, chat: Row[Any], path: Iterable[MessageInfo]) -> list[MessageInfo]:
    """The messages of a chat that are not on its current path, oldest first."""
    on = {message.id for message in path}
    wanted = select(messages).where(messages.c.chat_id == chat.id).order_by(messages.c.number)
    return _with_versions(c, chat.id, [row for row in c.execute(wanted) if row.id not in on])


def running(c: Connection, chat_id: str) -> list[str]:
    """The replies of a chat that run, shown or not."""
    wanted = select(messages.c.id).where(messages.c.chat_id == chat_id, messages.c.status == "running")
    return [*c.scalars(wanted)]


def version_list(c: Connection, row: Row[Any]) -> list[MessageInfo]:
    """All versions of a message, oldest first."""
    ids = tree.siblings(c, row.id)
    rows = c.execute(select(messages).where(messages.c.id.in_(ids)).order_by(messages.c.number)).all()
    return [message_of(row, at, len(rows)) for at, row in enumerate(rows, 1)]


def _with_versions(c: Connection, chat_id: str, rows: Sequence[Row[Any]]) -> list[MessageInfo]:
    versions: dict[str | None, list[str]] = {}
    for row in _children(c, chat_id, rows):
        versions.setdefault(row.parent_id, []).append(row.id)
    return [
        message_of(row, versions[row.parent_id].index(row.id) + 1, len(versions[row.parent_id]))
        for row in rows
    ]


def _children(c: Connection, chat_id: str, rows: Sequence[Row[Any]]) -> Iterable[Row[str, str | None]]:
    """Every message that shares its parent with one of `rows`, oldest first."""
    wanted = select(messages.c.id, messages.c.parent_id).order_by(messages.c.number)
    parents = {row.parent_id for row in rows}
    if len(parents) > _MANY:
        return c.execute(wanted.where(messages.c.chat_id == chat_id)).all()
    siblings = messages.c.parent_id.in_(parents - {None})
    if None in parents:
        siblings |= messages.c.id.in_(tree.siblings(c, next(row.id for row in rows if row.parent_id is None)))
    return c.execute(wanted.where(siblings)).all()
