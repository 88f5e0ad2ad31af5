"""SQLite: one connection that writes, a few that read, every transaction in a thread."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import anyio
from anyio.to_thread import run_sync
from sqlalchemy import Connection, NullPool, create_engine
from sqlalchemy.exc import DBAPIError

from lembas_core.errors import StoreError
from lembas_core.store.batches import Batches, Job
from lembas_core.store.faults import is_damage, told
from lembas_core.store.places import Place
from lembas_core.store.schema import check, manual_steps
from lembas_core.store.sqlite_index import catch_up
from lembas_core.store.sqlite_schema import is_current, look, peek, update

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
        self._index_damaged = False
        self._closed = False
        self._batches = Batches(self._commit, self._turn)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            str(self._place.path or ":memory:"),
            timeout=float(str(self._place.url.query.get("timeout", _PATIENCE))),
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = NORMAL")
        return connection

    async def open(self, now: datetime) -> tuple[str, ...]:
        """Bring the schema up to date; what is left to do by hand is returned."""
        try:
            return await run_sync(self._prepare, now, limiter=self._turn)
        except BaseException:
            await self.aclose()
            raise

    def _prepare(self, now: datetime) -> tuple[str, ...]:
        path, where, dialect = self._place.path, self._place.shown, self._engine.dialect
        try:
            present = path and peek(path)
            if present:
                check(present, where)
            if not present or not is_current(present, dialect):
                if path is not None:
                    _make_room(path)
                raw = _raw(self._writing())
                update(raw, path, dialect, now)
                present = look(raw)
        except (sqlite3.Error, DBAPIError, OSError) as error:
            raise told(error, where) from error
        return manual_steps(present, dialect)

    async def read(self, fn: Callable[[Connection], T]) -> T:
        """Run `fn` in a thread on one moment of the database; it cannot write."""
        return await run_sync(self._read, fn, limiter=self._reading)

    def _read(self, fn: Callable[[Connection], T]) -> T:
        if self._closed:
            raise StoreError("The database has been closed.")
        connection = self._borrow()
        raw = _raw(connection)
        try:
            raw.execute("BEGIN")
            return fn(connection)
        except Exception as error:
            raise told(error, self._place.shown) from error
        finally:
            _roll_back(connection)
            self._give_back(connection)

    def _borrow(self) -> Connection:
        if self._idle:
            return self._idle.pop()
        connection = self._writing() if self._place.path is None else self._engine.connect()
        _raw(connection).execute("PRAGMA query_only = ON")
        return connection

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
            _raw(self._writer).execute("PRAGMA journal_mode = WAL")
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
        self._finish(connection)
        return True

    def _alone(self, connection: Connection, job: Job[Any]) -> None:
        raw = _raw(connection)
        try:
            raw.execute("BEGIN IMMEDIATE")
            if job.run(connection):
                self._finish(connection)
        except sqlite3.Error as error:
            job.fail(error)
        finally:
            _roll_back(connection)
        self._tell(job)

    def _finish(self, connection: Connection) -> None:
        raw = _raw(connection)
        self._catch_up(raw)
        connection.commit()
        raw.commit()

    def _catch_up(self, raw: sqlite3.Connection) -> None:
        """Index what changed. A damaged index keeps nobody from writing: the next start makes it anew."""
        if self._index_damaged:
            return
        raw.execute("SAVEPOINT search")
        try:
            catch_up(raw)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            self._index_damaged = True
            raw.execute("ROLLBACK TO search")
            raw.execute("DELETE FROM meta WHERE key = 'search'")
        raw.execute("RELEASE search")

    def _tell(self, job: Job[Any]) -> None:
        if isinstance(job.error, Exception):
            job.fail(told(job.error, self._place.shown))

    async def aclose(self) -> None:
        """Finish what was asked, then close the file."""
        self._closed = True
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


def _make_room(path: Path) -> None:
    """Make the folder and an empty file, for nobody but their owner; SQLite's other files take after it."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
