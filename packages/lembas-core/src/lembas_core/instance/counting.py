"""How much an instance holds."""

from __future__ import annotations

from sqlalchemy import Connection, Table, func, select

from lembas_core.frozen import frozen
from lembas_core.store import tables

__all__ = ("Counts", "count")


@frozen(kw_only=True)
class Counts:
    """How many there are of each."""

    people: int
    chats: int
    messages: int


def count(connection: Connection) -> Counts:
    """Count them."""

    def rows(table: Table) -> int:
        return connection.execute(select(func.count()).select_from(table)).scalar_one()

    return Counts(people=rows(tables.people), chats=rows(tables.chats), messages=rows(tables.messages))
