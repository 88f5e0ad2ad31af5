"""Wrong arguments are told at the door, by the name of the argument."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lembas_core import Endpoint, Lembas, ask
from lembas_core.config import Config
from lembas_core.sync import Lembas as SyncLembas
from lembas_core.testing import Script, text

WRONG: dict[str, Any] = {"parameters": {"temperature": 1}, "model": 5, "title": 5, "system": 5, "effort": 1}


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config.load(data_dir=tmp_path, environ={})


@pytest.mark.parametrize("name", WRONG)
async def test_a_chat_cannot_be_made_with_a_value_of_another_type(config: Config, name: str) -> None:
    async with Lembas.open(":memory:", config=config) as lembas:
        with pytest.raises(TypeError, match=rf"^`{name}` must be .*, not (dict|int) "):
            lembas.chat(**{name: WRONG[name]})


@pytest.mark.parametrize(
    ("say", "told"),
    [
        ({"text": None}, r"`text` must be str, not NoneType None\."),
        ({"text": b"x"}, r"`text` must be str, not bytes b'x'\."),
        ({"images": ["x.png"]}, r"`images` must be Image, not str 'x\.png'\."),
        ({"text": "x", "parameters": {"seed": 1}}, r"`parameters` must be Parameters, not dict"),
    ],
)
async def test_nothing_that_is_no_turn_is_sent(config: Config, say: dict[str, Any], told: str) -> None:
    async with Lembas.open(":memory:", config=config) as lembas:
        chat = lembas.chat(model=Script())
        for asked in (chat.say, chat.start, chat.request):
            with pytest.raises(TypeError, match=told):
                await asked(**say)
        assert chat.id is None


async def test_a_question_about_chats_says_which_argument_is_wrong(config: Config) -> None:
    nothing: Any = None
    async with Lembas.open(":memory:", config=config) as lembas:
        for asked in (lembas.chats.get(nothing), lembas.open_chat(nothing)):
            with pytest.raises(TypeError, match="`chat_id` must be str"):
                await asked
        for limit in (0, -1):
            for asked in (lembas.chats.list(limit=limit), lembas.chats.search("x", limit=limit)):
                with pytest.raises(ValueError, match=f"`limit` must be 1 or more, not {limit}"):
                    await asked


async def test_nobody_acts_as_a_name(config: Config) -> None:
    name: Any = "sam"
    async with Lembas.open(":memory:", config=config) as lembas:
        with pytest.raises(TypeError, match="`person` must be PersonInfo, not str 'sam'"):
            lembas.acting_as(name)


def test_what_is_no_place_and_no_address_is_told_before_anything_is_opened() -> None:
    five: Any = 5
    with pytest.raises(TypeError, match="`where` must be str or Path or None, not int 5"):
        Lembas.open(five)
    with pytest.raises(TypeError, match="`where` must be str or Path"), SyncLembas.open(five):
        pass
    with pytest.raises(TypeError, match="`url` must be str, not int 5"):
        Endpoint(five)
    with pytest.raises(TypeError, match="`key` must be str or None, not int 5"):
        Endpoint("http://127.0.0.1:9", key=five)


@pytest.mark.parametrize(
    "wrong", [{"prompt": None}, {"system": 5}, {"parameters": {"seed": 1}}, {"images": [b"x"]}]
)
async def test_asking_once_says_which_argument_is_wrong(wrong: dict[str, Any]) -> None:
    [name] = wrong
    given: dict[str, Any] = {"prompt": "x", "model": Script([text("ok")]), **wrong}
    with pytest.raises(TypeError, match=f"^`{name}` must be "):
        await ask(**given)


def test_a_long_value_is_not_told_whole(config: Config) -> None:
    long: Any = ["x" * 10_000]
    with pytest.raises(TypeError) as caught:
        Lembas.open(long)
    assert len(str(caught.value)) < 200
