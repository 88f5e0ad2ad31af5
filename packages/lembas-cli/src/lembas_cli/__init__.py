"""The `lembas` command: asks the core, prints the answer."""

from __future__ import annotations

import sys

__all__ = ("__version__", "main")

__version__ = "0.1.0"


def main() -> None:
    """Run the `lembas` command and leave with its exit code."""
    from lembas_cli.front import at_once

    text = at_once(sys.argv[1:], __version__)
    if text is None:
        from lembas_cli.app import run

        sys.exit(run(sys.argv[1:]))
    sys.stdout.write(text)
