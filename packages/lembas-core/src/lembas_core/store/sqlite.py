"""SQLite: one connection that writes, a few that read, every transaction in a thread."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar, cast

import anyio
from anyio.to_thread import run_sync
from sqlalchemy import Connection, NullPool, create_engine

from lembas_core.store.batches import Batches, Job
from lembas_core.store.faults import told
from lembas_core.store.places import Place
from lembas_core.store.tables import metadata

__all__ = ("SQLite",)

T = TypeVar("T")

_READERS: Final = 4
_PATIENCE: Final = 10.0  # seconds that another process may hold the write lock


class SQLite:
    """An open SQLite database: a file, or memory."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._engine = create_engine(place.url, creator=self._connect, poolclass=NullPool)
        self._writer: Connection | None = None
        self._idle: list[Connection] = []
        # In memory there is one connection, so reading and writing take turns.
        self._turn = anyio.CapacityLimiter(1)
        self._reading = self._turn if place.path is None else anyio.CapacityLimiter(_READERS)
        self._batches = Batches(self._commit, self._turn)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            str(self._place.path or ":memory:"),
            timeout=_PATIENCE,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = NORMAL")
        return connection

    async def open(self) -> None:
        """Bring the schema up to date."""
        await run_sync(self._prepare, limiter=self._turn)

    def _prepare(self) -> None:
        path = self._place.path
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        connection = self._writing()
        _raw(connection).execute("PRAGMA journal_mode = WAL")
        metadata.create_all(connection)
        connection.commit()

    async def read(self, fn: Callable[[Connection], T]) -> T:
        """Run `fn` in a thread on one moment of the database; it cannot write."""
        return await run_sync(self._read, fn, limiter=self._reading)

    def _read(self, fn: Callable[[Connection], T]) -> T:
        connection = self._borrow()
        raw = _raw(connection)
        try:
            raw.execute("PRAGMA query_only = ON")
            raw.execute("BEGIN")
            return fn(connection)
        except Exception as error:
            raise told(error, self._place.shown) from error
        finally:
            _roll_back(connection)
            self._give_back(connection)

    def _borrow(self) -> Connection:
        if self._place.path is None:
            return self._writing()
        return self._idle.pop() if self._idle else self._engine.connect()

    def _give_back(self, connection: Connection) -> None:
        if connection is self._writer:
            _raw(connection).execute("PRAGMA query_only = OFF")
        else:
            self._idle.append(connection)

    async def write(self, fn: Callable[[Connection], T]) -> T:
        """Run `fn` in a transaction, together with whatever else is being asked."""
        return await self._batches.do(fn)

    def _writing(self) -> Connection:
        if self._writer is None:
            self._writer = self._engine.connect()
        return self._writer

    def _commit(self, jobs: Sequence[Job[Any]]) -> None:
        """Run a batch; when its transaction is lost as a whole, each function again in its own."""
        connection = self._writing()
        try:
            done = len(jobs) > 1 and self._together(connection, jobs)
        except sqlite3.Error:
            done = False
        if not done:
            _roll_back(connection)
            for job in jobs:
                self._alone(connection, job)

    def _together(self, connection: Connection, jobs: Sequence[Job[Any]]) -> bool:
        raw = _raw(connection)
        raw.execute("BEGIN IMMEDIATE")
        for job in jobs:
            raw.execute("SAVEPOINT job")
            returned = job.run(connection)
            if not raw.in_transaction:  # SQLite itself rolls back when the disk is full
                return False
            if not returned:
                raw.execute("ROLLBACK TO job")
                self._tell(job)
            raw.execute("RELEASE job")
        connection.commit()
        raw.commit()
        return True

    def _alone(self, connection: Connection, job: Job[Any]) -> None:
        raw = _raw(connection)
        try:
            raw.execute("BEGIN IMMEDIATE")
            if job.run(connection):
                connection.commit()
                raw.commit()
        except sqlite3.Error as error:
            job.fail(error)
        finally:
            _roll_back(connection)
        self._tell(job)

    def _tell(self, job: Job[Any]) -> None:
        if isinstance(job.error, Exception):
            job.fail(told(job.error, self._place.shown))

    async def aclose(self) -> None:
        """Finish what was asked, then close the file."""
        with anyio.CancelScope(shield=True):
            await self._batches.aclose()
            await run_sync(self._close, limiter=self._turn)

    def _close(self) -> None:
        for connection in (*self._idle, self._writer):
            if connection is not None:
                connection.close()
        self._idle.clear()
        self._writer = None


def _raw(connection: Connection) -> sqlite3.Connection:
    return cast("sqlite3.Connection", connection.connection.driver_connection)


def _roll_back(connection: Connection) -> None:
    connection.rollback()
    _raw(connection).rollback()
