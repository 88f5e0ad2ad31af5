from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lembas_core.ids import new_id
from lembas_core.store import Store, tables, tree
from lembas_core.store.rows import add
from sqlalchemy import Connection

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


async def grow(store: Store, parents: list[int | None]) -> list[str]:
    """A chat whose message n hangs below message `parents[n]`; the ids."""
    chat, person, ids = new_id(), new_id(), [new_id() for _ in parents]

    def fn(c: Connection) -> None:
        add(c, tables.people, {"id": person, "name": person, "created_at": NOW})
        add(c, tables.chats, {"id": chat, "person_id": person, "created_at": NOW, "updated_at": NOW})
        for at, parent in zip(ids, parents, strict=True):
            above = None if parent is None else ids[parent]
            row = {"id": at, "chat_id": chat, "parent_id": above, "role": "user", "created_at": NOW}
            add(c, tables.messages, row)

    await store.write(fn)
    return ids


def up(parents: list[int | None], at: int) -> list[int]:
    parent = parents[at]
    return [at] if parent is None else [*up(parents, parent), at]


def newest(parents: list[int | None], at: int) -> int:
    below = [n for n, parent in enumerate(parents) if parent == at]
    return newest(parents, below[-1]) if below else at


trees = st.lists(st.integers(0, 30), min_size=1, max_size=25).map(
    lambda picks: [None if pick > n or not n else pick % n for n, pick in enumerate(picks)]
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parents=trees, limit=st.none() | st.integers(0, 6))
async def test_walks_agree_with_the_tree(store: Store, parents: list[int | None], limit: int | None) -> None:
    ids = await grow(store, parents)
    await grow(store, parents)  # somebody else's chat of the same shape
    for at, own in enumerate(ids):
        path = [ids[n] for n in up(parents, at)]
        expected = path if limit is None else path[len(path) - min(limit, len(path)) :]
        rows = await store.read(lambda c, own=own: tree.path(c, own, limit=limit))
        assert [row.id for row in rows] == expected
        same = [ids[n] for n, parent in enumerate(parents) if parent == parents[at]]
        assert await store.read(lambda c, own=own: tree.siblings(c, own)) == same
        assert await store.read(lambda c, own=own: tree.newest_leaf(c, own)) == ids[newest(parents, at)]


async def test_what_is_not_there_has_no_path(store: Store) -> None:
    assert await store.read(lambda c: tree.path(c, None)) == []
    assert await store.read(lambda c: tree.path(c, new_id())) == []
    assert await store.read(lambda c: tree.siblings(c, new_id())) == []


@pytest.mark.parametrize("where", ["memory"], indirect=True)
async def test_a_page_of_a_long_chat_costs_what_it_costs_in_a_short_one(store: Store) -> None:
    steps: list[int] = []
    for length in (50, 2000):
        ids = await grow(store, [None, *range(length - 1)])

        def count(c: Connection, head: str = ids[-1]) -> int:
            raw, ticks = cast("sqlite3.Connection", c.connection.driver_connection), 0

            def tick() -> int:
                nonlocal ticks
                ticks += 1
                return 0

            tree.path(c, head, limit=40)
            raw.set_progress_handler(tick, 10)
            assert len(tree.path(c, head, limit=40)) == 40
            raw.set_progress_handler(None, 10)
            return ticks

        steps.append(await store.read(count))
    assert steps[1] <= steps[0] * 1.1
    whole = await store.read(lambda c: len(tree.path(c, ids[-1])))
    assert whole == 2000
