"""People: the owner of a small installation, administrators and their passwords."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, TypeVar

import anyio
import anyio.to_thread
from sqlalchemy import Connection, Row, insert, select, update

from lembas_core.clock import Clock
from lembas_core.errors import Conflict, Invalid, NotFound
from lembas_core.ids import new_id
from lembas_core.people.owner import (
    OWNER_ID,
    OWNER_NAME,
    PersonInfo,
    ensure_owner,
    person_info,
    person_row,
    read_owner,
)
from lembas_core.store import Store, tables

__all__ = ("People", "fold_name")

T = TypeVar("T")

LONGEST_NAME: Final = 64

HASHES_AT_ONCE: Final = 2
"""Each takes 64 MiB and some 50 ms of several cores."""


class People:
    """The people of one instance."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._hashing = anyio.CapacityLimiter(HASHES_AT_ONCE)

    async def owner(self) -> PersonInfo:
        """The person that a terminal or a script acts for; reading writes nothing."""
        return await self._store.read(read_owner)

    async def get(self, name_or_id: str) -> PersonInfo:
        """One person by name or id.

        Raises:
            NotFound: There is nobody of that name.
        """
        found = await self._store.read(lambda connection: _find(connection, name_or_id))
        if found is None:
            raise NotFound(f"There is nobody called {name_or_id!r}.")
        return found

    async def list(self) -> tuple[PersonInfo, ...]:
        """Everybody with a row, the earliest first."""
        return await self._store.read(_read_all)

    async def create_admin(self, name: str, password: str) -> PersonInfo:
        """Make an administrator's account; the first one becomes the owner's own.

        Raises:
            Invalid: The name or the password cannot be used.
            Conflict: Somebody has that name.
        """
        from lembas_core.people.passwords import hash_password

        folded = fold_name(name)
        hashed = await self._in_thread(lambda: hash_password(password))
        account = {"name": folded, "display_name": name.strip(), "password_hash": hashed}
        now = self._clock.now()
        return await self._store.write(lambda connection: _add_admin(connection, account, now))

    async def verify(self, name: str, password: str) -> PersonInfo | None:
        """The person whose name and password these are; None otherwise, after the same time."""
        from lembas_core.people.passwords import hash_password, matches, outdated

        person, hashed = await self._store.read(lambda connection: _credentials(connection, name))
        good = await self._in_thread(lambda: matches(hashed, password))
        if not good or person is None or hashed is None:
            return None
        if outdated(hashed):
            fresh = await self._in_thread(lambda: hash_password(password))
            await self._store.write(lambda connection: _replace_hash(connection, person.id, hashed, fresh))
        return person

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await anyio.to_thread.run_sync(work, limiter=self._hashing)


def fold_name(name: str) -> str:
    """A name as it is stored and compared.

    Raises:
        Invalid: It is empty, too long, or holds spaces or characters that cannot be seen.
    """
    folded = unicodedata.normalize("NFKC", name.strip()).casefold()
    if not folded or len(folded) > LONGEST_NAME:
        raise Invalid(f"A name has 1 to {LONGEST_NAME} characters.")
    if not folded.isprintable() or any(character.isspace() for character in folded):
        raise Invalid("A name holds no spaces and no invisible characters.")
    return folded


def _by_name(connection: Connection, name: str) -> Row[Any] | None:
    try:
        folded = fold_name(name)
    except Invalid:
        return None
    people = tables.people
    return connection.execute(select(people).where(people.c.name == folded)).one_or_none()


def _read_all(connection: Connection) -> tuple[PersonInfo, ...]:
    people = tables.people
    return tuple(person_info(row) for row in connection.execute(select(people).order_by(people.c.id)))


def _find(connection: Connection, name_or_id: str) -> PersonInfo | None:
    row = person_row(connection, name_or_id) or _by_name(connection, name_or_id)
    if row is not None:
        return person_info(row)
    return read_owner(connection) if name_or_id in {OWNER_ID, OWNER_NAME} else None


def _credentials(connection: Connection, name: str) -> tuple[PersonInfo | None, str | None]:
    row = _by_name(connection, name)
    if row is None or not row.active:
        return None, None
    return person_info(row), row.password_hash


def _add_admin(connection: Connection, account: dict[str, Any], now: datetime) -> PersonInfo:
    people = tables.people
    ensure_owner(connection, now)
    owner, taken = person_row(connection, OWNER_ID), _by_name(connection, account["name"])
    vacant = owner is not None and owner.password_hash is None
    if taken is not None and not (vacant and taken.id == OWNER_ID):
        raise Conflict(f"There is already somebody called {account['name']!r}.")
    person_id = OWNER_ID if vacant else new_id()
    if vacant:
        connection.execute(update(people).where(people.c.id == person_id).values(**account))
    else:
        connection.execute(insert(people).values(**account, id=person_id, role="admin", created_at=now))
    return person_info(connection.execute(select(people).where(people.c.id == person_id)).one())


def _replace_hash(connection: Connection, person_id: str, seen: str, fresh: str) -> None:
    people = tables.people
    # A password that was changed meanwhile must not come back.
    same = (people.c.id == person_id, people.c.password_hash == seen)
    connection.execute(update(people).where(*same).values(password_hash=fresh))
