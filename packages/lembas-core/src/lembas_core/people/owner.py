"""The owner: the one person every database has, whose row is made with the first thing they write."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, Literal

from sqlalchemy import Connection, Row, select

from lembas_core.clock import Clock, SystemClock
from lembas_core.frozen import frozen
from lembas_core.store import tables

__all__ = (
    "OWNER_ID",
    "OWNER_NAME",
    "Holder",
    "PersonInfo",
    "ensure_owner",
    "person_info",
    "person_row",
    "read_owner",
)

OWNER_ID: Final = "00000000-0000-7000-8000-000000000001"
"""The owner's id in every database: known before the row is there, so that reading never has to write."""

OWNER_NAME: Final = "owner"


@frozen(kw_only=True)
class PersonInfo:
    """A person as others may see them.

    Attributes:
        id: Unique.
        name: What they sign in with, case-folded.
        display_name: How they want to be called.
        role: What they may do.
        active: Whether they may sign in.
        is_owner: Whether they are the person that a terminal or a script acts for.
        has_password: Whether they can sign in with a password.
        created_at: None while the owner has written nothing yet.
    """

    id: str
    name: str
    display_name: str
    role: Literal["admin", "user"]
    active: bool = True
    is_owner: bool = False
    has_password: bool = False
    created_at: datetime | None = None


class Holder:
    """Whom the rows of a service belong to."""

    __slots__ = ("_clock", "id")

    def __init__(self, id: str, clock: Clock | None = None) -> None:
        self.id: str = id
        self._clock = clock or SystemClock()

    def ensure(self, connection: Connection) -> None:
        """Make the owner's row when it is theirs and not there yet; called inside a write."""
        if self.id == OWNER_ID:
            ensure_owner(connection, self._clock.now())


def ensure_owner(connection: Connection, now: datetime) -> None:
    """Make the owner's row when it is missing; two first chats may come at once."""
    people = tables.people
    if connection.execute(select(people.c.id).where(people.c.id == OWNER_ID)).first() is None:
        row = {"id": OWNER_ID, "name": OWNER_NAME, "display_name": "", "role": "admin"}
        insert = _insert(connection.dialect.name).insert(people).on_conflict_do_nothing()
        connection.execute(insert.values(**row, is_owner=True, created_at=now))


def _insert(dialect: str) -> Any:
    if dialect == "postgresql":
        from sqlalchemy.dialects import postgresql

        return postgresql
    from sqlalchemy.dialects import sqlite

    return sqlite


def read_owner(connection: Connection) -> PersonInfo:
    """The owner, with a row or still without."""
    row = person_row(connection, OWNER_ID)
    if row is not None:
        return person_info(row)
    return PersonInfo(id=OWNER_ID, name=OWNER_NAME, display_name="", role="admin", is_owner=True)


def person_info(row: Row[Any]) -> PersonInfo:
    """A person's row as others may see it."""
    return PersonInfo(
        id=row.id,
        name=row.name,
        display_name=row.display_name,
        role=row.role,
        active=row.active,
        is_owner=row.is_owner,
        has_password=row.password_hash is not None,
        created_at=row.created_at,
    )


def person_row(connection: Connection, person_id: str) -> Row[Any] | None:
    """The row of a person."""
    people = tables.people
    return connection.execute(select(people).where(people.c.id == person_id)).one_or_none()
