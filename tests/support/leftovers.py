"""No test run leaves a process behind: no server, model or database, however it detached itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from uuid import uuid4

import psutil
import pytest

__all__ = ("leftovers", "mark_this_run", "pytest_sessionfinish")

MARK = "PYTEST_RUN_OF_LEMBAS"
GRACE = 5
"""Seconds in which what was told to end may still be ending."""


def mark_this_run() -> None:
    """Give everything that is started from here on a mark in its environment, which it cannot lose."""
    os.environ.setdefault(MARK, uuid4().hex)


def leftovers(grace: float = GRACE) -> list[str]:
    """The command lines of what this run started and is still running after `grace` seconds."""
    _, alive = psutil.wait_procs(list(_marked()), timeout=grace)
    return [_name(process) for process in alive if process.is_running()]


def _marked() -> Iterator[psutil.Process]:
    ours = {psutil.Process().pid, *(parent.pid for parent in psutil.Process().parents())}
    for process in psutil.process_iter():
        try:
            if process.pid not in ours and process.environ().get(MARK) == os.environ[MARK]:
                yield process
        except psutil.Error:
            continue


def _name(process: psutil.Process) -> str:
    try:
        return f"{process.pid}: {' '.join(process.cmdline()) or process.name()}"
    except psutil.Error:
        return str(process.pid)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workerinput"):
        return  # the other workers are still at it
    left = leftovers()
    if left:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        print("\nThese processes were left running by the tests:", *left, sep="\n  ")
