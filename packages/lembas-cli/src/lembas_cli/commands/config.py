"""`lembas config`: the settings of the instance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lembas_cli.session import Session, pass_session

if TYPE_CHECKING:
    from lembas_core.settings.values import SettingInfo

    from lembas_cli.out import Out

__all__ = ("config",)


@click.group()
def config() -> None:
    """List, read and change settings."""


@config.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_session
def list_settings(session: Session, as_json: bool) -> None:
    """List every setting, its value, where that comes from and what it means."""
    from lembas_cli.tables import print_json
    from lembas_cli.wire import as_json as plain

    with session.lembas() as lembas:
        infos = lembas.settings.list()
    if as_json:
        print_json(session.out, plain(infos))
    else:
        for info in infos:
            _print(session.out, info)


@config.command("get")
@click.argument("key")
@pass_session
def get_setting(session: Session, key: str) -> None:
    """Print the value of a setting; nothing when it is not set."""
    with session.lembas() as lembas:
        value = lembas.settings.get(key)
    if value is not None:
        session.out.line(_said(value))


@config.command("set")
@click.argument("key")
@click.argument("value", required=False)
@click.option("--clear", is_flag=True, help="Go back to the default.")
@pass_session
def set_setting(session: Session, key: str, value: str | None, clear: bool) -> None:
    """Change a setting for good."""
    if clear == (value is not None):
        raise click.UsageError("Give a value, or --clear to go back to the default.")
    with session.lembas() as lembas:
        if value is None:
            lembas.settings.clear(key)
        else:
            lembas.settings.set(key, value)


@config.command("export")
@pass_session
def export_settings(session: Session) -> None:
    """Print the settings as a lembas.toml."""
    with session.lembas() as lembas:
        session.out.answer(lembas.settings.export())


def _print(out: Out, info: SettingInfo) -> None:
    source = f"{info.source}, locked" if info.locked else info.source
    out.line(f"{info.key} = {_said(info.value) or 'not set'}  ({source})")
    out.line(f"    {info.description}")


def _said(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "" if value is None else str(value)
