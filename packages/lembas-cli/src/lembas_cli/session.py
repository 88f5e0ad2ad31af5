"""What one run of the command was told, and how it opens the instance."""

from __future__ import annotations

import gc
import logging
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click
from lembas_core.frozen import frozen

from lembas_cli.out import Out

if TYPE_CHECKING:
    from lembas_core.config import Config
    from lembas_core.sync import Lembas

__all__ = ("Session", "pass_session")


@frozen(kw_only=True)
class Session:
    """The options before the command, and where words go."""

    out: Out
    data_dir: str | None = None
    database: str | None = None
    config_file: str | None = None

    def config(self) -> Config:
        """Find the configuration; nothing is created."""
        from lembas_core.config import Config

        return Config.load(data_dir=self.data_dir, database=self.database, file=self.config_file)

    @contextmanager
    def lembas(self) -> Generator[Lembas]:
        """Open the instance.

        Its loop runs in a thread of its own, so that neither a slow reader nor a person who thinks at a
        prompt holds up a reply.
        """
        from lembas_core.sync import Lembas

        _listen(verbose=self.out.verbose)
        with Lembas.open(config=self.config(), origin="cli") as lembas:
            # What is loaded stays: collections look only at what comes from here on.
            gc.freeze()
            gc.enable()
            yield lembas


def _listen(*, verbose: bool) -> None:
    """Send what the library logs to stderr with -v, and nowhere without: faults are told by the commands."""
    if verbose:
        logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(name)s: %(message)s")
    else:
        logging.getLogger().addHandler(logging.NullHandler())


pass_session = click.make_pass_decorator(Session)
