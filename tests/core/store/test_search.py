# ruff: noqa: RUF001 -- letters that look alike are what is tested
from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lembas_core.errors import Invalid
from lembas_core.ids import new_id
from lembas_core.store import Store, tables
from lembas_core.store.columns import clean
from lembas_core.store.search import Hit, search
from sqlalchemy import Connection, delete, insert, update

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def setting(message: str, status: str) -> Callable[[Connection], None]:
    statement = update(tables.messages).where(tables.messages.c.id == message).values(status=status)
    return lambda connection: connection.execute(statement).close()


class Person:
    """Somebody with chats, who searches them."""

    def __init__(self, store: Store) -> None:
        self.id = new_id()
        self._store = store

    async def arrive(self) -> Person:
        row = {"id": self.id, "name": self.id, "created_at": NOW}
        await self._store.write(lambda c: c.execute(insert(tables.people), row))
        return self

    async def chat(self, *texts: str, title: str = "", **columns: object) -> list[str]:
        """A chat in which these are said; the ids of its messages."""
        chat = {"id": new_id(), "person_id": self.id, "title": title, "created_at": NOW, "updated_at": NOW}
        rows = [{"id": new_id(), "chat_id": chat["id"], "role": "user", "text": text} for text in texts]
        stamps = [NOW + timedelta(minutes=minute) for minute in range(len(rows))]
        filled = [row | {"created_at": at} for row, at in zip(rows, stamps, strict=True)]
        await self._store.write(lambda c: c.execute(insert(tables.chats), chat | columns))
        for row in filled:
            await self._store.write(lambda c, row=row: c.execute(insert(tables.messages), row))
        return [str(row["id"]) for row in rows]

    async def search(
        self, query: str, *, limit: int = 20, after: str | None = None, since: datetime | None = None
    ) -> list[Hit]:
        return await self._store.read(
            lambda c: search(c, self.id, query, limit=limit, after=after, since=since)
        )

    async def find(self, query: str) -> list[str]:
        """The texts that are found, without their marks, best first."""
        return [hit.snippet.replace("\x02", "").replace("\x03", "") for hit in await self.search(query)]


@pytest.fixture
async def frodo(store: Store) -> Person:
    return await Person(store).arrive()


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        ("He was walking to the Gate", ["walk", "walks", "WALKED gate", "the", '"the gate"', "gate"]),
        ("Crème brûlée für Zoë", ["creme", "BRULEE", "für", "fur", "zoe", "crème brûlée"]),
        ("see foo-bar.py, line 12; a@b.example", ["foo-bar.py", "foo bar", "12", "a@b.example", '"line 12"']),
        ("人工智能改变世界", ["智能", "人工智能", "改", "世界", "界", "能改变"]),
        ("用 AI模型 写作", ["AI模型", "ai 模型", "写作"]),
        ("東京タワーへ行きました", ["東京", "タワー", "行きました"]),
        ("ｶﾀｶﾅ and ＦＵＬＬ", ["カタカナ", "full"]),
        ("오늘 모델을 배웠다", ["모델", "모델을", "배웠다"]),
        ("ฉันรักภาษาไทย", ["ภาษา", "ไทย"]),
        ("मैं हिन्दी बोलता हूँ", ["हिन्दी", "बोलता"]),
        ("Привет, МИР", ["привет", "мир"]),
        ("the beginning of notebooks", ["noteb", "begin", "beg"]),
    ],
)  # fmt: skip
async def test_a_text_is_found_by_its_words(frodo: Person, text: str, queries: list[str]) -> None:
    await frodo.chat(text, "something else entirely")
    for query in queries:
        assert await frodo.find(query) == [text], query


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("He was walking", "talk"),
        ("人工智能", "工人"),
        ("人工的智能", "人工智能"),
        ("one two three", '"one three"'),
        ("one two", "one four"),
        ("a runtime", "running"),
    ],
)
async def test_a_text_is_not_found_by_what_it_does_not_say(frodo: Person, text: str, query: str) -> None:
    await frodo.chat(text)
    assert await frodo.find(query) == []


async def test_only_ones_own_chats_that_are_neither_deleted_nor_temporary_are_found(store: Store) -> None:
    frodo, sam = [await Person(store).arrive() for _ in range(2)]
    await frodo.chat("the ring is mine", title="ring")
    await frodo.chat("ring in the bin", title="ring", deleted_at=NOW)
    await frodo.chat("ring for now", title="ring", temporary=True)
    await sam.chat("the ring is his", title="ring")
    assert sorted(await frodo.find("ring")) == ["ring", "the ring is mine"]
    assert sorted(await sam.find("ring")) == ["ring", "the ring is his"]


