from __future__ import annotations

import anyio
import pytest
from lembas_core.clock import SystemClock
from lembas_core.errors import Conflict, Invalid, NotFound
from lembas_core.people import passwords
from lembas_core.people.accounts import People
from lembas_core.people.owner import OWNER_ID, Holder
from lembas_core.store import Store, tables
from sqlalchemy import func, select, update

GOOD = "correct horse battery staple"


@pytest.fixture
def people(store: Store) -> People:
    return People(store, SystemClock())


async def rows(store: Store) -> int:
    return await store.read(lambda c: c.execute(select(func.count()).select_from(tables.people)).scalar_one())


async def test_reading_the_owner_writes_nothing(people: People, store: Store) -> None:
    owner = await people.owner()
    assert (owner.id, owner.role, owner.is_owner, owner.has_password) == (OWNER_ID, "admin", True, False)
    assert owner.created_at is None
    assert await people.get("owner") == owner
    assert await rows(store) == 0


async def test_the_owners_row_comes_with_the_first_write_that_needs_it_and_only_once(
    people: People, store: Store
) -> None:
    for _ in range(2):
        await store.write(Holder(OWNER_ID).ensure)
    assert await rows(store) == 1
    assert (await people.owner()).created_at is not None


async def test_two_first_writes_at_once_make_one_owner(store: Store) -> None:
    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(store.write, Holder(OWNER_ID).ensure)
    assert await rows(store) == 1


async def test_nobody_else_is_made_by_acting_for_them(store: Store) -> None:
    await store.write(Holder("somebody").ensure)
    assert await rows(store) == 0


async def test_the_first_administrator_is_the_owner_and_the_second_is_not(people: People) -> None:
    first = await people.create_admin("Frodo", GOOD)
    second = await people.create_admin("sam", GOOD)
    assert (first.id, first.name, first.display_name, first.has_password) == (
        OWNER_ID,
        "frodo",
        "Frodo",
        True,
    )
    assert second.id != OWNER_ID
    assert (second.role, second.is_owner) == ("admin", False)
    assert [person.name for person in await people.list()] == ["frodo", "sam"]


async def test_two_administrators_at_once_do_not_share_the_owners_account(people: People) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(people.create_admin, "frodo", GOOD)
        tasks.start_soon(people.create_admin, "sam", GOOD)
    everybody = await people.list()
    assert len(everybody) == 2
    assert sum(person.is_owner for person in everybody) == 1
    assert all(person.has_password for person in everybody)


async def test_a_name_can_be_taken_once_however_it_is_written(people: People) -> None:
    await people.create_admin("Frodo", GOOD)
    with pytest.raises(Conflict, match="already somebody called 'frodo'"):
        await people.create_admin("\uff26RODO", GOOD)


async def test_the_owner_may_keep_the_name_owner(people: People, store: Store) -> None:
    await store.write(Holder(OWNER_ID).ensure)
    assert (await people.create_admin("owner", GOOD)).id == OWNER_ID


@pytest.mark.parametrize("name", ["", "   ", "a b", "a\x00b", "x" * 65, "a\u200bb"])
async def test_a_name_that_cannot_be_used_is_refused(people: People, name: str) -> None:
    with pytest.raises(Invalid):
        await people.create_admin(name, GOOD)
    assert await people.list() == ()


async def test_signing_in_needs_the_right_name_and_password(people: People) -> None:
    made = await people.create_admin("frodo", GOOD)
    assert await people.verify("FRODO ", GOOD) == made
    assert await people.verify("frodo", GOOD + " ") is None
    assert await people.verify("sam", GOOD) is None
    assert await people.verify("owner", GOOD) is None
    assert await people.verify("", "") is None


async def test_an_owner_without_a_password_cannot_sign_in(people: People, store: Store) -> None:
    await store.write(Holder(OWNER_ID).ensure)
    assert await people.verify("owner", "") is None


async def test_somebody_who_was_switched_off_cannot_sign_in(people: People, store: Store) -> None:
    await people.create_admin("frodo", GOOD)
    await store.write(lambda c: c.execute(update(tables.people).values(active=False)).rowcount)
    assert await people.verify("frodo", GOOD) is None


async def test_a_name_that_does_not_exist_costs_one_hash_as_well(
    people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    real = passwords.matches

    def counted(hashed: str | None, password: str) -> bool:
        seen.append("hash" if hashed else "nobody's")
        return real(hashed, password)

    monkeypatch.setattr(passwords, "matches", counted)
    await people.create_admin("frodo", GOOD)
    await people.verify("frodo", "wrong password")
    await people.verify("nobody", "wrong password")
    assert seen == ["hash", "nobody's"]


async def test_a_hash_of_weaker_days_is_renewed_by_signing_in(people: People, store: Store) -> None:
    from argon2 import PasswordHasher

    weak = PasswordHasher(time_cost=1, memory_cost=8 * 1024).hash(GOOD)
    await people.create_admin("frodo", GOOD)
    await store.write(lambda c: c.execute(update(tables.people).values(password_hash=weak)).rowcount)
    assert await people.verify("frodo", GOOD) is not None
    kept = await store.read(lambda c: c.execute(select(tables.people.c.password_hash)).scalar_one())
    assert kept != weak
    assert passwords.matches(kept, GOOD)


@pytest.mark.parametrize(
    "password", ["x" * 8, "🗝" * 8, "p" * 64, "p" * 1024, " spaces count ", "naïve\x00nul"]
)
def test_any_eight_characters_or_more_are_a_password(password: str) -> None:
    hashed = passwords.hash_password(password)
    assert hashed.startswith("$argon2id$")
    assert passwords.matches(hashed, password)
    assert not passwords.matches(hashed, password[:-1])


@pytest.mark.parametrize("password", ["", "seven77", "x" * 1025, "lone \ud800 surrogate"])
def test_a_password_that_cannot_be_used_is_one_sentence_that_does_not_show_it(password: str) -> None:
    with pytest.raises(Invalid) as caught:
        passwords.hash_password(password)
    assert str(caught.value).startswith("The password ")
    assert not password or password not in str(caught.value)


@pytest.mark.parametrize("password", ["", "x" * 5000, "lone \ud800 surrogate"])
def test_signing_in_with_an_impossible_password_is_a_no(password: str) -> None:
    assert not passwords.matches(passwords.hash_password(GOOD), password)
    assert not passwords.matches(None, password)


async def test_somebody_who_does_not_exist_is_not_found(people: People) -> None:
    with pytest.raises(NotFound, match="nobody called 'gollum'"):
        await people.get("gollum")


async def test_a_person_is_found_by_name_and_by_id(people: People) -> None:
    made = await people.create_admin("sam", GOOD)
    assert await people.get("Sam") == await people.get(made.id) == made
