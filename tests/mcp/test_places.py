"""Where to read in a chat, and that paging reaches everything."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lembas_mcp.places import Place, fit, parse_before, parse_id, to_id, to_url


@dataclass(frozen=True)
class Said:
    id: str
    parent_id: str | None
    text: str


def chain(texts: list[str]) -> list[Said]:
    return [Said(f"m{i}", f"m{i - 1}" if i else None, text) for i, text in enumerate(texts)]


@pytest.mark.parametrize(
    ("text", "chat", "place"),
    [
        ("c", "c", Place()),
        (" c ", "c", Place()),
        ("c#m", "c", Place("m", inclusive=True)),
        ("lembas://chat/c#m", "c", Place("m", inclusive=True)),
        (to_url("c"), "c", Place()),
        (to_id("c", "m"), "c", Place("m", inclusive=True)),
    ],
)
def test_an_id_and_an_address_mean_the_same_place(text: str, chat: str, place: Place) -> None:
    assert parse_id(text) == (chat, place)


@pytest.mark.parametrize(
    ("text", "place"),
    [("m", Place("m")), ("c#m", Place("m")), ("m@12", Place("m", True, 12)), ("m@", Place("m"))],
)
def test_before_names_a_message_or_a_part_of_it(text: str, place: Place) -> None:
    assert parse_before(text) == place


@given(st.lists(st.text(max_size=60), min_size=1, max_size=12), st.integers(1, 40), st.integers(1, 5))
def test_following_previous_reads_every_character_once(texts: list[str], size: int, limit: int) -> None:
    chat = chain(texts)
    read: dict[str, str] = dict.fromkeys((said.id for said in chat), "")
    pages, previous = 0, "start"
    while previous:
        place = Place() if previous == "start" else parse_before(previous)
        end = next((i for i, said in enumerate(chat) if said.id == place.message_id), len(chat))
        page = chat[max(0, end + place.inclusive - limit) : end + place.inclusive]
        stretch = fit(page, size, place.characters)
        assert sum(map(len, stretch.texts.values())) <= size
        for message_id, text in stretch.texts.items():
            read[message_id] = text + read[message_id]
        previous, pages = stretch.previous, pages + 1
        assert pages <= 1 + len(chat) + sum(map(len, texts))
    assert list(read.values()) == texts


def test_nothing_fits_into_nothing_said() -> None:
    assert fit([], 10).texts == {}
    assert fit([], 10).previous == ""
