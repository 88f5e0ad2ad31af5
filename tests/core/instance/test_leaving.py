"""What happens when the one who asked does not stay."""

from __future__ import annotations

import anyio
import pytest
from lembas_core.engine import events
from lembas_core.engine.questions import Answer
from lembas_core.errors import LembasError, NotFound, Unreachable
from lembas_core.instance import Chat, Lembas
from lembas_core.testing import Script, call, fault, pause, text
from lembas_core.tools.decorator import tool


@tool(risk="write")
async def add_note(title: str) -> str:
    """Save a note for later."""
    return f"saved {title}"


def endless() -> Script:
    return Script([text("Once upon a time"), pause(anyio.Event())], [text("The end.")])


def talk(lembas: Lembas, script: Script) -> Chat:
    return lembas.chat(model=script, titled=False)


async def last(chat: Chat) -> tuple[str, str]:
    message = (await chat.messages())[-1]
    return message.status, message.text


async def test_leaving_early_stops_the_reply_and_keeps_what_arrived(lembas: Lembas) -> None:
    script = endless()
    chat = talk(lembas, script)
    async with chat.reply("Tell me a story.") as reply:
        async for event in reply:
            if isinstance(event, events.Text):
                break
    assert (reply.reply.outcome, reply.reply.text) == ("stopped", "Once upon a time")
    assert await last(chat) == ("stopped", "Once upon a time")
    assert script.streaming == 0
    assert (await chat.say("Go on.")).text == "The end."


async def test_leaving_before_the_first_event_stops_it_too(lembas: Lembas) -> None:
    chat = talk(lembas, Script([pause(anyio.Event())]))
    async with chat.reply("Hello"):
        pass
    assert await last(chat) == ("stopped", "")


async def test_an_error_in_the_block_comes_out_as_it_is_and_stops_the_reply(lembas: Lembas) -> None:
    chat = talk(lembas, endless())
    with pytest.raises(ZeroDivisionError):
        async with chat.reply("Hello") as reply:
            async for event in reply:
                if isinstance(event, events.Text):
                    _ = 1 / 0
    assert await last(chat) == ("stopped", "Once upon a time")


async def test_being_cancelled_stops_the_reply_and_keeps_what_arrived(lembas: Lembas) -> None:
    chat = talk(lembas, endless())
    async with anyio.create_task_group() as tasks:

        async def watch() -> None:
            async with chat.reply("Hello") as reply:
                async for event in reply:
                    if isinstance(event, events.Text):
                        tasks.cancel_scope.cancel()

        tasks.start_soon(watch)
    assert await last(chat) == ("stopped", "Once upon a time")


async def test_cancelling_who_waits_stops_the_reply(lembas: Lembas) -> None:
    script = endless()
    chat = talk(lembas, script)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(chat.say, "Hello")
        while not script.streaming:
            await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
    assert script.streaming == 0
    assert (await last(chat))[0] == "stopped"


async def test_a_stop_from_inside_lets_the_events_go_on_to_the_end(lembas: Lembas) -> None:
    chat = talk(lembas, endless())
    async with chat.reply("Hello") as reply:
        seen: list[events.Event] = []
        async for event in reply:
            seen.append(event)
            if isinstance(event, events.Text):
                assert await reply.stop() is True
    end = seen[-1]
    assert isinstance(end, events.Finished)
    assert (end.outcome, reply.reply.outcome) == ("stopped", "stopped")


async def test_a_fault_is_told_by_the_last_event_and_not_raised(lembas: Lembas) -> None:
    chat = talk(lembas, Script([text("Half"), fault(Unreachable("Dropped."))]))
    async with chat.reply("Hello") as reply:
        seen = [event async for event in reply]
    assert isinstance(seen[-1], events.Finished)
    assert isinstance(seen[-1].error, Unreachable)
    assert isinstance(reply.reply.error, Unreachable)


async def test_a_question_is_answered_where_it_is_seen(lembas: Lembas) -> None:
    script = Script([call("add_note", title="Gate")], [text("Noted.")])
    chat = lembas.chat(model=script, tools=[add_note], titled=False)
    async with chat.reply("Note it.") as reply:
        async for event in reply:
            if isinstance(event, events.Asking):
                assert await reply.answer(event.question.id, Answer.allow()) is True
                assert await reply.answer(event.question.id, Answer.deny()) is False
    assert reply.reply.text == "Noted."


async def test_the_reply_is_not_there_before_its_end(lembas: Lembas) -> None:
    chat = talk(lembas, Script([text("Hi.")]))
    async with chat.reply("Hello") as reply:
        with pytest.raises(RuntimeError):
            _ = reply.reply
        assert (reply.chat_id, reply.id) == (chat.id, (await chat.messages())[-1].id)


async def test_a_turn_that_cannot_be_sent_raises_on_entering(lembas: Lembas) -> None:
    with pytest.raises(NotFound):
        async with lembas.chat(model="gone").reply("Hello"):
            raise AssertionError("never reached")


async def test_what_was_started_is_followed_by_anybody_and_goes_on_when_they_leave(lembas: Lembas) -> None:
    gate = anyio.Event()
    chat = talk(lembas, Script([text("One, "), pause(gate), text("two.")]))
    sent = await chat.start("Count.")
    async with lembas.follow(sent.reply_id) as early:
        async for event in early:
            if event.kind == "text" or (isinstance(event, events.Snapshot) and event.state.text):
                break
    async with lembas.follow(sent.reply_id) as late:
        snapshot = await anext(late)
        assert isinstance(snapshot, events.Snapshot)
        assert snapshot.state.text == "One, "
        gate.set()
        rest = [event async for event in late]
    assert "".join(event.added for event in rest if isinstance(event, events.Text)) == "two."
    reply = await lembas.wait(sent.reply_id)
    assert (reply.text, reply.outcome, reply.chat_id) == ("One, two.", "done", chat.id)


async def test_what_was_started_is_stopped_and_answered_by_its_id(lembas: Lembas) -> None:
    script = Script([call("add_note", title="Gate")], [text("Hm"), pause(anyio.Event())])
    chat = lembas.chat(model=script, tools=[add_note], titled=False)
    sent = await chat.start("Note it.")
    async with lembas.follow(sent.reply_id) as watched:
        async for event in watched:
            if isinstance(event, events.Snapshot | events.Asking):
                question = event.question if isinstance(event, events.Asking) else event.state.question
                if question is not None:
                    assert await lembas.answer(sent.reply_id, question.id, Answer.allow())
            # The text comes after the answer, so this follower sees it.
            elif isinstance(event, events.Text):
                assert await lembas.stop(sent.reply_id)
    assert (await lembas.wait(sent.reply_id)).outcome == "stopped"
    assert await lembas.stop(sent.reply_id) is False


async def test_a_failed_reply_is_returned_to_who_waits_by_its_id(lembas: Lembas) -> None:
    sent = await talk(lembas, Script([fault(Unreachable("Gone.", timed_out=True))])).start("Hello")
    reply = await lembas.wait(sent.reply_id)
    assert reply.outcome == "error"
    assert isinstance(reply.error, LembasError)
