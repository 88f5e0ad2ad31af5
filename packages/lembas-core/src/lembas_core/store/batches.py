"""Group commit: whatever is asked while one transaction runs goes into the next one together.

There is no writer task. Whoever asks while nothing runs takes everybody's functions to the thread; when it
comes back it wakes the others and hands the lead to the first who asked meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, cast

import anyio
from anyio.to_thread import run_sync
from sqlalchemy import Connection

from lembas_core.errors import StoreError

__all__ = ("Batches", "Job")

T = TypeVar("T")

_MOST = 200


class Job(Generic[T]):
    """A function that waits for its transaction, then its outcome."""

    __slots__ = ("_error", "_event", "_value", "ended", "fn")

    def __init__(self, fn: Callable[[Connection], T]) -> None:
        self.fn: Callable[[Connection], T] = fn
        self.ended: bool = False
        self._error: BaseException | None = None
        self._value: T | None = None
        self._event: anyio.Event | None = None

    def run(self, connection: Connection) -> bool:
        """Call the function and keep what it returns or raises; whether it returned."""
        self._error = None
        try:
            self._value = self.fn(connection)
        except BaseException as error:  # kept for the one who asked, whatever it is
            self._error = error
        return self._error is None

    def fail(self, error: BaseException) -> None:
        """What was done is undone, because of `error`."""
        self._error = error

    @property
    def error(self) -> BaseException | None:
        """What went wrong."""
        return self._error

    def outcome(self) -> T:
        """The function's value, or its error raised."""
        if self._error is not None:
            raise self._error
        return cast("T", self._value)

    async def wake_up(self) -> None:
        """Wait until the job has ended or has to lead."""
        self._event = anyio.Event()
        await self._event.wait()

    def wake(self) -> None:
        """Let `wake_up` return."""
        if self._event is not None:
            self._event.set()


class Batches:
    """Takes jobs from one event loop and gives them, many at a time, to `run` in a thread."""

    def __init__(self, run: Callable[[Sequence[Job[Any]]], None], limiter: anyio.CapacityLimiter) -> None:
        self._run = run
        self._limiter = limiter
        self._waiting: list[Job[Any]] = []
        self._leader: Job[Any] | None = None
        self._idle: anyio.Event | None = None
        self._closed = False

    async def do(self, fn: Callable[[Connection], T]) -> T:
        """Run `fn` in a transaction and return what it returns, after the commit.

        Cancelled before its transaction began, nothing is done; after that, all of it.
        """
        if self._closed:
            raise StoreError("The database has been closed.")
        job = Job(fn)
        self._waiting.append(job)
        if self._leader is None:
            self._leader = job
        else:
            await self._wait(job)
        if not job.ended:
            await self._lead()
        return job.outcome()

    async def _wait(self, job: Job[Any]) -> None:
        try:
            await job.wake_up()
        except BaseException:
            if job in self._waiting:
                self._waiting.remove(job)
            if self._leader is job:
                self._hand_over()
            raise

    async def _lead(self) -> None:
        batch, self._waiting = self._waiting[:_MOST], self._waiting[_MOST:]
        try:
            with anyio.CancelScope(shield=True):
                await run_sync(self._run, batch, limiter=self._limiter)
        except BaseException as error:
            for job in batch:
                job.fail(error)
        for job in batch:
            job.ended = True
            job.wake()
        self._hand_over()

    def _hand_over(self) -> None:
        self._leader = self._waiting[0] if self._waiting else None
        if self._leader is not None:
            self._leader.wake()
        elif self._idle is not None:
            self._idle.set()

    async def aclose(self) -> None:
        """Take no more jobs and wait for those that were taken."""
        self._closed = True
        if self._leader is not None:
            self._idle = anyio.Event()
            await self._idle.wait()
