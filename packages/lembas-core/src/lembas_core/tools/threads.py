"""Run a blocking function in a thread that nobody has to wait for.

The threads of anyio's pool are joined when the interpreter ends, so that a tool which hangs would hang the
whole program after Ctrl-C. A tool's thread is a daemon: stopping abandons it.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import anyio
from anyio import from_thread
from anyio.lowlevel import current_token

__all__ = ("in_thread",)

T = TypeVar("T")


async def in_thread(function: Callable[[], T]) -> T:
    """The result of `function`, run in a thread of its own with the caller's context variables.

    When the caller is cancelled the thread is left to itself. What the function raises is raised here.
    """
    done = anyio.Event()
    token = current_token()
    results: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(function())
        except BaseException as error:
            errors.append(error)
        # The event loop may be gone: then nobody waits any more.
        with suppress(RuntimeError):
            from_thread.run_sync(done.set, token=token)

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(work,), name="tool", daemon=True).start()
    await done.wait()
    if errors:
        raise errors[0]
    return results[0]
