"""SQLite: one connection that writes, a few that read, every transaction in a thread."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
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

_ERRORS: Final = (sqlite3.Error, DBAPIError)
_MEDDLED: Final = sqlite3.ProgrammingError("a function of a transaction must not commit or roll back")

_READERS: Final = 4
_WORTH_INDEXING: Final = 64  # rows; fewer are read one by one by whoever searches
_CHECKPOINT: Final = (
    4000  # pages, 16 MiB: each time the disk is waited for, so four times less often than usual
)
_PATIENCE: Final = 10.0  # seconds that another process may hold the write lock


class SQLite:
    """An open SQLite database: a file, or memory."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._engine = create_engine(place.url, creator=self._connect, poolclass=NullPool)
        self._writer: Connection | None = None
        self._idle: list[Connection] = []
        self._reading = anyio.CapacityLimiter(_READERS)
        # In memory there is one connection, so reading and writing take turns.
        self._alone = threading.Lock() if place.path is None else nullcontext()
        self._index_damaged = False
        self._unindexed = _WORTH_INDEXING  # what other processes may have left
        self._closed = False
        self._batches = Batches(self._commit)

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
            return await run_sync(self._prepare, now)
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
        except (*_ERRORS, OSError) as error:
            raise told(error, where) from error
        return manual_steps(present, dialect)

    async def read(self, fn: Callable[[Connection], T]) -> T:
        """Run `fn` in a thread on one moment of the database; it cannot write."""
        return await run_sync(self._read, fn, limiter=self._reading)

    def _read(self, fn: Callable[[Connection], T]) -> T:
        with self._alone:
            if self._closed:
                raise StoreError("The database has been closed.")
            try:
                return self._read_with(self._borrow(), fn)
            except Exception as error:
                raise told(error, self._place.shown) from error

    def _read_with(self, connection: Connection, fn: Callable[[Connection], T]) -> T:
        try:
            _raw(connection).execute("BEGIN")
            return fn(connection)
        finally:
            _roll_back(connection)
            self._give_back(connection)

    def _borrow(self) -> Connection:
        with suppress(IndexError):  # asking first whether there is one would race with the other readers
            return self._idle.pop()
        connection = self._writing() if self._place.path is None else self._engine.connect()
        _raw(connection).execute("PRAGMA query_only = ON")
        return connection

    def _give_back(self, connection: Connection) -> None:
        if connection is self._writer:
            _raw(connection).execute("PRAGMA query_only = OFF")
        else:
            self._idle.append(connection)
            if self._closed:  # while this one was read with; asking first would race with whoever closes
                self._close_idle()

    async def write(self, fn: Callable[[Connection], T]) -> T:
        """Run `fn` in a transaction, together with whatever else is being asked."""
        return await self._batches.do(fn)

    def _writing(self) -> Connection:
        if self._writer is None:
            self._writer = self._engine.connect()
            _raw(self._writer).execute("PRAGMA journal_mode = WAL")
            _raw(self._writer).execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT}")
        return self._writer

    def _commit(self, jobs: Sequence[Job[Any]]) -> None:
        """Run a batch; when its transaction is lost as a whole, each function again in its own."""
        with self._alone:
            if not self._attempt(jobs) and len(jobs) > 1:
                for job in jobs:
                    self._attempt((job,))

    def _attempt(self, jobs: Sequence[Job[Any]]) -> bool:
        """Run functions in one transaction; whether there is nothing to gain from parting them."""
        try:
            connection = self._writing()
            raw = _raw(connection)
            raw.execute("BEGIN IMMEDIATE")
        except _ERRORS as error:
            self._fail(jobs, error)
            return True
        try:
            for job in jobs:
                self._run(connection, raw, job)
            self._finish(raw, len(jobs))
        except _ERRORS as error:
            self._fail(jobs, error)
            return False
        finally:
            _roll_back(connection)
        return True

    def _run(self, connection: Connection, raw: sqlite3.Connection, job: Job[Any]) -> None:
        raw.execute("SAVEPOINT job")
        returned = job.run(connection)
        if not raw.in_transaction:  # SQLite itself rolls back, for instance when the disk is full
            raise job.error if isinstance(job.error, _ERRORS) else _MEDDLED
        if not returned:
            raw.execute("ROLLBACK TO job")
            if isinstance(job.error, Exception):
                self._fail((job,), job.error)
        raw.execute("RELEASE job")

    def _fail(self, jobs: Sequence[Job[Any]], error: Exception) -> None:
        for job in jobs:
            sentence = told(error, self._place.shown)
            if sentence is not error:
                sentence.__cause__ = error
            job.fail(sentence)

    def _finish(self, raw: sqlite3.Connection, jobs: int) -> None:
        self._unindexed += jobs
        if self._unindexed >= _WORTH_INDEXING and not self._index_damaged:
            self._catch_up(raw)
        raw.commit()

    def _catch_up(self, raw: sqlite3.Connection) -> None:
        """Index what changed. A damaged index keeps nobody from writing: the next start makes it anew."""
        raw.execute("SAVEPOINT search")
        try:
            more = catch_up(raw, worth=_WORTH_INDEXING)
            self._unindexed = _WORTH_INDEXING if more else 0
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            self._index_damaged = True
            raw.execute("ROLLBACK TO search")
            raw.execute("DELETE FROM meta WHERE key = 'search'")
        raw.execute("RELEASE search")

    async def aclose(self) -> None:
        """Finish what was asked, then close the file."""
        self._closed = True
        with anyio.CancelScope(shield=True):
            await self._batches.aclose()
            await run_sync(self._close)

    def _close(self) -> None:
        self._close_idle()
        with self._alone:
            if self._writer is not None:
                self._writer.close()
            self._writer = None

    def _close_idle(self) -> None:
        with suppress(IndexError):
            while True:
                self._idle.pop().close()


def _raw(connection: Connection) -> sqlite3.Connection:
    return cast("sqlite3.Connection", connection.connection.driver_connection)


def _roll_back(connection: Connection) -> None:
    """Undo what is not committed; SQLAlchemy too begins anew with the next statement."""
    if connection.in_transaction():
        connection.rollback()
    _raw(connection).rollback()


def _make_room(path: Path) -> None:
    """Make the folder and an empty file, for nobody but their owner; SQLite's other files take after it."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
