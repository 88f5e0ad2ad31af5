"""Titles by a model, after the first exchange."""

from __future__ import annotations

import anyio
import pytest
from lembas_core.chats import ChatSetup
from lembas_core.endpoints.resolved import Resolved
from lembas_core.errors import BadResponse
from lembas_core.testing import Script, fault, pause, reasoning, text
from lembas_core.testing.steps import Step
from support.talking import House, open_house


def with_task_model(house: House, *steps: Step) -> Script:
    script = Script(*steps, name="namer")
    house.models["namer"] = Resolved(client=script, ref="namer", name="namer")
    house.settings |= {"titles": True, "task_model": "namer"}
    return script


async def title(house: House) -> tuple[str, str]:
    await house.settle()
    (chat,) = (await house.chats.list()).items
    return chat.title, chat.title_source


async def test_the_task_model_names_a_chat_after_the_first_exchange() -> None:
    async with open_house(Script([text("Percy, Penny, Pete.")], [text("More.")])) as house:
        namer = with_task_model(house, [text('Title: "Pelican names"')])
        sent, _ = await house.said("Three names for a pelican.")
        assert await title(house) == ("Pelican names", "model")
        await house.said("More, please.", chat_id=sent.chat_id)
        assert await title(house) == ("Pelican names", "model")
        namer.assert_spent()
        (request,) = namer.requests
        assert "Three names for a pelican." in request.messages[0].text
        assert "Percy" in request.messages[0].text


async def test_a_named_model_of_the_chat_serves_when_there_is_no_task_model() -> None:
    async with (
        Script([text("Percy.")], [text("Pelican names")]) as script,
        open_house(script, titles=True) as house,
    ):
        await house.said("A name for a pelican.")
        assert await title(house) == ("Pelican names", "model")


async def test_a_model_that_a_script_brought_is_asked_nothing_unasked() -> None:
    async with Script([text("Percy.")]) as script, open_house(titles=True) as house:
        await house.said("A name for a pelican.", setup=ChatSetup(model=script))
        assert await title(house) == ("A name for a pelican.", "turn")


async def test_titles_by_a_model_can_be_switched_off() -> None:
    async with Script([text("Percy.")]) as script, open_house(script, titles=False) as house:
        await house.said("A name for a pelican.")
        assert await title(house) == ("A name for a pelican.", "turn")


@pytest.mark.parametrize("setup", [ChatSetup(titled=False), ChatSetup(title="Birds")])
async def test_a_chat_that_has_a_title_or_wants_none_is_not_named(setup: ChatSetup) -> None:
    async with Script([text("Percy.")]) as script, open_house(script, titles=True) as house:
        await house.said("A name for a pelican.", setup=setup)
        assert (await title(house))[1] in ("turn", "person")


@pytest.mark.parametrize(
    "steps",
    [
        [reasoning("Let me think of a title: Pelicans")],
        [text("<think>Pelicans? Birds?")],
        [text('""')],
        [text("Percy is a fine name for a pelican because " * 9)],
        [fault(BadResponse("The endpoint answered nonsense.", reason="protocol"))],
    ],
)
async def test_a_thought_a_paragraph_or_a_fault_is_no_title(steps: Step) -> None:
    async with open_house(Script([text("Percy.")])) as house:
        with_task_model(house, steps)
        await house.said("A name for a pelican.")
        assert await title(house) == ("A name for a pelican.", "turn")


async def test_a_task_model_that_is_gone_leaves_the_first_words() -> None:
    async with open_house(Script([text("Percy.")]), titles=True, task_model="gone") as house:
        await house.said("A name for a pelican.")
        assert await title(house) == ("A name for a pelican.", "turn")


async def test_a_title_that_comes_late_moves_no_chat_and_marks_none() -> None:
    go = anyio.Event()
    async with open_house(Script([text("Percy.")], [text("Moo.")])) as house:
        with_task_model(house, [pause(go), text("Pelican names")], [text("Cow sounds")])
        first, _ = await house.said("A name for a pelican.")
        before = await house.chats.get(first.chat_id)
        house.clock.advance(60)
        await house.said("What does a cow say?")
        go.set()
        await house.settle()
        page = (await house.chats.list()).items
        assert [chat.title for chat in page] == ["Cow sounds", "Pelican names"]
        assert page[1].updated_at == before.updated_at
        assert not page[1].unread


async def test_a_title_by_a_person_is_kept() -> None:
    go = anyio.Event()
    async with open_house(Script([text("Percy.")])) as house:
        with_task_model(house, [pause(go), text("Pelican names")])
        sent, _ = await house.said("A name for a pelican.")
        await house.settle()
        await house.chats.rename(sent.chat_id, "Birds")
        go.set()
        assert await title(house) == ("Birds", "person")


async def test_a_chat_whose_first_reply_failed_is_named_after_the_first_that_came() -> None:
    script = Script([fault(BadResponse("Nonsense."))], [text("Percy.")], [text("Pelican names")])
    async with script, open_house(script, titles=True) as house:
        sent, _ = await house.said("A name for a pelican.")
        assert await title(house) == ("A name for a pelican.", "turn")
        await house.said("Again?", chat_id=sent.chat_id)
        assert await title(house) == ("Pelican names", "model")


async def test_a_temporary_chat_is_not_named() -> None:
    async with Script([text("Percy.")]) as script, open_house(script, titles=True) as house:
        sent, _ = await house.said("A name for a pelican.", setup=ChatSetup(temporary=True))
        await house.settle()
        assert (await house.chats.get(sent.chat_id)).title_source == "turn"


async def test_closing_waits_for_a_title_that_is_on_its_way() -> None:
    go = anyio.Event()
    async with open_house(Script([text("Percy.")])) as house:
        with_task_model(house, [pause(go), text("Pelican names")])
        await house.said("A name for a pelican.")
        await house.settle()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(house.replies.aclose)
            await anyio.wait_all_tasks_blocked()
            go.set()
        assert await title(house) == ("Pelican names", "model")
