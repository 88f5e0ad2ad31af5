from __future__ import annotations

from lembas_core.store import Store, tables
from sqlalchemy import Connection, func, select


def count_people(connection: Connection) -> int:
    return connection.scalar(select(func.count()).select_from(tables.people)) or 0


async def test_a_new_database_is_empty(store: Store) -> None:
    assert await store.read(count_people) == 0
