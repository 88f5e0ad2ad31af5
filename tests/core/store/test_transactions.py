from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lembas_core.errors import Conflict, StoreError
from lembas_core.ids import new_id
from lembas_core.store import Store, tables
from lembas_core.store.rows import add
from sqlalchemy import Connection, func, insert, select, update

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def person(name: str) -> dict[str, Any]:
    return {"id": new_id(), "name": name, "created_at": NOW}


def adding(name: str) -> Callable[[Connection], None]:
    return lambda connection: add(connection, tables.people, person(name))


def count_people(connection: Connection) -> int:
    return connection.scalar(select(func.count()).select_from(tables.people)) or 0


def names(connection: Connection) -> set[str]:
    return set(connection.scalars(select(tables.people.c.name)))


async def test_what_is_written_can_be_read(store: Store) -> None:
    def fn(connection: Connection) -> str:
        connection.execute(insert(tables.people), person("sam"))
        return "done"

    assert await store.write(fn) == "done"
    assert await store.read(names) == {"sam"}


async def test_a_function_that_raises_is_undone_and_its_neighbours_are_not(store: Store) -> None:
    async def write(number: int) -> None:
        def fn(connection: Connection) -> None:
            add(connection, tables.people, person(f"p{number}"))
            if number % 3 == 0:
                raise KeyError(number)

        try:
            await store.write(fn)
        except KeyError:
            assert number % 3 == 0

    async with anyio.create_task_group() as tasks:
        for number in range(40):
            tasks.start_soon(write, number)
    assert await store.read(names) == {f"p{number}" for number in range(40) if number % 3}


async def test_writers_that_read_before_they_write_lose_nothing(store: Store) -> None:
    key = {"key": "n", "value": 0, "updated_at": NOW}
    await store.write(lambda c: c.execute(insert(tables.settings), key))

    def increase(connection: Connection) -> None:
        value = connection.scalars(select(tables.settings.c.value)).one()
        connection.execute(update(tables.settings).values(value=value + 1))

    async with anyio.create_task_group() as tasks:
        for _ in range(25):
            tasks.start_soon(store.write, increase)
    assert await store.read(lambda c: c.scalar(select(tables.settings.c.value))) == 25


async def test_a_cancelled_write_is_done_as_a_whole_or_not_at_all(store: Store) -> None:
    async def write_two(number: int, scope: anyio.CancelScope) -> None:
        def fn(connection: Connection) -> None:
            for half in "ab":
                add(connection, tables.people, person(f"{number}{half}"))

        with scope:
            await store.write(fn)

    async with anyio.create_task_group() as tasks:
        for number in range(30):
            scope = anyio.CancelScope()
            tasks.start_soon(write_two, number, scope)
            if number % 2:
                await anyio.lowlevel.checkpoint()
                scope.cancel()
    found = await store.read(names)
    assert {name[:-1] for name in found if name.endswith("a")} == {n[:-1] for n in found if n.endswith("b")}
    assert {f"{number}a" for number in range(0, 30, 2)} <= found


async def test_closing_waits_for_what_was_asked(lasting: str) -> None:
    store = await Store.open(lasting)
    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(store.write, adding(f"p{number}"))
        await anyio.wait_all_tasks_blocked()
        await store.aclose()
    store = await Store.open(lasting)
    assert await store.read(count_people) == 20
    await store.aclose()


async def test_a_closed_store_says_so(store: Store) -> None:
    await store.aclose()
    with pytest.raises(StoreError, match="has been closed"):
        await store.read(count_people)
    with pytest.raises(StoreError, match="has been closed"):
        await store.write(count_people)


async def test_a_second_thing_of_the_same_name_is_a_conflict(store: Store) -> None:
    await store.write(lambda c: c.execute(insert(tables.people), person("sam")))
    with pytest.raises(Conflict):
        await store.write(lambda c: c.execute(insert(tables.people), person("sam")))
    with pytest.raises(Conflict):
        await store.write(lambda c: add(c, tables.people, person("sam")))
    assert await store.read(count_people) == 1


async def test_a_message_needs_its_chat(store: Store) -> None:
    row = {"id": new_id(), "chat_id": new_id(), "role": "user", "text": "hi", "created_at": NOW}
    with pytest.raises(Conflict):
        await store.write(lambda c: add(c, tables.messages, row))


async def test_whoever_reads_cannot_write(store: Store) -> None:
    with pytest.raises(StoreError):
        await store.read(lambda c: c.execute(insert(tables.people), person("sam")))
    await store.write(lambda c: c.execute(insert(tables.people), person("rosie")))
    assert await store.read(names) == {"rosie"}


