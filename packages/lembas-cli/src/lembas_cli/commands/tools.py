"""`lembas tools`: what a model can be given."""

from __future__ import annotations

import click

from lembas_cli.session import Session, pass_session

__all__ = ("tools",)


@click.group()
def tools() -> None:
    """List the tools a model can be given."""


@tools.command("list")
@click.argument("names", nargs=-1, metavar="[FILE.py]...")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, schemas included.")
@pass_session
def list_tools(session: Session, names: tuple[str, ...], as_json: bool) -> None:
    """List the built-in tools, or those of Python files."""
    from lembas_core.tools.builtin import builtin_tools

    from lembas_cli.tables import print_json, print_table
    from lembas_cli.toolboxes import toolset

    chosen = list(toolset(names)) if names else list(builtin_tools().values())
    if as_json:
        keys = ("name", "description", "risk", "family", "parameters")
        print_json(session.out, [{key: getattr(tool, key) for key in keys} for tool in chosen])
    else:
        print_table(session.out, [(t.name, t.risk, t.description.partition("\n")[0]) for t in chosen])
