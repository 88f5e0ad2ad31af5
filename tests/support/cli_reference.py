"""The reference of the command line as it must read; `python -m support.cli_reference` writes it anew.

Run it from `tests/`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
from lembas_cli.app import root
from lembas_cli.front import COMMANDS, root_help

__all__ = ("PAGE", "commands", "reference")

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"

HEAD = """\
# The command line

The answer, and nothing else, goes to stdout; everything else goes to stderr. `lembas help exit-codes` lists
the exit codes, `lembas help schema` prints the JSON Schema of what `ask --json` and `chats show --json`
print.

<!-- From here on this page is written by the commands themselves; a test keeps it so. -->

## `lembas`

```text
{help}```
"""


def commands() -> Iterator[tuple[str, click.Command, click.Context]]:
    """Every command with its whole name, groups before their members."""
    above = click.Context(root, info_name="lembas", max_content_width=80, terminal_width=80)
    for name in COMMANDS:
        command = root.get_command(above, name)
        assert command is not None
        yield from _with_members(f"lembas {name}", command, above)


def _with_members(
    name: str, command: click.Command, above: click.Context
) -> Iterator[tuple[str, click.Command, click.Context]]:
    context = click.Context(command, info_name=name.rpartition(" ")[2], parent=above)
    yield name, command, context
    if isinstance(command, click.Group):
        for member in command.list_commands(context):
            inner = command.get_command(context, member)
            assert inner is not None
            yield from _with_members(f"{name} {member}", inner, context)


def reference() -> str:
    """The whole page."""
    sections = [f"## `{name}`\n\n```text\n{_help(context)}\n```\n" for name, _, context in commands()]
    return "\n".join([HEAD.format(help=root_help()), *sections])


def _help(context: click.Context) -> str:
    text = context.command.get_help(context)
    return "\n".join(line.rstrip() for line in text.splitlines())


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
