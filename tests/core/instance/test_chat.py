from __future__ import annotations

import anyio
import pytest
from lembas_core.endpoints.values import Parameters
from lembas_core.engine import events
from lembas_core.engine.questions import Answer, Question
from lembas_core.errors import Conflict, Invalid, NotFound, RateLimited, Unreachable
from lembas_core.instance import Chat, Lembas
from lembas_core.testing import Script, call, fault, pause, reasoning, text
from lembas_core.tools.decorator import tool


@tool(risk="write")
async def add_note(title: str) -> str:
    """Save a note for later."""
    return f"saved {title}"


def talk(lembas: Lembas, script: Script) -> Chat:
    return lembas.chat(model=script, titled=False)


async def stored(chat: Chat) -> list[tuple[str, str]]:
    return [(message.status, message.text) for message in await chat.messages()]


async def test_a_chat_is_stored_with_its_first_turn_and_not_before(lembas: Lembas) -> None:
    chat = talk(lembas, Script([text("Good morning.")]))
    assert chat.id is None
    assert await chat.messages() == []
    assert (await lembas.counts()).chats == 0
    reply = await chat.say("Hello")
    assert (reply.text, reply.outcome, reply.chat_id) == ("Good morning.", "done", chat.id)
    assert await stored(chat) == [("done", "Hello"), ("done", "Good morning.")]
    counts = await lembas.counts()
    assert (counts.people, counts.chats, counts.messages) == (1, 1, 2)


async def test_before_the_first_turn_there_is_nothing_to_change(lembas: Lembas) -> None:
    chat = lembas.chat()
    for asked in (chat.info(), chat.rename("x"), chat.delete(), chat.export(), chat.regenerate()):
        with pytest.raises(NotFound):
            await asked


async def test_each_turn_knows_the_ones_before(lembas: Lembas) -> None:
    async with Script([text("One.")], [text("Two.")]) as script:
        chat = lembas.chat(model=script, system="Count.", titled=False)
        await chat.say("first")
        await chat.say("second")
        said = [(message.role, message.text) for message in script.requests[1].messages]
    assert said == [("system", "Count."), ("user", "first"), ("assistant", "One."), ("user", "second")]


async def test_an_empty_turn_is_refused_and_stores_nothing(lembas: Lembas) -> None:
    chat = talk(lembas, Script())
    with pytest.raises(Invalid):
        await chat.say("  ")
    assert (chat.id, (await lembas.counts()).chats) == (None, 0)


async def test_an_unknown_model_is_refused_before_anything_is_stored(lembas: Lembas) -> None:
    with pytest.raises(NotFound, match="no model 'gone'"):
        await lembas.chat(model="gone").say("Hello")
    assert (await lembas.counts()).chats == 0


async def test_a_failed_reply_raises_with_what_had_arrived_and_is_kept(lembas: Lembas) -> None:
    chat = talk(lembas, Script([text("Half an ans"), fault(Unreachable("The line dropped."))]))
    with pytest.raises(Unreachable, match="The line dropped") as caught:
        await chat.say("Hello")
    assert caught.value.partial == "Half an ans"
    assert await stored(chat) == [("done", "Hello"), ("error", "Half an ans")]


async def test_the_facts_of_an_error_survive_the_way_through_the_background(lembas: Lembas) -> None:
    chat = talk(lembas, Script([fault(RateLimited("Too fast.", retry_after=9000))]))
    with pytest.raises(RateLimited) as caught:
        await chat.say("Hello")
    assert caught.value.retry_after == 9000


async def test_after_a_failed_reply_the_chat_goes_on(lembas: Lembas) -> None:
    chat = talk(lembas, Script([fault(Unreachable("Gone.", timed_out=True))], [text("Here again.")]))
    with pytest.raises(Unreachable):
        await chat.say("Hello")
    assert (await chat.regenerate()).text == "Here again."


async def test_somebody_who_only_waits_is_not_asked(lembas: Lembas) -> None:
    script = Script([call("add_note", title="Gate")], [text("I may not.")])
    reply = await lembas.chat(model=script, tools=[add_note], titled=False).say("Note it.")
    assert reply.text == "I may not."
    assert "saved" not in script.requests[1].messages[-1].text


async def test_a_callback_decides(lembas: Lembas) -> None:
    asked: list[Question] = []

    async def decide(question: Question) -> Answer:
        asked.append(question)
        return Answer.allow()

    script = Script([call("add_note", title="Gate")], [text("Noted.")])
    chat = lembas.chat(model=script, tools=[add_note], on_question=decide, titled=False)
    assert (await chat.say("Note it.")).text == "Noted."
    assert [pending.name for pending in asked[0].calls] == ["add_note"]
    assert script.requests[1].messages[-1].text == "saved Gate"


async def test_parameters_go_from_chat_to_turn(lembas: Lembas) -> None:
    script = Script([text("a")], [text("b")])
    chat = lembas.chat(
        model=script, parameters=Parameters(temperature=0.1, seed=7), effort="low", titled=False
    )
    await chat.say("one")
    await chat.say("two", parameters=Parameters(temperature=0.9))
    first, second = (request.parameters for request in script.requests)
    assert (first.temperature, first.seed, first.effort) == (0.1, 7, "low")
    assert (second.temperature, second.seed, second.effort) == (0.9, 7, "low")


async def test_a_turn_said_differently_becomes_a_version(lembas: Lembas) -> None:
    chat = talk(lembas, Script([text("Rome.")], [text("Paris.")]))
    await chat.say("Capital of Italy?")
    first = (await chat.messages())[0]
    await chat.say("Capital of France?", instead_of=first.id)
    assert [message.text for message in await chat.messages()] == ["Capital of France?", "Paris."]
    assert [version.text for version in await chat.versions(first.id)] == [
        "Capital of Italy?",
        "Capital of France?",
    ]
    await chat.switch(first.id)
    assert [message.text for message in await chat.messages()] == ["Capital of Italy?", "Rome."]


