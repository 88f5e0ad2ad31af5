"""`lembas info`: where everything is, and why."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, cast

import click

from lembas_cli.session import Session, pass_session

if TYPE_CHECKING:
    from lembas_core.config import Config
    from lembas_core.sync import Lembas

__all__ = ("info",)

_PACKAGES = ("lembas-core", "lembas-cli", "lembas-mcp", "lembas-web", "sqlalchemy", "httpx2", "xllamacpp")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_session
def info(session: Session, as_json: bool) -> None:
    """Show paths and why they are what they are, versions, counts and connections."""
    from lembas_cli.tables import print_json, print_table

    config = session.config()
    with session.lembas() as lembas:
        facts = {"paths": _paths(config), "versions": _versions(), **_contents(lembas)}
    if as_json:
        print_json(session.out, facts)
        return
    for section, values in facts.items():
        session.out.line(f"{section.capitalize()}:" if values else f"{section.capitalize()}: none")
        print_table(session.out, [(f"  {name}", *_cells(value)) for name, value in values.items()])


def _paths(config: Config) -> dict[str, dict[str, str]]:
    """Each with the reason why it is so."""
    from lembas_core.store.places import find_place

    shown = {
        "data_dir": str(config.data_dir),
        "state_dir": str(config.state_dir),
        "cache_dir": str(config.cache_dir),
        "database": find_place(config.database).shown,
        "file": str(config.file or "none"),
        "secret_key": "set" if config.secret_key else str(config.key_file),
    }
    return {name: {"value": value, "why": config.why.get(name, "")} for name, value in shown.items()}


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def _contents(lembas: Lembas) -> dict[str, dict[str, Any]]:
    counts = lembas.counts()
    connections = {each.name: each.problem or each.url for each in lembas.connections.list()}
    default = next((entry.ref for entry in lembas.models.list() if entry.is_default), "none")
    return {
        "contents": {"chats": counts.chats, "messages": counts.messages, "people": counts.people},
        "models": {"default": default},
        "connections": connections,
    }


def _cells(value: Any) -> tuple[str, ...]:
    if not isinstance(value, dict):
        return (str(value),)
    path = cast("dict[str, str]", value)
    return (path["value"], f"({path['why']})")
