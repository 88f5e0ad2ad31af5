# ruff: noqa: RUF001 -- letters that look alike are what is tested
from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from lembas_core.ids import new_id
from lembas_core.store import Store, tables
from lembas_core.store.search import Hit, search
from sqlalchemy import insert

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


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
