"""The `lembas` command: asks the core, prints the answer."""

from __future__ import annotations

import os
import sys

__all__ = ("__version__", "main")

__version__ = "0.1.0"


def main() -> None:
    """Run the `lembas` command and leave with its exit code."""
    try:
        _run()
    except KeyboardInterrupt:
        # While modules are still imported nobody else is there to catch it.
        os._exit(130)


def _run() -> None:
    from lembas_cli.front import at_once

    _replace_closed_streams()
    text = at_once(sys.argv[1:], __version__)
    if text is None:
        from lembas_cli.app import run

        code = run(sys.argv[1:])
        sys.stderr.flush()
        # All is closed and written; taking five hundred modules apart would cost a twentieth of the time.
        os._exit(code)
    sys.stdout.write(text)


def _replace_closed_streams() -> None:
    """Let what is written to a stream that was closed (`>&-`) vanish, as `print` does."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))
