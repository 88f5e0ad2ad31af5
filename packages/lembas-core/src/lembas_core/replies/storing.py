"""The statements of a reply that runs: each names its generation, so that a predecessor writes nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Update, select, update

from lembas_core.engine.blocks import ToolBlock
from lembas_core.engine.events import Outcome
from lembas_core.engine.state import ReplyView
from lembas_core.replies.mail import STOP
from lembas_core.replies.owner import is_gone
from lembas_core.replies.rows import columns_of, view_of
from lembas_core.store.tables import chats, messages

__all__ = (
    "checkpoint",
    "conclude",
    "cut_short",
    "interrupt_if_gone",
    "leave_answer",
    "leave_stop",
    "mailboxes",
    "sweep",
)


def checkpoint(
    c: Connection, views: Mapping[tuple[str, str], ReplyView | None], owner: str, at: datetime
) -> None:
    """Write what replies of `owner` hold so far; without a view only that they still run.

    A row that was taken for dead is claimed back as long as nobody has begun it anew.
    """
    for (message_id, generation), view in views.items():
        columns = {} if view is None else columns_of(view)
        ours = _of(message_id, generation).where(messages.c.owner == owner)
        c.execute(ours.values(status="running", checkpoint_at=at, **columns))


def conclude(
    c: Connection, message_id: str, generation: str, view: ReplyView, kind: str, at: datetime, *, unread: bool
) -> bool:
    """Write how a reply ended and that its chat was active; False when the reply is another's by now.

    Args:
        c: The transaction.
        message_id: The reply.
        generation: Which run of it.
        view: The reply with its outcome.
        kind: The class of its error, "" without one.
        at: The moment.
        unread: Whether nobody was there to see it.
    """
    ending = {"status": view.outcome, "finish": view.finish, "error": view.error, "error_kind": kind}
    ours = _of(message_id, generation).values(
        checkpoint_at=at, owner=None, inbox=None, **ending, **columns_of(view)
    )
    if not c.execute(ours).rowcount:
        return False
    chat_id = select(messages.c.chat_id).where(messages.c.id == message_id).scalar_subquery()
    seen = {"unread": True} if unread else {}
    c.execute(update(chats).where(chats.c.id == chat_id).values(updated_at=at, **seen))
    return True


def mailboxes(c: Connection, message_ids: Collection[str]) -> dict[str, tuple[str | None, Any]]:
    """For each reply its generation and what another process left for it."""
    wanted = select(messages.c.id, messages.c.generation, messages.c.inbox).where(
        messages.c.id.in_(message_ids)
    )
    return {row.id: (row.generation, row.inbox) for row in c.execute(wanted)}


def leave_stop(c: Connection, message_id: str) -> bool:
    """Ask the process that runs the reply to stop it; False when it does not run."""
    running = (messages.c.id == message_id, messages.c.status == "running")
    return bool(c.execute(update(messages).where(*running).values(inbox=dict(STOP))).rowcount)


def leave_answer(c: Connection, message_id: str, mail: Mapping[str, Any]) -> bool:
    """Leave an answer for the process that asked; False when the question does not wait or has an answer."""
    running = (messages.c.id == message_id, messages.c.status == "running")
    wanted = select(messages.c.question, messages.c.inbox).where(*running).with_for_update()
    row = c.execute(wanted).one_or_none()
    if row is None or not row.question or row.question["id"] != mail["question_id"]:
        return False
    if row.inbox and row.inbox.get("question_id") in (None, mail["question_id"]):
        return False  # a stop, or an answer that came first
    c.execute(update(messages).where(messages.c.id == message_id).values(inbox=mail))
    return True


def sweep(c: Connection, at: datetime, *, but: Collection[str] = ()) -> list[str]:
    """End the replies whose process is gone as interrupted; their ids.

    Args:
        c: The transaction.
        at: The moment.
        but: Replies known to run.
    """
    running = c.execute(select(messages).where(messages.c.status == "running")).all()
    return [row.id for row in running if row.id not in but and interrupt_if_gone(c, row, at)]


def interrupt_if_gone(c: Connection, row: Row[Any], at: datetime) -> bool:
    """End a running reply as interrupted when its process is gone."""
    if not is_gone(row.owner, row.checkpoint_at, at):
        return False
    view = cut_short(view_of(row), "interrupted")
    ended = _of(row.id, row.generation).where(messages.c.status == "running")
    values = {"status": "interrupted", "finish": view.finish, **columns_of(view)}
    return bool(c.execute(ended.values(**values)).rowcount)


def cut_short(view: ReplyView, outcome: Outcome) -> ReplyView:
    """A reply that ended before it was over: nothing in it goes on any more."""
    said = "Stopped." if outcome == "stopped" else "Interrupted."
    blocks = tuple(
        replace(block, result=said, is_error=True)
        if isinstance(block, ToolBlock) and block.result is None
        else block
        for block in view.blocks
    )
    return replace(view, blocks=blocks, status="", question=None, outcome=outcome, finish="incomplete")


def _of(message_id: str, generation: str | None) -> Update:
    return update(messages).where(messages.c.id == message_id, messages.c.generation == generation)