async def test_what_changes_is_found_as_it_is_now(frodo: Person, store: Store) -> None:
    kept, gone = await frodo.chat("mallorn", "athelas", title="plants")

    def change(c: Connection) -> None:
        c.execute(update(tables.messages).where(tables.messages.c.id == kept).values(text="niphredil"))
        c.execute(delete(tables.messages).where(tables.messages.c.id == gone))
        c.execute(update(tables.chats).values(title="flowers"))

    await store.write(change)
    assert await frodo.find("mallorn") == await frodo.find("athelas") == await frodo.find("plants") == []
    assert (await frodo.find("niphredil"), await frodo.find("flowers")) == (["niphredil"], ["flowers"])


async def test_a_reply_is_found_once_it_has_ended(frodo: Person, store: Store) -> None:
    (reply,) = await frodo.chat("elanor")
    for status, texts in (("running", []), ("done", ["elanor"]), ("running", []), ("stopped", ["elanor"])):
        await store.write(setting(reply, status))
        assert await frodo.find("elanor") == texts, status


async def test_many_rows_are_found_however_they_reached_the_index(frodo: Person) -> None:
    for group in range(3):
        await frodo.chat(*(f"waybread {group} {number} 路上的面包" for number in range(50)))
        hits = await frodo.search("waybread 面包", limit=500)
        assert len(hits) == 50 * (group + 1)


async def test_pages_follow_each_other(frodo: Person) -> None:
    for number in range(7):
        await frodo.chat(*["pipe weed " * (number + 1)] * 5, title="pipes")
    whole = await frodo.search("pipe", limit=100)
    pages: list[Hit] = []
    while page := await frodo.search("pipe", limit=4, after=pages[-1].cursor if pages else None):
        pages += page
    assert pages == whole
    assert len({(hit.chat_id, hit.message_id) for hit in whole}) == 42


async def test_the_better_hit_comes_first(frodo: Person) -> None:
    await frodo.chat("oliphaunt! oliphaunt! Grey as a mouse, oliphaunt.", title="A song")
    await frodo.chat(
        "once, in a very long letter, " + "and so on and on " * 200 + " an oliphaunt", title="A letter"
    )
    await frodo.chat("no beast here", title="Oliphaunt")
    assert [hit.title for hit in await frodo.search("oliphaunt")] == ["Oliphaunt", "A song", "A letter"]


async def test_a_hit_tells_where_it_is(frodo: Person) -> None:
    (message,) = await frodo.chat(
        "so he said\n\nthat " * 40 + "the *Dark* Tower stands " + "and so on " * 40, title="T"
    )
    (hit,) = await frodo.search("dark towers")
    assert (hit.message_id, hit.title, hit.role, hit.at) == (message, "T", "user", NOW)
    assert "*\x02Dark\x03* \x02Tower\x03 stands" in hit.snippet
    assert hit.snippet.startswith("…") and hit.snippet.endswith("…") and len(hit.snippet) < 200
    assert "\n" not in hit.snippet


async def test_only_what_is_new_enough_is_found(frodo: Person) -> None:
    await frodo.chat("mithril one", "mithril two", "mithril three")
    hits = await frodo.search("mithril", since=NOW + timedelta(minutes=1))
    assert {hit.snippet for hit in hits} == {"\x02mithril\x03 three", "\x02mithril\x03 two"}


async def test_a_cursor_that_is_none_is_refused(frodo: Person) -> None:
    with pytest.raises(Invalid):
        await frodo.search("x", after="x")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text(max_size=30) | st.text(alphabet="\"'*():-^&|!<>\\ABNEAR \0\ud800人工a1", max_size=20))
async def test_no_query_is_an_error(frodo: Person, query: str) -> None:
    assert isinstance(await frodo.search(query), list)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=60), data=st.data())
async def test_every_word_of_a_text_finds_it(frodo: Person, text: str, data: st.DataObject) -> None:
    words = [word for word in clean(text).split() if any(map(str.isalnum, word)) and word.isprintable()]
    if not words:
        return
    (message,) = await frodo.chat(text)
    hits = await frodo.search(data.draw(st.sampled_from(words)), limit=500)
    assert message in {hit.message_id for hit in hits}


async def test_what_another_program_writes_is_found(tmp_path: Path) -> None:
    store = await Store.open(tmp_path / "lembas.db")
    frodo = await Person(store).arrive()
    await frodo.chat("mallorn", title="Tree")
    with closing(sqlite3.connect(tmp_path / "lembas.db")) as other:
        other.execute("UPDATE messages SET text = 'niphredil 金色森林'")
        other.commit()
    assert await frodo.find("mallorn") == []
    assert await frodo.find("森林 niphredil") == ["niphredil 金色森林"]
    await store.aclose()
