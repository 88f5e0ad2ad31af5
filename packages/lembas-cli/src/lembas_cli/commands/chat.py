"""`lembas chat`: a conversation."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click

from lembas_cli.conversing import Setup, chat_options, opened_chat
from lembas_cli.session import Session, pass_session

if TYPE_CHECKING:
    from lembas_core.sync import Lembas

    from lembas_cli.talk import Talk

__all__ = ("chat",)


@click.command()
@chat_options
@click.option("--raw", is_flag=True, help="Print Markdown as it is.")
@click.option("--show-reasoning", "thoughts", is_flag=True, help="Print the model's thinking on stderr.")
@pass_session
def chat(session: Session, raw: bool, thoughts: bool, **given: Any) -> int:
    """Talk with a model. /help lists what can be done within; Ctrl-D leaves.

    When lines are piped in, each is a turn.
    """
    from lembas_cli.lines import Lines
    from lembas_cli.talk import Talk

    setup = Setup(**{field.name: given[field.name] for field in fields(Setup)})
    lines = Lines(session.config().state_dir / "history")
    with session.lembas() as lembas:
        opened = opened_chat(lembas, setup, session.out, titled=True)
        talk = Talk(session.out, lembas, opened, setup, lines, thoughts=thoughts, raw=raw)
        if lines.typed:
            _welcome(session, lembas, setup, talk)
        code = talk.run()
        if lines.typed:
            _farewell(session, lembas, talk.chat.id)
    return code


def _welcome(session: Session, lembas: Lembas, setup: Setup, talk: Talk) -> None:
    if setup.continues:
        talk.show_last()
    elif not setup.url:
        # Asked before the first word is typed: without any model there is nobody to talk with.
        session.out.note(f"Talking with {lembas.models.resolve(setup.model).ref}.")
    session.out.note("/help lists the commands, Ctrl-D leaves.")


def _farewell(session: Session, lembas: Lembas, chat_id: str | None) -> None:
    from lembas_cli.clean import short

    if chat_id is not None:
        info = lembas.chats.get(chat_id)
        session.out.note(f"Kept: {info.title}\n  lembas chat --chat {short(info.id)}")
