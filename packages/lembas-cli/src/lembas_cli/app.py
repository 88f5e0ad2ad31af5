"""Run a command: options that all share, and what every ending means to the shell."""

from __future__ import annotations

import gc
import io
import sys
from typing import Final

import click

from lembas_cli.lazy import Root
from lembas_cli.out import Color, Out
from lembas_cli.session import Session

__all__ = ("root", "run")

INTERRUPTED: Final = 130


@click.group(cls=Root, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--data-dir", metavar="DIR")
@click.option("--db", "database", metavar="URL")
@click.option("--config", "config_file", metavar="FILE")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto")
@click.option("-q", "--quiet", is_flag=True)
@click.option("-v", "--verbose", is_flag=True)
@click.version_option(package_name="lembas-cli", prog_name="lembas", message="%(prog)s %(version)s")
@click.pass_context
def root(
    ctx: click.Context,
    data_dir: str | None,
    database: str | None,
    config_file: str | None,
    color: Color,
    quiet: bool,
    verbose: bool,
) -> None:
    """Ask language models, talk with them, keep what was said."""
    out = Out(color=color, quiet=quiet, verbose=verbose)
    ctx.obj = Session(out=out, data_dir=data_dir, database=database, config_file=config_file)


def run(arguments: list[str]) -> int:
    """Run one command and return the exit code. Every failure becomes one sentence on stderr."""
    # Starting is mostly imports: looking for garbage among what they build would cost a quarter of the time.
    # `Session.lembas` switches it on again.
    gc.disable()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        result = root.main(arguments, prog_name="lembas", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except Exception as error:
        return _failure(error, verbose="-v" in arguments or "--verbose" in arguments)
    return result if isinstance(result, int) else 0


def _failure(error: Exception, *, verbose: bool) -> int:
    from lembas_core.errors import LembasError, exit_code

    if verbose:
        import traceback

        traceback.print_exception(error)
    if isinstance(error, LembasError):
        sentence = str(error)
    elif isinstance(error, OSError) and error.strerror:
        sentence = f"{error.strerror}{f': {error.filename}' if error.filename else ''}."
    else:
        hint = "" if verbose else " (`lembas -v …` shows where.)"
        sentence = f"Something unexpected went wrong: {type(error).__name__}: {error}{hint}"
    Out().error(sentence)
    return exit_code(error)
