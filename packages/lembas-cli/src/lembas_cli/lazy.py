"""The root of the commands: each is imported when it is called, not when it is listed."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any, Final, cast

import click

from lembas_cli.front import COMMANDS, root_help

__all__ = ("READER_GONE", "Root")

READER_GONE: Final = 141
"""The exit code of a program that a closed pipe ended, as a shell counts it: 128 + SIGPIPE."""


class Root(click.Group):
    """A group that knows its commands by name and line and imports the one that is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command, None when there is none of that name."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module = import_module(f"lembas_cli.commands.{entry.module}")
        return cast("click.Command", getattr(module, entry.variable))

    def get_help(self, ctx: click.Context) -> str:
        """The same text that is printed when nothing is loaded."""
        return root_help().rstrip("\n")

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a reader of stdout that is gone (`| head`) ends it without a word."""
        try:
            try:
                return super().invoke(ctx)
            finally:
                # Also before an error is told: the command leaves in a way that drops what still waits here.
                sys.stdout.flush()
        except BrokenPipeError:
            return READER_GONE