async def test_a_reader_sees_one_moment(lasting: str) -> None:
    store = await Store.open(lasting)
    begun, go_on = threading.Event(), threading.Event()

    def look_twice(connection: Connection) -> tuple[int, int]:
        first = count_people(connection)
        begun.set()
        go_on.wait(20)
        return first, count_people(connection)

    looked: list[tuple[int, int]] = []

    async def read() -> None:
        looked.append(await store.read(look_twice))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        await anyio.to_thread.run_sync(begun.wait, 20)
        await store.write(lambda c: c.execute(insert(tables.people), person("sam")))
        go_on.set()
    assert looked == [(0, 0)]
    assert await store.read(count_people) == 1
    await store.aclose()


async def test_a_reader_that_outlasts_the_closing_leaves_no_file_open(tmp_path: Path) -> None:
    store = await Store.open(tmp_path / "lembas.db")
    begun, go_on = threading.Event(), threading.Event()

    def look(connection: Connection) -> int:
        begun.set()
        go_on.wait(20)
        return count_people(connection)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(store.read, look)
        await anyio.to_thread.run_sync(begun.wait, 20)
        await store.aclose()
        go_on.set()
    left = [file.path for file in psutil.Process().open_files()]
    assert not [path for path in left if path.startswith(str(tmp_path))]


async def test_closing_a_database_in_memory_waits_for_who_reads() -> None:
    store = await Store.open(":memory:")
    begun, go_on, counted = threading.Event(), threading.Event(), list[int]()

    def look(connection: Connection) -> int:
        begun.set()
        go_on.wait(20)
        return count_people(connection)

    async def read() -> None:
        counted.append(await store.read(look))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        await anyio.to_thread.run_sync(begun.wait, 20)
        tasks.start_soon(store.aclose)
        await anyio.wait_all_tasks_blocked()
        go_on.set()
    assert counted == [0]


async def test_text_loses_only_what_no_database_takes(store: Store) -> None:
    text = "a\0b \ud800 \ud83d\ude00 \u00e9"
    row = {"key": "k\0", "value": {"t\0": [text, 1, None, ("x\0",)]}, "updated_at": NOW}
    await store.write(lambda c: add(c, tables.settings, row))
    found = await store.read(
        lambda c: c.execute(select(tables.settings).where(tables.settings.c.key == "k\0")).one()
    )
    assert found.key == "k"
    assert found.value == {"t": ["ab \ufffd \U0001f600 \u00e9", 1, None, ["x"]]}


async def test_moments_come_back_in_utc(store: Store) -> None:
    east = NOW.astimezone(timezone(timedelta(hours=9))) + timedelta(microseconds=7)
    row = {"key": "k", "value": 1, "updated_at": east}
    await store.write(lambda c: add(c, tables.settings, row))
    found = await store.read(lambda c: c.scalar(select(tables.settings.c.updated_at)))
    assert (found, found and found.tzinfo) == (east, UTC)
    with pytest.raises(ValueError, match="time zone"):
        await store.write(lambda c: add(c, tables.settings, row | {"updated_at": NOW.replace(tzinfo=None)}))


json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
).filter(lambda value: value is not None and "\\u0000" not in ascii(value) and "\\x00" not in ascii(value))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=json)
async def test_json_comes_back_as_it_was(store: Store, value: Any) -> None:
    key = new_id()
    await store.write(lambda c: add(c, tables.settings, {"key": key, "value": value, "updated_at": NOW}))
    one = select(tables.settings.c.value).where(tables.settings.c.key == key)
    assert await store.read(lambda c: c.scalar(one)) == value


async def test_two_stores_on_one_file_wait_for_each_other(tmp_path: Path) -> None:
    first, second = [await Store.open(tmp_path / "lembas.db") for _ in range(2)]
    async with anyio.create_task_group() as tasks:
        for number in range(60):
            store = (first, second)[number % 2]
            tasks.start_soon(store.write, adding(f"p{number}"))
    assert await first.read(count_people) == 60
    for store in (first, second):
        await store.aclose()


async def test_a_lost_connection_is_replaced(postgresql_url: str) -> None:
    first, second = [await Store.open(postgresql_url) for _ in range(2)]
    await second.write(
        lambda c: c.exec_driver_sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ).all()
    )
    assert await first.read(count_people) == 0
    for store in (first, second):
        await store.aclose()


async def test_a_database_that_is_not_there_is_told(postgresql_server: str) -> None:
    with pytest.raises(StoreError, match="does not exist"):
        await Store.open(f"postgresql://postgres@/nowhere?host={postgresql_server}")
    with pytest.raises(StoreError, match="cannot be reached") as caught:
        await Store.open("postgresql://sam:secret@/x?host=/nonexistent")
    assert "secret" not in str(caught.value)
