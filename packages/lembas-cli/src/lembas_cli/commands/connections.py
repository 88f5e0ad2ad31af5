"""`lembas connections`: the servers that models are found on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import click

from lembas_cli.session import Session, pass_session

if TYPE_CHECKING:
    from lembas_core.settings.values import ConnectionInfo, ConnectionTest

    from lembas_cli.out import Out

__all__ = ("connections",)


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
    """
    key = _key(session.out, **keys)
    with session.lembas() as lembas:
        info = lembas.connections.add(url, name=name, kind=kind, key=key)
        test = lembas.connections.test(info.name)
    _tell(session.out, info.name, test)
    if test.problem:
        session.out.note(f"{info.name!r} is kept; `lembas connections test {info.name}` tries it again.")
    return 0


@connections.command("test")
@click.argument("name")
@pass_session
def test_connection(session: Session, name: str) -> int:
    """Ask a server for its models and say how that went."""
    with session.lembas() as lembas:
        lembas.connections.discover(name)
        test = lembas.connections.test(name)
    _tell(session.out, name, test)
    return 0


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


def _tell(out: Out, name: str, test: ConnectionTest) -> None:
    if test.problem:
        out.note(test.problem, style="error")
        return
    count = len(test.models)
    models = f"{count} model{'' if count == 1 else 's'}"
    out.line(f"{name}: {models} in {test.seconds:.1f} s, spoken to as {test.kind}")
    for model in test.models[:10]:
        out.line(f"  {model.name}")
    if count > 10:
        out.line(f"  … and {count - 10} more: `lembas models list --connection {name}`")


def _row(info: ConnectionInfo) -> tuple[str, ...]:
    count = "" if info.model_count is None else f"{info.model_count} models"
    state = info.problem or ("" if info.enabled else "switched off")
    return (info.name, info.url, info.found_kind, info.key or "no key", count, state)


def _as_json(info: ConnectionInfo) -> dict[str, Any]:
    names = ("name", "url", "kind", "found_kind", "key", "enabled", "model_count", "asked_at", "problem")
    return {name: getattr(info, name) for name in names}
