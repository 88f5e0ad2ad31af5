from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest
from lembas_core.errors import NewerDatabase, StoreError
from lembas_core.ids import new_id
from lembas_core.store import Store, tables
from lembas_core.store.rows import add
from lembas_core.store.search import search
from sqlalchemy import Connection, func, select, text

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
PERSON = new_id()


async def fill(where: str | Path, *texts: str) -> None:
    """A database with one chat in which these are said."""
    store = await Store.open(where)
    chat = {"id": new_id(), "person_id": PERSON, "title": "Lembas", "created_at": NOW, "updated_at": NOW}

    def write(c: Connection) -> None:
        add(c, tables.people, {"id": PERSON, "name": "sam", "created_at": NOW})
        add(c, tables.chats, chat)
        for said in texts:
            row = {"id": new_id(), "chat_id": chat["id"], "role": "user", "text": said, "created_at": NOW}
            add(c, tables.messages, row)

    await store.write(write)
    await store.aclose()


async def run(where: str | Path, *statements: str) -> None:
    """Do something to a database behind our back."""
    store = await Store.open(where)

    def fn(connection: Connection) -> None:
        for statement in statements:
            connection.execute(text(statement))

    await store.write(fn)
    await store.aclose()


def files(folder: Path, pattern: str = "*") -> list[Path]:
    return sorted(folder.glob(pattern))


def content(path: Path) -> tuple[bytes, int]:
    """What is in a file and when that was written."""
    return (path.read_bytes(), path.stat().st_mtime_ns) if path.is_file() else (b"", 0)


def mode(path: Path) -> str:
    return f"{path.stat().st_mode & 0o777:o}"


def texts(connection: Connection) -> list[str]:
    return [*connection.scalars(select(tables.messages.c.text).order_by(tables.messages.c.number))]


async def contents(where: str | Path) -> list[str]:
    store = await Store.open(where)
    found = await store.read(texts)
    await store.aclose()
    return found


async def found(where: str | Path, query: str) -> int:
    store = await Store.open(where)
    hits = await store.read(lambda c: search(c, PERSON, query))
    await store.aclose()
    return len(hits)


@pytest.mark.parametrize(
    "loss",
    [
        "ALTER TABLE messages DROP COLUMN rounds",
        "ALTER TABLE chats DROP COLUMN deleted_at",
        "DROP INDEX messages_by_chat",
        "DROP INDEX messages_running",
        "DROP TABLE models",
    ],
)
async def test_what_an_older_database_lacks_is_added(lasting: str, loss: str) -> None:
    await fill(lasting, "one", "two")
    await run(lasting, loss)
    store = await Store.open(lasting)
    assert await store.read(texts) == ["one", "two"]
    for table in tables.metadata.sorted_tables:
        await store.read(lambda c, table=table: c.execute(select(table)).all())
    assert await store.read(lambda c: c.scalar(select(func.max(tables.messages.c.rounds)))) == 0
    assert store.manual_steps == ()
    await store.aclose()


async def test_search_comes_back_when_its_parts_are_lost(tmp_path: Path) -> None:
    path = tmp_path / "lembas.db"
    await fill(path, "waybread")
    await run(path, "DROP TABLE search_words", "DROP TRIGGER search_message_added")
    assert await found(path, "waybread") == 1


async def test_a_file_is_copied_before_it_is_changed(tmp_path: Path) -> None:
    path = tmp_path / "lembas.db"
    await fill(path, "one")
    assert files(tmp_path) == [path]
    for _ in range(5):
        await run(path, "DROP INDEX messages_by_chat")
        assert await contents(path) == ["one"]
    copies = files(tmp_path, "*.copy")
    assert 1 <= len(copies) <= 3
    assert {mode(file) for file in (path, *copies)} == {"600"}
    assert await contents(copies[0]) == ["one"]


async def test_opening_what_is_up_to_date_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lembas.db"
    await fill(path, "one")
    before = content(path)
    assert await contents(path) == ["one"]
    assert content(path) == before
    assert files(tmp_path) == [path]


async def test_a_newer_database_is_refused_and_left_alone(lasting: str) -> None:
    await fill(lasting, "one")
    await run(lasting, "UPDATE meta SET value = '999' WHERE key = 'schema'")
    before = content(Path(lasting))
    with pytest.raises(NewerDatabase, match="update LLeMbas"):
        await Store.open(lasting)
    assert content(Path(lasting)) == before


async def test_a_change_that_fails_leaves_the_database_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "lembas.db"
    await fill(path, "one")
    await run(path, "DROP TABLE models", "CREATE VIEW models AS SELECT 1", "DROP INDEX messages_by_chat")
    before = content(path)
    with pytest.raises(StoreError, match="as it was") as caught:
        await Store.open(path)
    copy = files(tmp_path, "*.copy")[0]
    assert str(copy) in str(caught.value)
    assert content(path) == before
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("SELECT text FROM messages").fetchall() == [("one",)]


