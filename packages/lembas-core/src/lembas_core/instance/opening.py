"""Opening and closing an instance: the one place where everything meets."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Final

import anyio
from anyio.abc import TaskGroup

from lembas_core.chats import sweep_temporary_chats
from lembas_core.clock import SystemClock
from lembas_core.config import Config
from lembas_core.instance.lembas import Lembas
from lembas_core.instance.parts import Parts
from lembas_core.people.owner import read_owner
from lembas_core.store import Store

__all__ = ("Opening",)

_log: Final = logging.getLogger(__name__)

SWEEP_SECONDS: Final = 30.0


class Opening:
    """An instance as a context manager; a class, since nothing may yield inside its task group."""

    def __init__(self, where: str | Path | None, config: Config | None, origin: str) -> None:
        self._where = where
        self._config = config
        self._origin = origin
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Lembas:
        async with AsyncExitStack() as stack:
            config = self._config or Config.load()
            store = await Store.open(self._where if self._where is not None else config.database)
            stack.push_async_callback(_shielded, store.aclose)
            background = _Background()
            parts = Parts(config, store, background.tasks, SystemClock(), self._origin)
            stack.push_async_callback(_shielded, parts.local.aclose)
            stack.push_async_callback(_shielded, parts.endpoints.aclose)
            await stack.enter_async_context(background)
            stack.push_async_callback(_shielded, parts.replies.aclose)
            lembas = Lembas(parts, await store.read(read_owner))
            background.tasks.start_soon(_tidy, parts)
            self._stack = stack.pop_all()
        return lembas

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, where)


class _Background:
    """The instance's task group. What the body of `async with` raises passes by it unwrapped."""

    def __init__(self) -> None:
        self.tasks: TaskGroup = anyio.create_task_group()

    async def __aenter__(self) -> TaskGroup:
        return await self.tasks.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> bool | None:
        self.tasks.cancel_scope.cancel()
        if isinstance(error, anyio.get_cancelled_exc_class()):
            return await self.tasks.__aexit__(kind, error, where)
        await self.tasks.__aexit__(None, None, None)
        return None


async def _shielded(close: Callable[[], Awaitable[None]]) -> None:
    """Closing is finished even when the caller was cancelled: rows are written, the child is ended."""
    with anyio.CancelScope(shield=True):
        await close()


async def _tidy(parts: Parts) -> None:
    """What a start leaves to do, beside the first request and not before it; then, now and then, the rest.

    Other processes may die at any time: what they ran is found here even when nobody follows it.
    """
    await _quietly(parts.settings.seed)
    while True:
        await _quietly(parts.replies.sweep)
        await _quietly(lambda: sweep_temporary_chats(parts.store, parts.clock))
        await parts.clock.sleep(SWEEP_SECONDS)


async def _quietly(work: Callable[[], Awaitable[object]]) -> None:
    try:
        await work()
    except Exception:
        _log.exception("Tidying up failed")
