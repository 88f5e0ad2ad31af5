"""Saving a message: ours beside raw sqlite3 in a thread and a bare group commit.

    python benchmarks/saving.py [ROUNDS]

The same row for all, WAL, synchronous NORMAL. Wall microseconds for each insert and commit, awaited
by an event loop; with 1 writer, and with 20 at once.
"""

from __future__ import annotations

import queue
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
from harness import Verdicts, ratio, show
from lembas_core.ids import new_id
from lembas_core.store import Store, tables
from lembas_core.store.rows import add
from sqlalchemy import Connection, insert

WORDS = ("word " * 60).strip()
SCHEMA = (
    "create table messages (number integer primary key, id text unique, chat_id text, parent_id text,"
    " role text, text text, created_at text)"
)
INSERT = "insert into messages (id, chat_id, parent_id, role, text, created_at) values (?, ?, ?, ?, ?, ?)"
Save = Callable[[], Awaitable[object]]


def raw(path: Path) -> sqlite3.Connection:
    """A bare connection with the pragmas that ours sets."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("pragma journal_mode=wal")
    connection.execute("pragma synchronous=normal")
    connection.execute(SCHEMA)
    return connection


def row() -> tuple[str, ...]:
    return (new_id(), "chat", "parent", "user", WORDS, "2026-01-01")


class InThread:
    """Each insert and its commit in a worker thread."""

    def __init__(self, path: Path) -> None:
        self.connection, self.pool = raw(path), ThreadPoolExecutor(1)

    async def save(self) -> None:
        import asyncio

        await asyncio.get_running_loop().run_in_executor(self.pool, self.connection.execute, INSERT, row())

    def close(self) -> None:
        self.pool.shutdown()
        self.connection.close()


class GroupCommit:
    """One writer thread: what was asked for while a commit ran goes into the next transaction."""

    def __init__(self, path: Path) -> None:
        self.connection = raw(path)
        self.asked: queue.SimpleQueue = queue.SimpleQueue()
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def work(self) -> None:
        while (first := self.asked.get()) is not None:
            batch = [first]
            while not self.asked.empty():
                batch.append(self.asked.get())
            self.connection.execute("begin immediate")
            for values, _, _ in batch:
                self.connection.execute(INSERT, values)
            self.connection.execute("commit")
            loop = batch[0][2]
            loop.call_soon_threadsafe(lambda done=batch: [future.set_result(None) for _, future, _ in done])

    async def save(self) -> None:
        import asyncio

        loop = asyncio.get_running_loop()
        future = loop.create_future()
        self.asked.put((row(), future, loop))
        await future

    def close(self) -> None:
        self.asked.put(None)
        self.thread.join()
        self.connection.close()


async def ours(path: Path) -> tuple[Store, Save]:
    """A store with a chat in it, and what saves one message there."""
    from datetime import UTC, datetime

    store = await Store.open(path)
    person, chat, moment = new_id(), new_id(), datetime.now(UTC)

    def begin(c: Connection) -> None:
        c.execute(insert(tables.people), {"id": person, "name": "bench", "created_at": moment})
        c.execute(
            insert(tables.chats),
            {"id": chat, "person_id": person, "created_at": moment, "updated_at": moment},
        )

    def one(c: Connection) -> None:
        message = {"id": new_id(), "chat_id": chat, "role": "user", "text": WORDS, "created_at": moment}
        add(c, tables.messages, message)

    await store.write(begin)
    return store, lambda: store.write(one)


async def timed(save: Save, writers: int, saves: int) -> float:
    """Microseconds of wall time for each save."""

    async def work() -> None:
        for _ in range(saves // writers):
            await save()

    for _ in range(50):
        await save()
    began = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for _ in range(writers):
            tasks.start_soon(work)
    return (time.perf_counter() - began) / saves * 1e6


async def measure(rounds: int) -> dict[str, list[float]]:
    taken: dict[str, list[float]] = {f"{who} {n}": [] for n in (1, 20) for who in ("thread", "group", "ours")}
    for _ in range(rounds):
        for writers, saves in ((1, 1000), (20, 4000)):
            with tempfile.TemporaryDirectory() as folder:
                for name, make in (("thread", InThread), ("group", GroupCommit)):
                    peer = make(Path(folder) / f"{name}.db")
                    taken[f"{name} {writers}"].append(await timed(peer.save, writers, saves))
                    peer.close()
                store, save = await ours(Path(folder) / "ours.db")
                taken[f"ours {writers}"].append(await timed(save, writers, saves))
                await store.aclose()
    return taken


def main(rounds: int) -> None:
    taken = anyio.run(measure, rounds)
    for name, samples in taken.items():
        print(f"{name:10} {show(samples, 'us')}")
    verdicts = Verdicts()
    verdicts.at_most("1 writer, times raw sqlite3 in a thread", ratio(taken["ours 1"], taken["thread 1"]), 2)
    verdicts.at_most("20 writers, times a bare group commit", ratio(taken["ours 20"], taken["group 20"]), 4)
    verdicts.end()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
