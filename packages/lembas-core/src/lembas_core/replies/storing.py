"""The statements of a reply that runs: each names its generation, so that a predecessor writes nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, bindparam, select, update

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
    "gone",
    "interrupt_if_gone",
    "leave_answer",
    "leave_stop",
    "mailboxes",
    "sweep",
)

# What is set is named by the parameters. Made once: building a statement costs more than running it.
_OF = update(messages).where(
    messages.c.id == bindparam("of_id"), messages.c.generation == bindparam("of_generation")
)
_OURS = _OF.where(messages.c.owner == bindparam("of_owner"))
_RUNNING = _OF.where(messages.c.status == "running")
_CHAT_OF = update(chats).where(
    chats.c.id == select(messages.c.chat_id).where(messages.c.id == bindparam("of_id")).scalar_subquery()
)


def checkpoint(
    c: Connection, views: Mapping[tuple[str, str], ReplyView | None], owner: str, at: datetime
) -> None:
    """Write what replies of `owner` hold so far; without a view only that they still run.

    A row that was taken for dead is claimed back as long as nobody has begun it anew.
    """
    lives = {"of_owner": owner, "status": "running", "checkpoint_at": at}
    rows = {key: {"of_id": key[0], "of_generation": key[1], **lives} for key in views}
    written = [rows[key] | columns_of(view) for key, view in views.items() if view is not None]
    silent = [rows[key] for key, view in views.items() if view is None]
    for together in (written, silent):
        if together:
            c.execute(_OURS, together)


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
    values = {
        "of_id": message_id,
        "of_generation": generation,
        "checkpoint_at": at,
        "owner": None,
        "inbox": None,
        "status": view.outcome,
        "finish": view.finish,
        "error": view.error,
        "error_kind": kind,
    }
    if not c.execute(_OF, values | columns_of(view)).rowcount:
        return False
    seen = {"unread": True} if unread else {}
    c.execute(_CHAT_OF, {"of_id": message_id, "updated_at": at, **seen})
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


def gone(c: Connection, at: datetime) -> list[str]:
    """The running replies whose process is gone."""
    seen = select(messages.c.id, messages.c.owner, messages.c.checkpoint_at)
    running = c.execute(seen.where(messages.c.status == "running")).all()
    return [row.id for row in running if is_gone(row.owner, row.checkpoint_at, at)]


def sweep(c: Connection, message_ids: Collection[str], at: datetime) -> list[str]:
    """End those of the replies that are still gone as interrupted; their ids."""
    still = select(messages).where(messages.c.id.in_(message_ids), messages.c.status == "running")
    return [row.id for row in c.execute(still).all() if interrupt_if_gone(c, row, at)]


def interrupt_if_gone(c: Connection, row: Row[Any], at: datetime) -> bool:
    """End a running reply as interrupted when its process is gone."""
    if not is_gone(row.owner, row.checkpoint_at, at):
        return False
    view = cut_short(view_of(row), "interrupted")
    values = {
        "of_id": row.id,
        "of_generation": row.generation,
        "status": "interrupted",
        "finish": view.finish,
    }
    return bool(c.execute(_RUNNING, values | columns_of(view)).rowcount)


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
