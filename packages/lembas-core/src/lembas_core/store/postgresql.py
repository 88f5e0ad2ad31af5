"""PostgreSQL: a small pool of connections, every transaction in a thread."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from datetime import datetime
from typing import Final, TypeVar

import anyio
from anyio.to_thread import run_sync
from sqlalchemy import Connection, Engine, create_engine

from lembas_core.errors import StoreError
from lembas_core.store.faults import is_retriable, told
from lembas_core.store.places import Place
from lembas_core.store.postgresql_schema import update

__all__ = ("PostgreSQL",)

T = TypeVar("T")

_CONNECTIONS: Final = 5
_TRIES: Final = 12


class PostgreSQL:
    """An open PostgreSQL database."""

    def __init__(self, place: Place) -> None:
        self._place = place
        # One moment per transaction, and whoever changes what another has just changed starts again:
        # the nearest to SQLite's one writer that does not make every writer wait for every other.
        try:
            self._engine = create_engine(
                place.url,
                pool_size=_CONNECTIONS,
                max_overflow=0,
                pool_pre_ping=True,
                isolation_level="REPEATABLE READ",
            )
        except ImportError as error:
            extra = "pip install 'lembas-core[postgres]'"
            raise StoreError(f"The database {place.shown} needs the `postgres` extra: {extra}.") from error
        self._readers = self._engine.execution_options(postgresql_readonly=True)
        # Whoever waited for another process to change the schema must see what that one has made.
        self._changing = self._engine.execution_options(isolation_level="READ COMMITTED")
        self._limiter = anyio.CapacityLimiter(_CONNECTIONS)
        self._closed = False

    async def open(self, now: datetime) -> tuple[str, ...]:
        """Bring the schema up to date; what is left to do by hand is returned."""
        del now  # nothing is copied, so no copy needs a date
        try:
            return await run_sync(self._write, self._changing, self._update, limiter=self._limiter)
        except BaseException:
            await self.aclose()
            raise

    async def read(self, fn: Callable[[Connection], T]) -> T:
        """Run `fn` in a thread on one moment of the database; it cannot write."""
        return await run_sync(self._read, fn, limiter=self._limiter)

    def _read(self, fn: Callable[[Connection], T]) -> T:
        self._be_open()
        try:
            with self._readers.connect() as connection:
                return fn(connection)
        except Exception as error:
            raise told(error, self._place.shown) from error

    async def write(self, fn: Callable[[Connection], T]) -> T:
        """Run `fn` in a transaction; again when another one got in its way."""
        return await run_sync(self._write, self._engine, fn, limiter=self._limiter)

    def _update(self, connection: Connection) -> tuple[str, ...]:
        return update(connection, self._place.shown)

    def _write(self, engine: Engine, fn: Callable[[Connection], T]) -> T:
        self._be_open()
        for attempt in range(_TRIES):
            try:
                with engine.begin() as connection:
                    return fn(connection)
            except Exception as error:
                if not is_retriable(error) or attempt == _TRIES - 1:
                    raise told(error, self._place.shown) from error
            time.sleep(random.uniform(0, 0.002 * 2**attempt))
        raise AssertionError("unreachable")

    def _be_open(self) -> None:
        if self._closed:
            raise StoreError("The database has been closed.")

    async def aclose(self) -> None:
        """Close the connections."""
        self._closed = True
        with anyio.CancelScope(shield=True):
            await run_sync(self._engine.dispose, limiter=self._limiter)
