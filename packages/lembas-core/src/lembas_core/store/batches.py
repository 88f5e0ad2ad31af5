"""Group commit: whatever is asked while one transaction runs goes into the next one together.

One thread takes functions from a queue and gives them, as many as there are, to whoever runs a transaction;
then it tells their event loop. It is a thread of our own, since a hop into a borrowed one costs as much as
the whole transaction.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar, cast

import anyio
from anyio.lowlevel import current_token
from sqlalchemy import Connection

from lembas_core.errors import StoreError

__all__ = ("Batches", "Job")

T = TypeVar("T")

_MOST = 200


class Job(Generic[T]):
    """A function that waits for its transaction, then its outcome."""

    __slots__ = ("_claim", "_ended", "_error", "_fn", "_value")

    def __init__(self, fn: Callable[[Connection], T]) -> None:
        self._fn = fn
        self._claim = [self]  # who pops it has the job: the thread to run it, or its caller to withdraw it
        self._ended = anyio.Event()
        self._error: BaseException | None = None
        self._value: T | None = None

    def claim(self) -> bool:
        """Take the job, in any thread; only one can."""
        try:
            self._claim.pop()
        except IndexError:
            return False
        return True

    def run(self, connection: Connection) -> bool:
        """Call the function and keep what it returns or raises; whether it returned."""
        self._error = None
        try:
            self._value = self._fn(connection)
        except BaseException as error:  # whatever it is, it is for the one who asked
            self._error = error
            return False
        return True

    def fail(self, error: BaseException) -> None:
        """What was done is undone, because of `error`."""
        self._error = error

    @property
    def error(self) -> BaseException | None:
        """What went wrong."""
        return self._error

    def end(self) -> None:
        """Let `wait` return; in the event loop."""
        self._ended.set()

    async def wait(self) -> T:
        """The function's value, or its error raised, once its transaction is over.

        Cancelled before that began, the job is withdrawn; after that, it is waited for.
        """
        try:
            await self._ended.wait()
        except BaseException:
            if not self.claim():
                with anyio.CancelScope(shield=True):
                    await self._ended.wait()
            raise
        if self._error is not None:
            raise self._error
        return cast("T", self._value)


class Batches:
    """Takes jobs from one event loop and gives them, many at a time, to `run` in a thread."""

    def __init__(self, run: Callable[[Sequence[Job[Any]]], None]) -> None:
        self._run = run
        self._asked: SimpleQueue[Job[Any] | None] = SimpleQueue()
        self._tell: Callable[..., object] | None = None
        self._stopped: anyio.Event | None = None
        self._closed = False

    async def do(self, fn: Callable[[Connection], T]) -> T:
        """Run `fn` in a transaction and return what it returns, after the commit."""
        if self._closed:
            raise StoreError("The database has been closed.")
        if self._tell is None:
            self._start()
        job = Job(fn)
        self._asked.put(job)
        return await job.wait()

    def _start(self) -> None:
        loop: Any = current_token().native_token
        # asyncio's name and trio's for the same thing.
        self._tell = getattr(loop, "call_soon_threadsafe", None) or loop.run_sync_soon
        self._stopped = anyio.Event()
        threading.Thread(target=self._work, name="lembas-store", daemon=True).start()

    def _work(self) -> None:
        while (job := self._asked.get()) is not None:
            jobs = [job for job in (job, *self._others()) if job.claim()]
            try:
                self._run(jobs)
            except BaseException as error:
                for job in jobs:
                    job.fail(error)
            self._to_the_loop(_end, jobs)
        self._to_the_loop(cast("anyio.Event", self._stopped).set)

    def _others(self) -> list[Job[Any]]:
        others: list[Job[Any]] = []
        with suppress(Empty):
            while len(others) < _MOST:
                job = self._asked.get_nowait()
                if job is None:  # the end, for the loop in `_work` to see; nothing comes after it
                    self._asked.put(None)
                    break
                others.append(job)
        return others

    def _to_the_loop(self, fn: Callable[..., object], *args: object) -> None:
        with suppress(RuntimeError):  # a loop that has ended waits for nothing
            cast("Callable[..., object]", self._tell)(fn, *args)

    async def aclose(self) -> None:
        """Take no more jobs and wait for those that were taken."""
        self._closed = True
        if self._stopped is not None:
            self._asked.put(None)
            await self._stopped.wait()


def _end(jobs: Sequence[Job[Any]]) -> None:
    for job in jobs:
        job.end()
