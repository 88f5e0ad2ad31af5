"""The owner: the one person every database has, whose row is made with the first thing they write."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, insert, select

from lembas_core.clock import Clock, SystemClock
from lembas_core.store import tables

__all__ = ("OWNER_ID", "OWNER_NAME", "Holder", "ensure_owner")

OWNER_ID: Final = "00000000-0000-7000-8000-000000000001"
"""The owner's id in every database: known before the row is there, so that reading never has to write."""

OWNER_NAME: Final = "owner"


@dataclass(frozen=True, slots=True)
class Holder:
    """Whom the rows of a service belong to."""

    id: str
    clock: Clock = field(default_factory=SystemClock)

    def ensure(self, connection: Connection) -> None:
        """Make the owner's row when it is theirs and not there yet; called inside a write."""
        if self.id == OWNER_ID:
            ensure_owner(connection, self.clock.now())


def ensure_owner(connection: Connection, now: datetime) -> None:
    """Make the owner's row when it is missing."""
    people = tables.people
    if connection.execute(select(people.c.id).where(people.c.id == OWNER_ID)).first() is None:
        connection.execute(
            insert(people).values(
                id=OWNER_ID, name=OWNER_NAME, display_name="", role="admin", is_owner=True, created_at=now
            )
        )
