"""`lembas ask`: one reply."""

from __future__ import annotations

import json
import sys
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click
from lembas_core.frozen import frozen

from lembas_cli.conversing import Setup, chat_options, opened_chat
from lembas_cli.session import Session, pass_session

if TYPE_CHECKING:
    from lembas_core.endpoints.values import Parameters
    from lembas_core.engine.reply import Reply
    from lembas_core.sync import Chat, Lembas

    from lembas_cli.out import Out
    from lembas_cli.screens import Screen
    from lembas_cli.watching import Ending

__all__ = ("ask",)


@frozen(kw_only=True)
class _Printing:
    """The options that say what is printed of the reply."""

    schema: str | None
    extract: bool
    as_json: bool
    as_events: bool
    answers: str | None
    raw: bool
    stream: bool
    thoughts: bool
    usage: bool
    seconds: float | None
    only_request: bool

    def __post_init__(self) -> None:
        shapes = (self.as_json, self.as_events, self.extract, self.only_request)
        if sum(shapes) > 1 and shapes != (True, False, False, True):
            raise click.UsageError("Give one of --json, --jsonl, --extract and --show-request.")
        if self.answers and not self.as_events:
            raise click.UsageError("--answers belongs to --jsonl.")

    def parameters(self) -> Parameters | None:
        """What only this turn asks for; the next turn of the chat is free again."""
        if self.schema is None:
            return None
        from lembas_core.endpoints.values import Parameters

        from lembas_cli.parameters import schema_from

        return Parameters(schema=schema_from(self.schema))

    def screen(self, out: Out) -> Screen:
        """What draws the reply."""
        from lembas_cli import screens

        if self.as_events:
            return screens.JsonLines(out)
        if self.as_json or self.extract:
            return screens.Silent(out, thoughts=self.thoughts)
        if out.draws and not self.raw and not self.schema:
            return screens.Live(out, thoughts=self.thoughts, stream=self.stream)
        return screens.Plain(out, thoughts=self.thoughts, stream=self.stream)


@click.command()
@click.argument("words", nargs=-1, metavar="[PROMPT]...")
@chat_options
@click.option("--schema", metavar="FILE|FIELDS", help="The answer is JSON of this schema: `name, age int`.")
@click.option("-x", "--extract", is_flag=True, help="Print only the first fenced block.")
@click.option("--json", "as_json", is_flag=True, help="Print the exchange as `chats show --json` does.")
@click.option("--jsonl", "as_events", is_flag=True, help="Print every event as a line of JSON.")
@click.option(
    "--answers", type=click.Choice(["-"]), help="With --jsonl: read answers to questions from stdin."
)
@click.option("--raw", is_flag=True, help="Print Markdown as it is, on a terminal too.")
@click.option("--stream/--no-stream", default=True, help="Print while it arrives, or when it is whole.")
@click.option("--no-stdin", is_flag=True, help="Leave what is piped in unread.")
@click.option("--show-reasoning", "thoughts", is_flag=True, help="Print the model's thinking on stderr.")
@click.option("-u", "--usage", is_flag=True, help="Print tokens and times on stderr.")
@click.option(
    "--timeout", "seconds", type=click.FloatRange(min=0), metavar="SECONDS", help="Stop after this."
)
@click.option("--show-request", "only_request", is_flag=True, help="Print what would be sent; send nothing.")
@pass_session
def ask(session: Session, words: tuple[str, ...], no_stdin: bool, **given: Any) -> int:
    """Ask once and print the answer.

    What is piped in is read along with the prompt; `-` as the prompt reads stdin whatever it is.
    """
    setup = Setup(**{field.name: given[field.name] for field in fields(Setup)})
    printing = _Printing(**{field.name: given[field.name] for field in fields(_Printing)})
    from lembas_core.errors import LembasError

    try:
        turn = _turn(session.out, words, unread=no_stdin or printing.answers is not None)
        with session.lembas() as lembas:
            chat = opened_chat(lembas, setup, session.out, titled=False)
            if printing.only_request:
                return _show_request(session.out, chat, turn, printing)
            return _replied(session.out, lembas, chat, turn, setup, printing)
    except LembasError as error:
        if printing.as_events:
            _finish_events(session.out, error)
        raise


def _turn(out: Out, words: tuple[str, ...], *, unread: bool) -> str:
    """What is asked, from arguments and stdin."""
    from lembas_core.errors import Invalid

    from lembas_cli.piped import question_with, read_piped, read_stdin

    question = " ".join(words)
    if question == "-":
        turn = read_stdin(out).strip("\n")
    else:
        turn = question_with(question, None if unread else read_piped(out, asked=bool(words)))
    if not turn.strip():
        raise Invalid("There is nothing to ask: write a prompt or pipe one in.")
    return turn


def _replied(out: Out, lembas: Lembas, chat: Chat, turn: str, setup: Setup, printing: _Printing) -> int:
    from lembas_cli.asking import Asker
    from lembas_cli.interrupts import Interrupts
    from lembas_cli.watching import watch

    interrupts = Interrupts()
    asker = Asker(out, setup.approve, interrupts, answers=printing.answers is not None)
    screen = printing.screen(out)
    try:
        with chat.reply(turn, parameters=printing.parameters()) as reply:
            ending = watch(reply, screen, asker, interrupts, printing.seconds)
    finally:
        screen.close()
    _print_whole(out, lembas, reply.reply, printing)
    return _told(out, ending, reply.reply, printing)


def _print_whole(out: Out, lembas: Lembas, reply: Reply, printing: _Printing) -> None:
    """Print what can only be printed when the reply has ended."""
    if printing.as_json and reply.message_id:
        out.answer(lembas.chats.export_exchange(reply.message_id))
    if printing.extract:
        from lembas_cli.extracting import first_block

        block = first_block(reply.text)
        if block is None:
            out.note("There is no fenced block in the answer; this is all of it.")
        out.answer(block if block is not None else reply.text.rstrip("\n") + "\n")


def _told(out: Out, ending: Ending, reply: Reply, printing: _Printing) -> int:
    ending.tell(out)
    if printing.usage:
        from lembas_cli.telling import usage

        out.note(usage(ending.finished.metrics))
    if ending.exit_code == 0 and printing.schema and not _is_json(reply.text):
        out.error("The answer is not the JSON that was asked for.")
        return 1
    return ending.exit_code


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _show_request(out: Out, chat: Chat, turn: str, printing: _Printing) -> int:
    from lembas_cli.requests import request_as_json, request_as_text

    request = chat.request(turn, parameters=printing.parameters())
    out.line(request_as_json(request) if printing.as_json else request_as_text(request))
    return 0


def _finish_events(out: Out, error: Exception) -> None:
    """End the events of a reply that never began, so that a reader always sees one `finished`."""
    from lembas_core.engine.events import Finished, Metrics
    from lembas_core.errors import LembasError

    from lembas_cli.wire import event_line

    assert isinstance(error, LembasError)
    out.answer(event_line(Finished(1, "error", "error", Metrics(), error)))
    sys.stdout.flush()