async def test_another_reply_to_the_same_turn(lembas: Lembas) -> None:
    chat = talk(lembas, Script([text("Heads.")], [text("Tails.")], [text("Edge.")]))
    await chat.say("Toss.")
    assert (await chat.regenerate()).text == "Tails."
    async with chat.regenerating() as reply:
        kinds = [event.kind async for event in reply]
    assert (reply.reply.text, kinds[-1]) == ("Edge.", "finished")
    last = (await chat.messages())[-1]
    assert (last.version, last.versions) == (3, 3)


async def test_a_message_of_another_chat_is_not_found_and_nothing_changes(lembas: Lembas) -> None:
    other = talk(lembas, Script([text("Rome.")], [text("Roma.")]))
    await other.say("Capital of Italy?")
    await other.regenerate()
    turn, reply = before = await other.messages()
    chat = talk(lembas, Script([text("Paris.")]))
    fresh = talk(lembas, Script())
    await chat.say("Capital of France?")
    counts = await lembas.counts()
    for act in (
        chat.versions(reply.id),
        chat.switch((await other.versions(reply.id))[0].id),
        chat.fork(reply.id),
        chat.regenerate(reply.id),
        chat.resume(reply.id),
        chat.say("Capital of Spain?", instead_of=turn.id),
        chat.request("Capital of Spain?", instead_of=turn.id),
        fresh.say("Capital of Spain?", instead_of=turn.id),
        fresh.request("Capital of Spain?", instead_of=turn.id),
    ):
        with pytest.raises(NotFound, match="no such message"):
            await act
    assert await other.messages() == before
    assert (await lembas.counts(), fresh.id) == (counts, None)


async def test_a_fork_goes_its_own_way_with_the_same_model(lembas: Lembas) -> None:
    chat = talk(lembas, Script([text("One.")], [text("Two.")]))
    await chat.say("first")
    other = await chat.fork((await chat.messages())[-1].id)
    await other.say("second")
    assert len(await other.messages()) == 4
    assert len(await chat.messages()) == 2


async def test_a_chat_is_renamed_exported_and_deleted(lembas: Lembas) -> None:
    chat = talk(lembas, Script([text("Friend.")]))
    await chat.say("Speak")
    await chat.rename("Doors of Durin")
    assert (await chat.info()).title == "Doors of Durin"
    assert "Friend." in await chat.export()
    assert '"lembas.chat/1"' in await chat.export("json")
    await chat.delete()
    with pytest.raises(NotFound):
        await chat.info()


async def test_a_stored_chat_is_opened_again_by_a_part_of_its_id(lembas: Lembas) -> None:
    chat = talk(lembas, Script([text("One.")]))
    await chat.say("first")
    assert chat.id is not None
    again = await lembas.open_chat(chat.id[-8:], model=Script([text("Two.")]))
    assert (await again.say("second")).text == "Two."
    assert len(await chat.messages()) == 4
    with pytest.raises(NotFound):
        await lembas.open_chat("ffffffff")


async def test_the_request_can_be_seen_without_sending_it(lembas: Lembas) -> None:
    script = Script([text("One.")])
    chat = lembas.chat(model=script, system="Be kind.", tools=[add_note], titled=False)
    request = await chat.request("Hello")
    assert [message.text for message in request.messages] == ["Be kind.", "Hello"]
    assert [spec.name for spec in request.tools] == ["add_note"]
    assert (chat.id, script.requests) == (None, [])
    await chat.say("Hello")
    assert script.requests == [request]


async def test_two_first_turns_at_once_make_one_chat(lembas: Lembas) -> None:
    gate = anyio.Event()
    chat = talk(lembas, Script([pause(gate), text("One.")]))
    refused: list[Conflict] = []

    async def say(what: str) -> None:
        try:
            await chat.say(what)
        except Conflict as error:
            refused.append(error)
            gate.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(say, "first")
        tasks.start_soon(say, "second")
    assert ((await lembas.counts()).chats, len(refused)) == (1, 1)


async def test_the_instances_prompt_holds_unless_the_chat_says_more(lembas: Lembas) -> None:
    await lembas.settings.set("system_prompt", "Be brief.")
    script = Script([text("a")], [text("b")], [text("c")])
    await lembas.chat(model=script, titled=False).say("x")
    await lembas.chat(model=script, system="Be long.", titled=False).say("x")
    await lembas.chat(model=script, system="", titled=False).say("x")
    assert [request.messages[0].text for request in script.requests] == ["Be brief.", "Be long.", "x"]


async def test_thinking_is_kept_apart_and_not_sent_again(lembas: Lembas) -> None:
    script = Script([reasoning("Hm."), text("Yes.")], [text("No.")])
    chat = talk(lembas, script)
    reply = await chat.say("one")
    assert (reply.reasoning, reply.text) == ("Hm.", "Yes.")
    await chat.say("two")
    assert "Hm." not in repr(script.requests[1].messages)


async def test_events_tell_everything_in_order_and_once(lembas: Lembas) -> None:
    chat = talk(lembas, Script([text("A long answer in pieces.", cuts=3)]))
    async with chat.reply("Hello") as reply:
        seen = [event async for event in reply]
    assert "".join(event.added for event in seen if isinstance(event, events.Text)) == reply.reply.text
    assert [event.number for event in seen] == sorted({event.number for event in seen})
    assert isinstance(seen[-1], events.Finished)
    assert not any(isinstance(event, events.Snapshot) for event in seen)
