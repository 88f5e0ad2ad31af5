"""A chat's messages as a tree: each knows its parent, the chat knows its head, the conversation is the path.

Every walk follows an index, so it costs what it returns, however long the chat is.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from sqlalchemy import Connection, Integer, Row, Select, bindparam, func, literal, select

from lembas_core.store.tables import messages

__all__ = ("newest_leaf", "path", "siblings", "turns")

_SAID: Final = (messages.c.role, messages.c.text, messages.c.images)


def path(connection: Connection, head_id: str | None, *, limit: int | None = None) -> list[Row[Any]]:
    """The messages from the root to `head_id`, oldest first; with `limit`, the last that many of them."""
    most = -1 if limit is None else limit
    return [*connection.execute(_path(messages), {"head": head_id, "most": most})]


def turns(connection: Connection, head_id: str | None) -> list[Row[Any]]:
    """Role, text and images along `path`: all that a request is made of, at a third of the cost."""
    return [*connection.execute(_path(*_SAID), {"head": head_id, "most": -1})]


def siblings(connection: Connection, message_id: str) -> list[str]:
    """The ids of a message's versions, itself included, oldest first; [] when there is no such message."""
    of = select(messages.c.parent_id, messages.c.chat_id).where(messages.c.id == message_id)
    me = connection.execute(of).one_or_none()
    if me is None:
        return []
    found = select(messages.c.id).order_by(messages.c.number)
    if me.parent_id is None:  # "coalesce" keeps SQLite from walking the first messages of every chat
        found = found.where(messages.c.chat_id == me.chat_id, func.coalesce(messages.c.parent_id, "") == "")
    else:
        found = found.where(messages.c.parent_id == me.parent_id)
    return [*connection.scalars(found)]


def newest_leaf(connection: Connection, message_id: str) -> str:
    """The end of the path that runs on from a message: the newest child, its newest child, and so on."""
    return connection.scalars(_newest(), {"id": message_id}).first() or message_id


@cache  # made once, and not before it is wanted
def _path(*columns: Any) -> Select[*tuple[Any, ...]]:
    up = select(messages.c.id, messages.c.parent_id, literal(0, Integer).label("depth"))
    walk = up.where(messages.c.id == bindparam("head")).cte("walk", recursive=True)
    above = select(messages.c.id, messages.c.parent_id, walk.c.depth + 1)
    most = bindparam("most", type_=Integer)
    above = above.join(walk, messages.c.id == walk.c.parent_id).where((most < 0) | (walk.c.depth + 1 < most))
    walk = walk.union_all(above)
    found = select(*columns).join(walk, messages.c.id == walk.c.id)
    return found.where(most != 0).order_by(walk.c.depth.desc())


@cache
def _newest() -> Select[str]:
    child, other = messages.alias("child"), messages.alias("other")
    start = select(messages.c.id, literal(0, Integer).label("depth")).where(messages.c.id == bindparam("id"))
    walk = start.cte("walk", recursive=True)
    newer = select(other.c.id).where(other.c.parent_id == walk.c.id, other.c.number > child.c.number)
    below = select(child.c.id, walk.c.depth + 1).join(walk, child.c.parent_id == walk.c.id)
    walk = walk.union_all(below.where(~newer.exists()))
    return select(walk.c.id).order_by(walk.c.depth.desc()).limit(1)
