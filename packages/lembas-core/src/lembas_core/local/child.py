"""Starting a child process so that whoever gives up in the middle still holds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from subprocess import PIPE
from typing import IO

import anyio
from anyio.abc import Process

__all__ = ("start_child",)


async def start_child(
    command: Sequence[str],
    *,
    stdin: int = PIPE,
    stdout: int | IO[bytes] = PIPE,
    stderr: IO[bytes],
    env: Mapping[str, str] | None = None,
) -> Process:
    """Start `command`; cancellation is felt by the caller's next await, when the process is known.

    Given up inside anyio's own call, the child would be killed but not waited for.
    """
    with anyio.CancelScope(shield=True):
        return await anyio.open_process(command, stdin=stdin, stdout=stdout, stderr=stderr, env=env)
    raise AssertionError("a shield is never cancelled")
