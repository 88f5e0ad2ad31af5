"""One event loop in a thread of its own, for code that has none, or has another one running."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, ExitStack
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

if TYPE_CHECKING:
    from concurrent.futures import Future
    from typing import Self

__all__ = ("Loop",)

P = ParamSpec("P")
T = TypeVar("T")


class Loop:
    """Runs coroutines and waits for them; everything an instance holds lives on this one loop."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._portal: BlockingPortal | None = None

    def __enter__(self) -> Self:
        self._portal = self._stack.enter_context(start_blocking_portal(name="lembas"))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> bool | None:
        self._portal = None
        return self._stack.__exit__(kind, error, where)

    def enter(self, context: AbstractAsyncContextManager[T]) -> T:
        """Enter an async context that is left when the loop ends."""
        return self._stack.enter_context(self._open().wrap_async_context_manager(context))

    def run(self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a coroutine function there and wait; Ctrl-C here cancels it there."""
        future = self.begin(function, *args, **kwargs)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def begin(self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call a coroutine function there and do not wait."""
        return self._open().start_task_soon(partial(function, *args, **kwargs))

    def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a plain function there."""
        return self._open().call(partial(function, *args, **kwargs))

    def _open(self) -> BlockingPortal:
        if self._portal is None:
            raise RuntimeError("It is closed: use it inside its `with` block.")
        return self._portal
