"""Which process runs a reply, and how another can tell that it is gone."""

from __future__ import annotations

import os
import socket
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

__all__ = ("STALE_AFTER", "is_gone", "owner_token")

STALE_AFTER: Final = timedelta(seconds=15)
"""A running reply without a checkpoint for so long has lost its process."""


def owner_token() -> str:
    """This process: `host:pid:start`; the start tells it from a later process with the same number."""
    return f"{_host()}:{os.getpid()}:{_started(os.getpid())}"


def is_gone(owner: str | None, checkpoint: datetime | None, now: datetime) -> bool:
    """Whether the process `owner` no longer runs its reply.

    Args:
        owner: A token of `owner_token`.
        checkpoint: When it last wrote.
        now: The moment.
    """
    if checkpoint is None or now - checkpoint > STALE_AFTER:
        return True
    host, _, rest = (owner or "").rpartition(":")[0].rpartition(":")
    return host == _host() and rest.isdecimal() and not _lives(int(rest), (owner or "").rpartition(":")[2])


def _host() -> str:
    return socket.gethostname().replace(":", "-")


def _lives(pid: int, started: str) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return _started(pid) == started


def _started(pid: int) -> str:
    """When the process began, in ticks since the machine did (proc(5), field 22); "" where unknown."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return ""
    # The second field is the program's name in parentheses and may hold anything.
    return stat.rpartition(")")[2].split()[19]
