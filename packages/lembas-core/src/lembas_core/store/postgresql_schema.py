"""Bring a PostgreSQL database up to date: look, add, all or nothing.

There is no copy: PostgreSQL undoes a failed change of the schema as a whole, and has backups of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sqlalchemy import Connection, select, text

from lembas_core.store import postgresql_index
from lembas_core.store.schema import Found, Present, additions, check, manual_steps, stamps
from lembas_core.store.tables import meta

__all__ = ("update",)

# Any number that no other program is likely to lock; "LLMB" in ASCII.
_LOCK: Final = 0x4C4C4D42

_COLUMNS: Final = text("""
SELECT c.relname, a.attname, upper(format_type(a.atttypid, a.atttypmod)),
       a.attnotnull AND NOT EXISTS (SELECT 1 FROM pg_index i
           WHERE i.indrelid = c.oid AND i.indisprimary AND a.attnum = ANY (i.indkey)),
       a.atthasdef
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
  AND a.attnum > 0 AND NOT a.attisdropped""")

_MADE: Final = text("""
SELECT relname FROM pg_class WHERE relkind = 'i' AND relnamespace = current_schema()::regnamespace
UNION ALL SELECT dictname FROM pg_ts_dict WHERE dictnamespace = current_schema()::regnamespace
UNION ALL SELECT cfgname FROM pg_ts_config WHERE cfgnamespace = current_schema()::regnamespace""")


_FACTS: Final = select(meta.c.key, meta.c.value)


def update(connection: Connection, where: str) -> tuple[str, ...]:
    """Add what is missing, within the transaction that runs; what is left to do by hand is returned."""
    present = _look(connection)
    check(present, where)
    if [*stamps(present)] or [*_statements(present, connection)]:
        connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _LOCK})
        present = _look(connection)
        check(present, where)
        _add(connection, present)
        present = _look(connection)
    return manual_steps(present, connection.dialect)


def _look(connection: Connection) -> Present:
    tables: dict[str, dict[str, Found]] = {}
    for table, column, kind, required, has_default in connection.execute(_COLUMNS):
        tables.setdefault(table, {})[column] = Found(kind, required, has_default)
    names = frozenset(connection.scalars(_MADE))
    facts: dict[str, str] = {}
    if {"key", "value"} <= tables.get("meta", {}).keys():
        facts = dict(connection.execute(_FACTS).all())
    return Present(tables, names, {}, facts)


def _statements(present: Present, connection: Connection) -> Iterator[str]:
    yield from additions(present, connection.dialect)
    there = {
        *present.indexes,
        *(f"{table}.{c}" for table, columns in present.tables.items() for c in columns),
    }
    if "lembas" in there:
        there.add("lembas mapping")
    yield from (statement for name, statement in postgresql_index.MADE_ONCE.items() if name not in there)


def _add(connection: Connection, present: Present) -> None:
    for statement in _statements(present, connection):
        connection.exec_driver_sql(statement)
    stale = dict(stamps(present))
    if "search" in stale:
        collation = connection.scalar(text(postgresql_index.COLLATION))
        for statement in (*postgresql_index.made_anew(collation), *postgresql_index.REFILL):
            connection.exec_driver_sql(statement)
    stamp = text("INSERT INTO meta VALUES (:key, :value) ON CONFLICT (key) DO UPDATE SET value = :value")
    for key, value in stale.items():
        connection.execute(stamp, {"key": key, "value": value})
