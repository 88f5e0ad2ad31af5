"""Where a database is: a path, `:memory:`, or a URL of SQLite or PostgreSQL."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import Literal

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from lembas_core.errors import StoreError
from lembas_core.frozen import frozen

__all__ = ("Place", "find_place")


@frozen
class Place:
    """A database that can be opened.

    Attributes:
        dialect: Which kind of database.
        path: The file of an SQLite database, None in memory and for PostgreSQL.
        url: What SQLAlchemy is given; holds the password.
        shown: What may be shown: the path, or the URL without its password.
    """

    dialect: Literal["sqlite", "postgresql"]
    path: Path | None
    url: URL = field(repr=False)
    shown: str


def find_place(where: str | Path) -> Place:
    """The place that `where` names.

    Raises:
        StoreError: It is a URL of a kind of database that is not supported.
    """
    if isinstance(where, Path) or "://" not in where:
        return _file(str(where))
    try:
        url = make_url(where)
    except ArgumentError:
        raise StoreError(
            "The database URL cannot be read; it looks like postgresql://user@host/name."
        ) from None
    match url.get_backend_name():
        case "sqlite":
            return _file(url.database or ":memory:", **url.query)
        case "postgresql" | "postgres":
            return _postgresql(url)
        case other:
            raise StoreError(f"A database of the kind {other!r} is not supported; use SQLite or PostgreSQL.")


def _file(name: str, **query: str | tuple[str, ...]) -> Place:
    if name == ":memory:":
        return Place("sqlite", None, URL.create("sqlite"), ":memory:")
    path = Path(name).expanduser().absolute()
    return Place("sqlite", path, URL.create("sqlite", database=str(path), query=query), str(path))


def _postgresql(url: URL) -> Place:
    url = url.set(drivername="postgresql+psycopg")
    shown = url.set(drivername="postgresql").render_as_string(hide_password=True)
    return Place("postgresql", None, url, shown)
