"""`lembas connections`: the servers that models are found on."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, Literal

import click

from lembas_cli.session import Session, pass_session

if TYPE_CHECKING:
    from lembas_core.settings.values import ConnectionInfo
    from lembas_core.sync import Lembas

    from lembas_cli.out import Out

__all__ = ("connections",)

_SHOWN: Final = 10


@click.group()
def connections() -> None:
    """Add, list, test and remove model servers."""


@connections.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_session
def list_connections(session: Session, as_json: bool) -> None:
    """List the connections; keys are masked, no server is asked."""
    from lembas_cli.tables import print_json, print_table

    with session.lembas() as lembas:
        infos = lembas.connections.list()
    if as_json:
        print_json(session.out, [_as_json(info) for info in infos])
        return
    print_table(session.out, [_row(info) for info in infos])
    if not infos:
        session.out.note("No connections. `lembas connections add URL` adds one.")


@connections.command("add")
@click.argument("url")
@click.option("--name", help="What its models are found under; else made from the host.")
@click.option(
    "--kind", type=click.Choice(["auto", "openai", "ollama"]), default="auto", help="What it speaks."
)
@click.option("--key-stdin", is_flag=True, help="Read the key from stdin.")
@click.option("--key-env", metavar="NAME", help="Take the key from this environment variable.")
@click.option("--key-command", metavar="COMMAND", help="Take the key from what this command prints.")
@click.option("--no-key", is_flag=True, help="Do not ask for a key.")
@pass_session
def add_connection(
    session: Session, url: str, name: str | None, kind: Literal["auto", "openai", "ollama"], **keys: Any
) -> int:
    """Add a server by its address, such as http://localhost:11434, and ask it for its models.

    A key is never an argument, where every process could read it: it is typed unseen, or comes with one of
    the --key options. It is stored encrypted.

    A server that does not answer is kept all the same; the exit code then says what is wrong with it.
    """
    from lembas_core.errors import EndpointError, exit_code

    key = _key(session.out, **keys)
    with session.lembas() as lembas:
        info = lembas.connections.add(url, name=name, kind=kind, key=key)
        try:
            _ask(session.out, lembas, info.name)
        except EndpointError as error:
            session.out.error(str(error))
            session.out.note(
                f"{info.name!r} is kept all the same; `lembas connections test {info.name}` tries it again."
            )
            return exit_code(error)
    return 0


@connections.command("test")
@click.argument("name")
@pass_session
def test_connection(session: Session, name: str) -> None:
    """Ask a server for its models and say how that went."""
    with session.lembas() as lembas:
        _ask(session.out, lembas, name)


@connections.command("remove")
@click.argument("name")
@pass_session
def remove_connection(session: Session, name: str) -> None:
    """Forget a server, its key and what was set for its models. Chats stay."""
    with session.lembas() as lembas:
        lembas.connections.remove(name)
    session.out.note(f"Removed {name!r}.")


def _key(
    out: Out, *, key_stdin: bool, key_env: str | None, key_command: str | None, no_key: bool
) -> str | None:
    from lembas_cli import keys

    if sum(map(bool, (key_stdin, key_env, key_command, no_key))) > 1:
        raise click.UsageError("Give one of --key-stdin, --key-env, --key-command and --no-key.")
    if key_stdin:
        return keys.from_stdin("key")
    if key_env:
        return keys.from_environment(key_env)
    if key_command:
        return keys.from_command(key_command)
    if no_key or not out.asks:
        return None
    return keys.typed(out, "Key (Enter for none): ", instead="--key-stdin or --key-env") or None


def _ask(out: Out, lembas: Lembas, name: str) -> None:
    """Ask a server for its models and print them."""
    began = time.monotonic()
    models = lembas.connections.discover(name)
    seconds = time.monotonic() - began
    kind, count = lembas.connections.get(name).found_kind, len(models)
    out.line(f"{name}: {_counted(count)} in {seconds:.1f} s, spoken to as {kind}")
    for model in models[:_SHOWN]:
        out.line(f"  {model.name}")
    if count > _SHOWN:
        out.line(f"  … and {count - _SHOWN} more: `lembas models list --connection {name}`")


def _row(info: ConnectionInfo) -> tuple[str, ...]:
    count = "" if info.model_count is None else _counted(info.model_count)
    state = info.problem or ("" if info.enabled else "switched off")
    return (info.name, info.url, info.found_kind, info.key or "no key", count, state)


def _counted(models: int) -> str:
    return f"{models} model{'' if models == 1 else 's'}"


def _as_json(info: ConnectionInfo) -> dict[str, Any]:
    names = ("name", "url", "kind", "found_kind", "key", "enabled", "model_count", "asked_at", "problem")
    return {name: getattr(info, name) for name in names}
