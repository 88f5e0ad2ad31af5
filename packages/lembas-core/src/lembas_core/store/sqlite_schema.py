"""Bring an SQLite file up to date: look, copy, add, all or nothing."""

from __future__ import annotations

import glob
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path
from typing import Final

from sqlalchemy import Dialect

from lembas_core.errors import StoreError
from lembas_core.store import sqlite_index
from lembas_core.store.faults import told
from lembas_core.store.schema import Found, Present, additions, check, stamps

__all__ = ("COPIES", "is_current", "look", "peek", "update")

COPIES: Final = 3
"""How many copies from before changes are kept beside a database."""

_COLUMNS: Final = """
SELECT t.name, c.name, upper(c.type), c."notnull" AND NOT c.pk, c.dflt_value IS NOT NULL
FROM sqlite_master t JOIN pragma_table_info(t.name) c
WHERE t.type = 'table' AND t.sql NOT LIKE 'CREATE VIRTUAL %' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"""


def look(connection: sqlite3.Connection) -> Present:
    """What is in the database."""
    tables: dict[str, dict[str, Found]] = {}
    for table, column, kind, required, has_default in connection.execute(_COLUMNS):
        tables.setdefault(table, {})[column] = Found(kind, bool(required), bool(has_default))
    made = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    indexes = frozenset(name for kind, name, _ in made if kind == "index")
    objects = {name: sql for _, name, sql in made if name in sqlite_index.DDL}
    ours = "meta" in tables and {"key", "value"} <= tables["meta"].keys()
    facts = dict(connection.execute("SELECT key, value FROM meta").fetchall()) if ours else {}
    return Present(tables, indexes, objects, facts)


def peek(path: Path) -> Present | None:
    """What is in a file, without changing one byte of it; None when there is nothing."""
    if path.is_dir():
        raise IsADirectoryError
    if not path.exists() or not path.stat().st_size:
        return None
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        return look(connection)


def is_current(present: Present, dialect: Dialect) -> bool:
    """Whether nothing is missing."""
    return not [*stamps(present)] and not [*_statements(present, dialect)]


def _statements(present: Present, dialect: Dialect) -> Iterator[str]:
    yield from additions(present, dialect)
    for name, statement in sqlite_index.DDL.items():
        there = present.objects.get(name)
        if there == statement:
            continue
        if there is not None:
            yield f"DROP {'TRIGGER' if there.startswith('CREATE TRIGGER') else 'TABLE'} {name}"
        yield statement


def update(connection: sqlite3.Connection, path: Path | None, dialect: Dialect, now: datetime) -> None:
    """Add what is missing, in one transaction; copy the file first when there is something to lose.

    Raises:
        StoreError: It could not be done; everything is as it was.
    """
    copy: Path | None = None
    try:
        connection.execute("BEGIN IMMEDIATE")
        present = look(connection)
        check(present, str(path))
        if path is not None and present.tables and not is_current(present, dialect):
            copy = _copy(path, now)
        _add(connection, present, dialect)
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise _failed(error, path, copy) from error
    finally:
        connection.rollback()


def _add(connection: sqlite3.Connection, present: Present, dialect: Dialect) -> None:
    missing = [*_statements(present, dialect)]
    for statement in missing:
        connection.execute(statement)
    stale = stamps(present)
    if "search" in dict(stale) or sqlite_index.DDL["search_words"] in missing:
        sqlite_index.refill(connection)
    connection.executemany("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", stale)


def _copy(path: Path, now: datetime) -> Path:
    copy = path.with_name(f"{path.name}.{now:%Y%m%d-%H%M%S}.copy")
    os.close(os.open(copy, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600))
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            connection.execute("VACUUM INTO ?", (str(copy),))
    except sqlite3.Error:
        copy.unlink()
        raise
    for old in sorted(path.parent.glob(f"{glob.escape(path.name)}.*.copy"))[:-COPIES]:
        with suppress(OSError):
            old.unlink()
    return copy


def _failed(error: sqlite3.Error, path: Path | None, copy: Path | None) -> StoreError:
    reason = str(told(error, str(path))).rstrip(".")
    beside = f" A copy from before is in {copy}." if copy else ""
    return StoreError(f"The database could not be brought up to date and is as it was: {reason}.{beside}")