KILLED = """
import os, sqlite3, sys, anyio
from lembas_core.store import Store

left = int(sys.argv[2])

class Mortal(sqlite3.Connection):
    def execute(self, *args):
        global left
        left -= 1
        if left < 0:
            os._exit(9)
        return super().execute(*args)

connect = sqlite3.connect
sqlite3.connect = lambda *a, **k: connect(*a, factory=Mortal, **k)

async def main():
    store = await Store.open(sys.argv[1])
    await store.aclose()

anyio.run(main)
"""


@pytest.mark.parametrize("statements", [6, 12, 20, 26, 32])
async def test_a_start_that_was_killed_midway_is_made_good_by_the_next(
    tmp_path: Path, statements: int
) -> None:
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    await fill(old, "one")
    await run(old, "DROP INDEX messages_by_chat", "DROP TABLE models", "DROP TRIGGER search_chat_added")
    for path in (old, new):
        await anyio.run_process([sys.executable, "-c", KILLED, str(path), str(statements)], check=False)
    assert await contents(old) == ["one"]
    assert await contents(new) == []


async def test_what_cannot_be_added_is_told_as_a_manual_step(lasting: str) -> None:
    await fill(lasting)
    await run(
        lasting,
        "ALTER TABLE settings DROP COLUMN value",
        "ALTER TABLE settings ADD COLUMN value INTEGER",
        "ALTER TABLE models ADD COLUMN extra INTEGER NOT NULL DEFAULT 0",
    )
    store = await Store.open(lasting)
    assert [step for step in store.manual_steps if "settings.value" in step]
    assert not [step for step in store.manual_steps if "extra" in step]
    await store.aclose()


def letter(path: Path) -> None:
    path.write_bytes(b"This is a letter, not a database. " * 50)


def folder(path: Path) -> None:
    path.mkdir()


def of_another_program(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE meta (a, b)")


def link_to_nowhere(path: Path) -> None:
    path.symlink_to("/proc/nowhere/lembas.db")


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (letter, "not a database"),
        (folder, "is a folder"),
        (of_another_program, "belongs to another program"),
        (link_to_nowhere, "cannot be opened"),
    ],
)
async def test_what_is_no_database_of_ours_is_told_and_left_alone(
    tmp_path: Path, make: Callable[[Path], object], sentence: str
) -> None:
    path = tmp_path / "lembas.db"
    make(path)
    before = content(path)
    with pytest.raises(StoreError, match=sentence):
        await Store.open(path)
    assert content(path) == before


async def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be opened"):
        await Store.open(tmp_path / "file" / "lembas.db")


async def test_a_database_that_another_program_locks_is_told(tmp_path: Path) -> None:
    path = tmp_path / "lembas.db"
    await fill(path)
    store = await Store.open(f"sqlite:///{path}?timeout=0.05")
    row = {"id": new_id(), "name": "rosie", "created_at": NOW}
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked by another program"):
            await store.write(lambda c: add(c, tables.people, row))
        assert await store.read(texts) == []
        other.execute("ROLLBACK")
    await store.write(lambda c: add(c, tables.people, row))
    await store.aclose()


async def test_a_full_disk_loses_nothing_and_is_told(tmp_path: Path) -> None:
    path = tmp_path / "lembas.db"
    await fill(path, "one")
    store = await Store.open(path)
    chat = await store.read(lambda c: c.scalar(select(tables.chats.c.id)))

    def say(said: str) -> Callable[[Connection], None]:
        row = {"id": new_id(), "chat_id": chat, "role": "user", "text": said, "created_at": NOW}
        return lambda c: add(c, tables.messages, row)

    await store.write(lambda c: c.exec_driver_sql("PRAGMA max_page_count = 1").all())
    with pytest.raises(StoreError, match="disk is full"):
        await store.write(say("much " * 20_000))
    assert await store.read(texts) == ["one"]
    await store.write(lambda c: c.exec_driver_sql("PRAGMA max_page_count = 1000000").all())
    await store.write(say("two"))
    assert await store.read(texts) == ["one", "two"]
    await store.aclose()


async def test_a_damaged_index_keeps_nobody_from_writing(tmp_path: Path) -> None:
    path = tmp_path / "lembas.db"
    await fill(path, *["waybread"] * 100)
    await run(path, "UPDATE search_words_data SET block = x'00'", "UPDATE messages SET text = 'waybread!'")
    assert len(await contents(path)) == 100
    assert await found(path, "waybread") == 20


async def test_a_url_of_another_kind_is_refused() -> None:
    with pytest.raises(StoreError, match="'mysql' is not supported"):
        await Store.open("mysql://localhost/x")


async def test_postgresql_without_its_driver_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match=r"pip install 'lembas-core\[postgres\]'"):
        await Store.open("postgresql://localhost/x")


async def test_a_new_folder_is_for_its_owner_alone(tmp_path: Path) -> None:
    await fill(tmp_path / "new" / "lembas.db")
    assert mode(tmp_path / "new") == "700"
    assert files(tmp_path / "new") == [tmp_path / "new" / "lembas.db"]


async def test_processes_that_start_at_once_all_open_it(lasting: str) -> None:
    stores: list[Store] = []

    async def start() -> None:
        stores.append(await Store.open(lasting))

    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(start)
    for store in stores:
        await store.aclose()
