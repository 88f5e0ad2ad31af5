"""The database, for code that runs on an event loop: functions of a connection, run in threads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal, TypeVar

from sqlalchemy import Connection

from lembas_core.clock import Clock, SystemClock
from lembas_core.store.places import Place, find_place
from lembas_core.store.sqlite import SQLite

__all__ = ("Store",)

T = TypeVar("T")

_CLOCK: Final = SystemClock()


class Store:
    """An open database. Made by `Store.open`, closed by `aclose`.

    A transaction is a function of a SQLAlchemy `Connection`: it runs in a thread, returns plain values or
    fetched rows, never commits, and undoes what it did by raising. It may run twice, so it does nothing else.

    Attributes:
        manual_steps: What the database needs and cannot be done by itself, each as a sentence.
    """

    def __init__(self, place: Place) -> None:
        """`Store.open` is for everybody; this opens nothing yet."""
        self._place = place
        self.manual_steps: tuple[str, ...] = ()
        if place.dialect == "sqlite":
            self._database = SQLite(place)
        else:
            from lembas_core.store.postgresql import PostgreSQL

            self._database = PostgreSQL(place)

    @classmethod
    async def open(cls, where: str | Path, *, clock: Clock = _CLOCK) -> Store:
        """Open a database and bring its schema up to date, making it when there is none.

        Args:
            where: A path, `":memory:"`, or a URL (`sqlite:///…`, `postgresql://…`).
            clock: What tells the date for the name of a copy.

        Raises:
            StoreError: It cannot be opened; the sentence says why and what to do.
            NewerDatabase: A newer LLeMbas wrote it; it is left untouched.
        """
        store = cls(find_place(where))
        store.manual_steps = await store._database.open(clock.now())
        return store

    @property
    def url(self) -> str:
        """Where the database is, without a password."""
        return self._place.shown

    @property
    def dialect(self) -> Literal["sqlite", "postgresql"]:
        """Which kind of database it is."""
        return self._place.dialect

    @property
    def path(self) -> Path | None:
        """The file, None in memory and for PostgreSQL."""
        return self._place.path

    async def read(self, fn: Callable[[Connection], T]) -> T:
        """Run `fn` on one moment of the database, beside other readers; it cannot write."""
        return await self._database.read(fn)

    async def write(self, fn: Callable[[Connection], T]) -> T:
        """Run `fn` in a transaction and return what it returns once that is committed.

        Cancelled, it is done as a whole or not at all.

        Raises:
            Conflict: A constraint is broken: somebody else changed or made the same thing first.
            StoreError: The disk is full, the database locked, damaged or gone.
        """
        return await self._database.write(fn)

    async def aclose(self) -> None:
        """Finish what was asked and close the database."""
        await self._database.aclose()
