"""What changes a person's chats: each a function of one transaction.

Nothing here costs more in a long chat than in a short one, but for a fork, which copies what it takes along.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, Select, bindparam, delete, insert, select, update

from lembas_core.chats.reading import chat_row, message_row
from lembas_core.errors import Conflict, Invalid, NotFound
from lembas_core.ids import new_id
from lembas_core.replies.storing import interrupt_if_gone
from lembas_core.store import tree
from lembas_core.store.rows import add
from lembas_core.store.tables import chats, messages

if TYPE_CHECKING:
    from lembas_core.chats.ports import Person

__all__ = (
    "Begun",
    "add_reply",
    "add_turn",
    "begin_again",
    "begin_chat",
    "change_chat",
    "delete_chats",
    "delete_version",
    "fork",
    "give_title",
    "has_old_temporary",
    "parent_of_turn",
    "reply_row",
    "show",
    "sweep_temporary",
)

TEMPORARY_FOR: Final = timedelta(days=1)
_COPIED: Final = tuple(
    column.name for column in messages.c if column.name not in ("number", "id", "chat_id", "parent_id")
)

# Made once: building a statement costs more than running it.
_CHANGE_CHAT: Final = update(chats).where(chats.c.id == bindparam("of_id"))
_MESSAGE: Final = select(messages).where(messages.c.id == bindparam("message_id"))


class Begun(NamedTuple):
    """A reply that is about to run: its message, which run of it, by whom, with which model."""

    message_id: str
    generation: str
    owner: str
    model: str
    at: datetime

    @property
    def columns(self) -> dict[str, Any]:
        """Its row while it runs."""
        return {
            "model": self.model,
            "status": "running",
            "finish": "",
            "error": "",
            "error_kind": "",
            "generation": self.generation,
            "owner": self.owner,
            "checkpoint_at": self.at,
            "inbox": None,
        }


def begin_chat(
    c: Connection, person: Person, chat: Mapping[str, Any], turn: Mapping[str, Any], begun: Begun
) -> None:
    """Make a chat with its first turn and the reply to it."""
    person.ensure(c)
    fresh = {"head_id": begun.message_id, "created_at": begun.at, "updated_at": begun.at}
    add(c, chats, {**chat, **fresh})
    _insert_turn(c, chat["id"], None, turn, begun)


def add_turn(
    c: Connection,
    person_id: str,
    chat_id: str,
    turn: Mapping[str, Any],
    begun: Begun,
    *,
    instead_of: str | None,
) -> None:
    """Add a turn and the reply to it at the end of the chat, or as a version of an earlier turn.

    Raises:
        NotFound: There is no such chat or turn.
        Invalid: `instead_of` is a reply.
        Conflict: The chat's reply is still being written.
    """
    chat = chat_row(c, person_id, chat_id, lock=True)
    parent = chat.head_id if instead_of is None else parent_of_turn(c, chat_id, instead_of)
    _require_over(c, chat.head_id, begun.at)
    _insert_turn(c, chat_id, parent, turn, begun)
    _move(c, chat_id, begun)


def parent_of_turn(c: Connection, chat_id: str, message_id: str) -> str | None:
    """Where a turn that is said differently hangs.

    Raises:
        NotFound: There is no such turn in the chat.
        Invalid: It is a reply.
    """
    wanted = select(messages).where(messages.c.id == message_id, messages.c.chat_id == chat_id)
    row = c.execute(wanted).one_or_none()
    if row is None:
        raise NotFound("There is no such message.")
    if row.role != "user":
        raise Invalid("Only a turn of your own can be said differently; a reply can be regenerated.")
    return row.parent_id


def _require_over(c: Connection, message_id: str | None, at: datetime) -> None:
    row = c.execute(_MESSAGE, {"message_id": message_id}).one_or_none()
    if row is not None and row.status == "running" and not interrupt_if_gone(c, row, at):
        raise _still_writing()


def _still_writing() -> Conflict:
    return Conflict("The reply in this chat is still being written; wait for it or stop it.")


def _insert_turn(
    c: Connection, chat_id: str, parent_id: str | None, turn: Mapping[str, Any], begun: Begun
) -> None:
    user = {"chat_id": chat_id, "parent_id": parent_id, "role": "user", "created_at": begun.at}
    add(c, messages, {**turn, **user})
    _insert_reply(c, chat_id, turn["id"], begun)


def _insert_reply(c: Connection, chat_id: str, parent_id: str, begun: Begun) -> None:
    reply = {"id": begun.message_id, "chat_id": chat_id, "parent_id": parent_id, "role": "assistant"}
    add(c, messages, {**reply, "created_at": begun.at, **begun.columns})


def _move(c: Connection, chat_id: str, begun: Begun) -> None:
    c.execute(_CHANGE_CHAT, {"of_id": chat_id, "head_id": begun.message_id, "updated_at": begun.at})


def add_reply(c: Connection, person_id: str, reply_id: str, begun: Begun) -> None:
    """Add another reply to the turn that `reply_id` answers.

    Raises:
        NotFound: There is no such reply.
        Invalid: It is a turn of the person's.
        Conflict: The chat's reply is still being written.
    """
    row = reply_row(c, person_id, reply_id)
    chat = chat_row(c, person_id, row.chat_id, lock=True)
    _require_over(c, chat.head_id, begun.at)
    _insert_reply(c, row.chat_id, row.parent_id, begun)
    _move(c, row.chat_id, begun)


def reply_row(c: Connection, person_id: str, reply_id: str) -> Row[Any]:
    """The row of a reply.

    Raises:
        NotFound: There is no such reply.
        Invalid: It is a turn of the person's.
    """
    row = message_row(c, person_id, reply_id)
    if row.role != "assistant":
        raise Invalid("This is not a reply but a turn of your own.")
    return row


def begin_again(c: Connection, person_id: str, row: Row[Any], begun: Begun) -> None:
    """Let a reply that was cut off run on, as `row` holds it.

    Raises:
        Invalid: It is complete, or the conversation has gone on after it.
        Conflict: It was begun again elsewhere meanwhile, or another reply of the chat is being written.
    """
    if row.status == "done" and row.finish not in ("length", "incomplete", "timeout"):
        raise Invalid("This reply is complete; there is nothing to continue.")
    if c.execute(select(messages.c.id).where(messages.c.parent_id == row.id).limit(1)).one_or_none():
        raise Invalid("The conversation has gone on after this reply; only its end can be continued.")
    chat = chat_row(c, person_id, row.chat_id, lock=True)
    if chat.head_id != row.id:
        _require_over(c, chat.head_id, begun.at)
    as_read = (
        messages.c.id == row.id,
        messages.c.generation == row.generation,
        messages.c.status == row.status,
    )
    if not c.execute(update(messages).where(*as_read).values(begun.columns)).rowcount:
        raise Conflict("This reply is being continued already.")
    _move(c, row.chat_id, begun)


def show(c: Connection, person_id: str, message_id: str) -> None:
    """Make a message part of the current path, which goes on from it as it last did."""
    row = message_row(c, person_id, message_id)
    head = tree.newest_leaf(c, message_id)
    c.execute(_CHANGE_CHAT, {"of_id": row.chat_id, "head_id": head})


def delete_version(c: Connection, person_id: str, message_id: str) -> None:
    """Delete a message that has other versions, and what was said after it.

    Raises:
        Invalid: It is the only version.
        Conflict: A reply in it is still being written.
    """
    row = message_row(c, person_id, message_id)
    chat = chat_row(c, person_id, row.chat_id, lock=True)
    others = [other for other in tree.siblings(c, message_id) if other != message_id]
    if not others:
        raise Invalid("This is the only version; delete the chat to be rid of it.")
    doomed = _below(message_id)
    lost = c.execute(select(messages.c.id, messages.c.status).where(messages.c.id.in_(doomed))).all()
    if any(message.status == "running" for message in lost):
        raise _still_writing()
    if any(message.id == chat.head_id for message in lost):
        head = tree.newest_leaf(c, others[-1])
        c.execute(_CHANGE_CHAT, {"of_id": chat.id, "head_id": head})
    c.execute(delete(messages).where(messages.c.id.in_(doomed)))


def _below(message_id: str) -> Select[str]:
    """A message and everything after it."""
    below = select(messages.c.id).where(messages.c.id == message_id).cte("below", recursive=True)
    child = messages.alias("child")
    below = below.union_all(select(child.c.id).join(below, child.c.parent_id == below.c.id))
    return select(below.c.id)


def fork(c: Connection, person_id: str, message_id: str, chat_id: str, at: datetime) -> None:
    """Copy the path up to a message into a new chat.

    Raises:
        NotFound: There is no such message.
        Conflict: It is a reply that is still being written.
    """
    row = message_row(c, person_id, message_id)
    if row.status == "running":
        raise _still_writing()
    source = chat_row(c, person_id, row.chat_id)
    path = tree.path(c, message_id)
    ids = [new_id() for _ in path]
    kept = {column.name: getattr(source, column.name) for column in chats.c if column.name != "number"}
    fresh = {"id": chat_id, "head_id": ids[-1], "unread": False, "created_at": at, "updated_at": at}
    c.execute(insert(chats), {**kept, **fresh, "pinned": False, "archived": False})
    copies = [
        {**{name: getattr(old, name) for name in _COPIED}, "id": own, "chat_id": chat_id, "parent_id": parent}
        for old, own, parent in zip(path, ids, [None, *ids], strict=False)
    ]
    c.execute(insert(messages), copies)


def change_chat(c: Connection, person_id: str, chat_id: str, values: Mapping[str, Any]) -> None:
    """Change a chat's own columns; that is no activity."""
    chat_row(c, person_id, chat_id)
    if values:
        c.execute(_CHANGE_CHAT, {"of_id": chat_id, **values})


