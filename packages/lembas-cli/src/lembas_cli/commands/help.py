"""`lembas help`: what the commands promise to programs."""

from __future__ import annotations

from typing import Final

import click

from lembas_cli.session import Session, pass_session

__all__ = ("help_topics",)

_MEANINGS: Final = {
    0: "Done.",
    1: "Something unexpected; the database; a damaged answer.",
    2: "The command was not used right, or what was asked for cannot be done as asked.",
    3: "The endpoint could not be reached, fell silent, or the time was up.",
    4: "The key is missing, wrong or not allowed.",
    5: "Too many requests.",
    6: "Too large for the model's context window.",
    7: "No such model, chat, connection, setting or tool.",
    8: "A question was denied or nobody answered it.",
    9: "The answer was ended by a token limit or a content filter.",
    130: "Stopped by Ctrl-C; what had arrived is printed and kept.",
    141: "Whoever read the output went away.",
}


@click.group("help")
def help_topics() -> None:
    """Explain exit codes and the JSON schema; `lembas COMMAND --help` explains a command."""


@help_topics.command("exit-codes")
@pass_session
def exit_codes(session: Session) -> None:
    """List the exit codes and the errors behind them."""
    from lembas_core.errors import EXIT_CODES

    for code, meaning in _MEANINGS.items():
        errors = sorted(cls.__name__ for cls, number in EXIT_CODES.items() if number == code)
        named = f" ({', '.join(errors)})" if errors else ""
        session.out.line(f"{code:>3}  {meaning}{named}")


@help_topics.command("schema")
@pass_session
def schema(session: Session) -> None:
    """Print the JSON Schema of `ask --json`, `chats show --json` and `chats export --format json`."""
    from lembas_core.chats.export import chat_schema

    from lembas_cli.tables import print_json

    print_json(session.out, chat_schema())
