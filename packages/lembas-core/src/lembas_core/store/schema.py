"""What a database lacks: the difference between the tables as they are and as the code knows them.

Only additions are made: tables, columns, indexes, and what search needs. They are found by comparing, at
every start, not by counting versions, so a database converges whatever happened to it. `SCHEMA` only tells a
newer database from an older one. What would need more than an addition is told as a manual step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any, Final

from sqlalchemy import Column, Dialect
from sqlalchemy.schema import CreateColumn, CreateIndex, CreateTable

from lembas_core.errors import NewerDatabase, StoreError
from lembas_core.frozen import frozen
from lembas_core.store.tables import SCHEMA, metadata

__all__ = ("INDEXES", "SEARCH", "Found", "Present", "additions", "check", "manual_steps", "stamps")

SEARCH: Final = "1"
"""How text becomes search terms (`words`); when this changes, everything is indexed anew."""

INDEXES: Final = {
    "messages_running": "CREATE INDEX messages_running ON messages (status) WHERE status = 'running'",
}
"""Indexes that SQLAlchemy would need both dialects loaded for."""


@frozen
class Found:
    """A column of the database. `kind` is its declared type in capitals."""

    kind: str
    required: bool
    has_default: bool


@frozen
class Present:
    """What is in a database.

    Attributes:
        tables: The columns of each table.
        indexes: The names of indexes.
        objects: Triggers, functions and virtual tables, each as it was made.
        facts: The rows of `meta`.
    """

    tables: Mapping[str, Mapping[str, Found]]
    indexes: frozenset[str]
    objects: Mapping[str, str]
    facts: Mapping[str, str] = field(default_factory=dict[str, str])


def check(present: Present, where: str) -> None:
    """See that the database is one of ours, and not from the future.

    Raises:
        NewerDatabase: A newer LLeMbas wrote it.
        StoreError: Another program did.
    """
    if not present.tables:
        return
    version = present.facts.get("schema", "")
    if not version.isdigit():
        raise StoreError(f"The database {where} belongs to another program; choose another one.")
    if int(version) > SCHEMA:
        raise NewerDatabase(
            f"The database {where} was written by a newer LLeMbas (its schema is {version}, "
            f"this one knows {SCHEMA}); update LLeMbas to open it."
        )


def additions(present: Present, dialect: Dialect) -> Iterator[str]:
    """The statements that add what is missing, in order."""
    for table in metadata.sorted_tables:
        columns = present.tables.get(table.name)
        if columns is None:
            yield _said(CreateTable(table), dialect)
        else:
            yield from (_added(c, dialect) for c in table.columns if c.name not in columns)
    for table in metadata.sorted_tables:
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            if index.name not in present.indexes:
                yield _said(CreateIndex(index), dialect)
    yield from (statement for name, statement in INDEXES.items() if name not in present.indexes)


def _said(statement: Any, dialect: Dialect) -> str:
    return str(statement.compile(dialect=dialect)).strip()


def _added(column: Column[Any], dialect: Dialect) -> str:
    if not column.nullable and column.server_default is None:
        raise AssertionError(f"{column} cannot be added to rows that exist: it needs a server default")
    # A foreign key is part of a table's definition; a column that comes later brings its own.
    references = "".join(
        f" REFERENCES {key.column.table.name} ({key.column.name})"
        + (f" ON DELETE {key.ondelete}" if key.ondelete else "")
        for key in column.foreign_keys
    )
    return f"ALTER TABLE {column.table.name} ADD COLUMN {_said(CreateColumn(column), dialect)}{references}"


def manual_steps(present: Present, dialect: Dialect) -> tuple[str, ...]:
    """What is different and no addition can mend, each as a sentence."""
    return tuple(step for name in metadata.tables for step in _steps(name, present, dialect))


def _steps(name: str, present: Present, dialect: Dialect) -> Iterator[str]:
    known = metadata.tables[name].columns
    for column, found in present.tables.get(name, {}).items():
        if column not in known:
            if found.required and not found.has_default:
                yield (
                    f"Drop the column {name}.{column} or give it a default: "
                    "this LLeMbas does not know it and cannot fill it."
                )
            continue
        wanted = known[column]
        if wanted.nullable and found.required:
            yield f"Let the column {name}.{column} be empty (drop its NOT NULL)."
        kind = wanted.type.compile(dialect=dialect).upper()
        if found.kind != kind and not _same_kind(found.kind, kind):
            yield f"Change the type of the column {name}.{column} from {found.kind} to {kind}."


def _same_kind(*kinds: str) -> bool:
    names = [kind.partition("(")[0].strip() for kind in kinds]
    return len({_SYNONYMS.get(name, name) for name in names}) == 1


# PostgreSQL tells types by other names than those they were made with.
_SYNONYMS: Final = {
    "CHARACTER VARYING": "VARCHAR",
    "DOUBLE PRECISION": "FLOAT",
    "TEXT": "VARCHAR",
    "BIGSERIAL": "BIGINT",
}


def stamps(present: Present) -> Iterable[tuple[str, str]]:
    """The rows of `meta` that are not yet as they should be."""
    wanted = {"schema": str(SCHEMA), "search": SEARCH}
    return [(key, value) for key, value in wanted.items() if present.facts.get(key) != value]