def give_title(c: Connection, chat_id: str, title: str) -> None:
    """Give a chat a model's title unless a person has named it; that is no activity."""
    unnamed = (chats.c.id == chat_id, chats.c.title_source == "turn")
    c.execute(update(chats).where(*unnamed).values(title=title, title_source="model"))


def delete_chats(c: Connection, person_id: str, chat_ids: Collection[str], at: datetime) -> None:
    """Put chats into the bin; temporary ones leave nothing.

    Raises:
        NotFound: One of them is not there; then none is deleted.
    """
    rows = [chat_row(c, person_id, chat_id) for chat_id in chat_ids]
    kept = [row.id for row in rows if not row.temporary]
    c.execute(update(chats).where(chats.c.id.in_(kept)).values(deleted_at=at))
    c.execute(delete(chats).where(chats.c.id.in_([row.id for row in rows if row.temporary])))


def has_old_temporary(c: Connection, at: datetime) -> bool:
    """Whether anybody has a temporary chat whose last activity is a day ago."""
    return c.execute(select(chats.c.id).where(*_old(at)).limit(1)).one_or_none() is not None


def sweep_temporary(c: Connection, at: datetime) -> int:
    """Delete the temporary chats of everybody whose last activity is a day ago; how many."""
    return c.execute(delete(chats).where(*_old(at))).rowcount


def _old(at: datetime) -> tuple[ColumnElement[bool], ...]:
    return chats.c.temporary.is_(True), chats.c.updated_at < at - TEMPORARY_FOR
