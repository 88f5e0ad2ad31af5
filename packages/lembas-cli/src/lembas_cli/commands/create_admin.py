"""`lembas create-admin`: an account that may do everything."""

from __future__ import annotations

import click

from lembas_cli.session import Session, pass_session

__all__ = ("create_admin",)


@click.command("create-admin")
@click.argument("name")
@click.option("--password-stdin", is_flag=True, help="Read the password from stdin.")
@pass_session
def create_admin(session: Session, name: str, password_stdin: bool) -> None:
    """Make an administrator's account; the first one owns the chats made so far."""
    password = _password(session, piped=password_stdin)
    with session.lembas() as lembas:
        person = lembas.people.create_admin(name, password)
    owns = " and owns the chats made on this machine" if person.is_owner else ""
    session.out.note(f"{person.display_name} is an administrator{owns}.")


def _password(session: Session, *, piped: bool) -> str:
    from lembas_core.errors import Invalid

    from lembas_cli import keys

    if piped:
        return keys.from_stdin("password")
    first = keys.typed(session.out, "Password: ", instead="--password-stdin")
    if first != keys.typed(session.out, "Again: ", instead="--password-stdin"):
        raise Invalid("The two passwords differ.")
    return first
