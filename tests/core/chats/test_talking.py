"""Saying something: turns, replies, versions of either, continuing."""

from __future__ import annotations

import anyio
import pytest
from lembas_core.chats import ChatSetup, RunWith, Sent
from lembas_core.chats.continuing import CONTINUE
from lembas_core.endpoints.values import Image, Message, Parameters
from lembas_core.engine.blocks import TextBlock, ToolBlock
from lembas_core.errors import Conflict, Invalid, ModelMissing, NotFound
from lembas_core.testing import Script, call, fault, finish, pause, reasoning, text, usage
from lembas_core.tools.decorator import tool
from lembas_core.tools.values import Toolset
from support.talking import House, Somebody, open_house, talk

PICTURE = Image("image/png", b"\x89PNG")


@tool
async def clock() -> str:
    """Tell the time."""
    return "noon"


def asked(house: House, request: int = -1) -> list[tuple[str, str]]:
    """Roles and texts of a request."""
    return [(message.role, message.text) for message in house.script.requests[request].messages]


async def test_a_chat_comes_with_its_first_turn() -> None:
    async with talk([text("Hello")]) as house:
        assert (await house.chats.list()).items == ()
        sent, _ = await house.said("Hi there")
        (chat,) = (await house.chats.list()).items
        assert (chat.id, chat.title, chat.model, chat.head_id) == (
            sent.chat_id,
            "Hi there",
            "script",
            sent.reply_id,
        )
        user, reply = await house.chats.messages(chat.id)
        assert (user.role, user.text, user.parent_id) == ("user", "Hi there", None)
        assert (reply.role, reply.text, reply.parent_id, reply.model) == (
            "assistant",
            "Hello",
            user.id,
            "script",
        )


async def test_the_conversation_is_told_from_its_beginning() -> None:
    async with talk([text("Hello")], [text("Fine.")]) as house:
        sent, _ = await house.said("Hi")
        await house.said("How are you?", chat_id=sent.chat_id)
        assert asked(house) == [("user", "Hi"), ("assistant", "Hello"), ("user", "How are you?")]


@pytest.mark.parametrize("said", ["", " \n\t"])
async def test_a_turn_with_nothing_in_it_is_refused_and_makes_no_chat(said: str) -> None:
    async with talk() as house:
        with pytest.raises(Invalid, match="nothing to send"):
            await house.chats.send(said)
        assert (await house.chats.list()).items == ()


async def test_a_turn_with_a_picture_and_no_words_is_a_turn() -> None:
    async with talk([text("A pelican.")], [text("Yes.")]) as house:
        sent, _ = await house.said("", images=[PICTURE])
        await house.said("Sure?", chat_id=sent.chat_id)
        assert house.script.requests[1].messages[0] == Message("user", "", (PICTURE,))
        assert (await house.chats.messages(sent.chat_id))[0].images == (PICTURE,)


async def test_pictures_and_tools_are_kept_from_a_model_that_takes_none() -> None:
    async with Script([text("What picture?")]) as script, open_house() as house:
        house.add(script, vision=False, tools=False)
        await house.said("What is it?", images=[PICTURE], run=RunWith(tools=Toolset(clock)))
        request = script.requests[0]
    assert request.tools == ()
    assert not any(message.images for message in request.messages)


async def test_tools_are_offered_to_a_model_of_which_nothing_is_known() -> None:
    async with talk([text("Hi")]) as house:
        await house.said("Hi", run=RunWith(tools=Toolset(clock)))
        assert [spec.name for spec in house.script.requests[0].tools] == ["clock"]


async def test_an_unknown_model_is_told_before_anything_is_stored() -> None:
    async with open_house() as house:
        with pytest.raises(NotFound, match="'nope'"):
            await house.chats.send("Hi", setup=ChatSetup(model="nope"))
        assert (await house.chats.list()).items == ()


async def test_the_most_specific_system_prompt_wins_outright() -> None:
    script = Script(*[[text("ok")] for _ in range(4)])
    async with script, open_house(system_prompt="instance") as house:
        house.add(script)
        await house.said("1")
        house.add(script, system="model")
        await house.said("2")
        await house.said("3", setup=ChatSetup(system="chat"))
        await house.said("4", setup=ChatSetup(system=""))
        first = [request.messages[0] for request in script.requests]
    assert [(m.role, m.text) for m in first] == [
        ("system", "instance"),
        ("system", "model"),
        ("system", "chat"),
        ("user", "4"),
    ]


async def test_parameters_of_the_run_win_over_the_chats_and_those_over_the_models() -> None:
    async with Script([text("ok")]) as script, open_house() as house:
        house.add(script, parameters=Parameters(temperature=1.0, top_p=0.5, seed=1, effort="low"))
        setup = ChatSetup(parameters=Parameters(temperature=0.5, seed=2), effort="high")
        await house.said("Hi", setup=setup, run=RunWith(parameters=Parameters(temperature=0.0)))
    assert script.requests[0].parameters == Parameters(temperature=0.0, top_p=0.5, seed=2, effort="high")


async def test_reasoning_and_tool_results_are_not_told_on_later_turns() -> None:
    steps = ([reasoning("hm"), text("Let me see."), call("clock")], [text("It is noon.")], [text("Yes.")])
    async with talk(*steps) as house:
        sent, view = await house.said("What time is it?", run=RunWith(tools=Toolset(clock)))
        assert [block.kind for block in view.blocks] == ["reasoning", "text", "tool", "text"]
        await house.said("Sure?", chat_id=sent.chat_id)
        assert asked(house) == [
            ("user", "What time is it?"),
            ("assistant", "Let me see.\n\nIt is noon."),
            ("user", "Sure?"),
        ]


async def test_a_failed_reply_without_text_leaves_the_roles_alternating() -> None:
    async with talk([fault(ModelMissing("Nobody there."))], [text("Hello")]) as house:
        sent, view = await house.said("Hi")
        assert view.outcome == "error"
        await house.said("Are you there?", chat_id=sent.chat_id)
        assert asked(house) == [("user", "Hi\n\nAre you there?")]


async def test_a_turn_while_the_reply_still_runs_is_refused_and_changes_nothing() -> None:
    go = anyio.Event()
    async with talk([pause(go), text("Hello")]) as house:
        sent = await house.chats.send("Hi")
        with pytest.raises(Conflict, match="still being written"):
            await house.chats.send("And?", chat_id=sent.chat_id)
        go.set()
        await house.wait(sent)
        assert await house.texts(sent.chat_id) == ["Hi", "Hello"]


async def test_of_two_turns_sent_at_once_one_is_taken() -> None:
    taken, refused = list[str](), list[str]()
    async with talk([text("Hello")], [text("ok")]) as house:
        sent, _ = await house.said("Hi")

        async def send(said: str) -> None:
            try:
                await house.wait(await house.chats.send(said, chat_id=sent.chat_id))
                taken.append(said)
            except Conflict:
                refused.append(said)

        async with anyio.create_task_group() as tasks:
            for said in ("one", "two"):
                tasks.start_soon(send, said)
        assert len(taken) == len(refused) == 1
        assert await house.texts(sent.chat_id) == ["Hi", "Hello", *taken, "ok"]


@pytest.mark.parametrize("runs", [False, True])
@pytest.mark.parametrize("rewind", [False, True])
async def test_of_two_new_versions_asked_for_at_once_one_is_begun(
    rewind: bool, runs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, refused = list[Sent](), list[Conflict]()
    first = [text("Once"), pause(anyio.Event())] if runs else [text("Once")]
    async with talk(first, [text("Twice")]) as house:
        sent = await house.chats.send("A story")
        await house.settle()
        chats, both, there = house.chats, anyio.Event(), list[str]()
        stop_running = chats._stop_running  # pyright: ignore[reportPrivateUsage]

        async def together(chat_id: str) -> None:
            await stop_running(chat_id)
            there.append(chat_id)
            if len(there) == 2:
                both.set()
            await both.wait()

        async def again() -> None:
            try:
                if rewind:
                    begun.append(await chats.send("A tale", instead_of=sent.message_id))
                else:
                    begun.append(await chats.regenerate(sent.reply_id))
            except Conflict as error:
                refused.append(error)

        monkeypatch.setattr(chats, "_stop_running", together)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(again)
            tasks.start_soon(again)
        assert len(begun) == len(refused) == 1
        assert (await house.wait(begun[0])).view.text == "Twice"
        assert len(await house.chats.versions(sent.message_id if rewind else sent.reply_id)) == 2


async def test_saying_a_turn_differently_keeps_the_earlier_version() -> None:
    async with talk([text("Hello")], [text("Fine.")], [text("Bonjour")]) as house:
        sent, _ = await house.said("Hi")
        await house.said("How are you?", chat_id=sent.chat_id)
        other, _ = await house.said("Salut", chat_id=sent.chat_id, instead_of=sent.message_id)
        assert asked(house) == [("user", "Salut")]
        assert await house.texts(sent.chat_id) == ["Salut", "Bonjour"]
        first = (await house.chats.messages(sent.chat_id))[0]
        assert (first.id, first.version, first.versions) == (other.message_id, 2, 2)
        await house.chats.switch(sent.message_id)
        assert await house.texts(sent.chat_id) == ["Hi", "Hello", "How are you?", "Fine."]


async def test_the_turn_alone_says_in_which_chat_it_is_said_differently() -> None:
    async with talk([text("Hello")], [text("Bonjour")]) as house:
        sent, _ = await house.said("Hi")
        other, _ = await house.said("Salut", instead_of=sent.message_id)
        assert other.chat_id == sent.chat_id


async def test_saying_a_turn_differently_stops_the_reply_that_runs() -> None:
    async with talk([text("Once"), pause(anyio.Event())], [text("Bonjour")]) as house:
        sent = await house.chats.send("Hi")
        await house.settle()
        await house.said("Salut", chat_id=sent.chat_id, instead_of=sent.message_id)
        left = (await house.chats.message(sent.reply_id)).status
        assert left == "stopped"


async def test_a_reply_cannot_be_said_differently() -> None:
    async with talk([text("Hello")]) as house:
        sent, _ = await house.said("Hi")
        with pytest.raises(Invalid, match="regenerated"):
            await house.chats.send("Hey", chat_id=sent.chat_id, instead_of=sent.reply_id)


async def test_regenerating_keeps_the_reply_that_was_there() -> None:
    async with talk([text("Hello")], [text("Howdy")]) as house:
        sent, _ = await house.said("Hi")
        again = await house.chats.regenerate(sent.reply_id)
        await house.wait(again)
        assert asked(house) == [("user", "Hi")]
        assert again.message_id == sent.message_id
        assert await house.texts(sent.chat_id) == ["Hi", "Howdy"]
        versions = await house.chats.versions(again.reply_id)
        assert [(v.text, v.version, v.versions) for v in versions] == [("Hello", 1, 2), ("Howdy", 2, 2)]


async def test_regenerating_with_another_model_says_which_one_answered() -> None:
    async with talk([text("Hello")]) as house, Script([text("Salut")], name="other") as other:
        sent, _ = await house.said("Hi")
        await house.wait(await house.chats.regenerate(sent.reply_id, run=RunWith(model=other)))
        assert [v.model for v in await house.chats.versions(sent.reply_id)] == ["script", "other"]


async def test_regenerating_a_reply_that_runs_replaces_it() -> None:
    async with talk([text("Once"), pause(anyio.Event())], [text("Howdy")]) as house:
        sent = await house.chats.send("Hi")
        await house.settle()
        await house.wait(await house.chats.regenerate(sent.reply_id))
        versions = await house.chats.versions(sent.reply_id)
        assert [(v.text, v.status) for v in versions] == [("Once", "stopped"), ("Howdy", "done")]
        assert await house.texts(sent.chat_id) == ["Hi", "Howdy"]


async def test_a_regenerate_that_fails_leaves_the_earlier_reply() -> None:
    async with talk([text("Hello")], [fault(ModelMissing("Gone."))]) as house:
        sent, _ = await house.said("Hi")
        again = await house.chats.regenerate(sent.reply_id)
        await house.wait(again)
        assert (await house.last(sent.chat_id)).error == "Gone."
        await house.chats.switch(sent.reply_id)
        assert await house.texts(sent.chat_id) == ["Hi", "Hello"]


async def test_a_turn_of_a_person_cannot_be_regenerated_or_continued() -> None:
    async with talk([text("Hello")]) as house:
        sent, _ = await house.said("Hi")
        for act in (house.chats.regenerate, house.chats.resume):
            with pytest.raises(Invalid, match="turn of your own"):
                await act(sent.message_id)


async def test_continuing_adds_to_the_same_reply_from_where_it_stopped() -> None:
    steps = ([text("Once upon a t"), usage(10, 5), finish("length")], [text("ime."), usage(20, 2)])
    async with talk(*steps) as house:
        sent, before = await house.said("A story")
        assert before.finish == "length"
        resumed = await house.chats.resume(sent.reply_id)
        assert resumed == sent
        view = (await house.wait(resumed)).view
        assert (view.text, view.outcome, view.finish) == ("Once upon a time.", "done", "stop")
        assert view.blocks == (TextBlock("Once upon a time."),)
        assert view.number > before.number
        assert (view.metrics.completion_tokens, view.metrics.rounds) == (7, 2)
        assert asked(house)[1:] == [("assistant", "Once upon a t"), ("user", CONTINUE)]
        assert await house.texts(sent.chat_id) == ["A story", "Once upon a time."]


async def test_a_stopped_reply_can_be_continued_and_followed_without_doubling() -> None:
    async with talk([text("Once upon"), pause(anyio.Event())], [text(" a time.", cuts=2)]) as house:
        sent = await house.chats.send("A story")
        await house.settle()
        await house.replies.stop(sent.reply_id)
        await house.chats.resume(sent.reply_id)
        _, view = await house.events(sent.reply_id)
        assert view.text == "Once upon a time."
        assert (await house.last(sent.chat_id)).text == view.text


async def test_continuing_after_a_tool_tells_its_result_again() -> None:
    steps = ([text("Let me see."), call("clock")], [fault(ModelMissing("Gone."))], [text("Noon.")])
    async with talk(*steps) as house:
        run = RunWith(tools=Toolset(clock))
        sent, view = await house.said("What time is it?", run=run)
        assert view.outcome == "error"
        view = (await house.wait(await house.chats.resume(sent.reply_id, run=run))).view
        assert view.text == "Let me see.\n\nNoon."
        assert [block.kind for block in view.blocks] == ["text", "tool", "text"]
        assert isinstance(view.blocks[1], ToolBlock)
        assert asked(house)[-1] == ("tool", "noon")


async def test_a_reply_that_had_not_begun_is_simply_asked_for_again() -> None:
    async with talk([fault(ModelMissing("Gone."))], [text("Hello")]) as house:
        sent, _ = await house.said("Hi")
        view = (await house.wait(await house.chats.resume(sent.reply_id))).view
        assert (view.text, view.outcome, view.error) == ("Hello", "done", "")
        assert asked(house) == [("user", "Hi")]
        assert (await house.last(sent.chat_id)).error == ""


async def test_a_complete_reply_cannot_be_continued() -> None:
    async with talk([text("Hello")]) as house:
        sent, _ = await house.said("Hi")
        with pytest.raises(Invalid, match="complete"):
            await house.chats.resume(sent.reply_id)


async def test_only_the_end_of_a_conversation_can_be_continued() -> None:
    async with talk([text("Once"), finish("length")], [text("ok")]) as house:
        sent, _ = await house.said("A story")
        await house.said("Another", chat_id=sent.chat_id)
        with pytest.raises(Invalid, match="gone on"):
            await house.chats.resume(sent.reply_id)


async def test_nothing_is_continued_beside_a_reply_that_runs() -> None:
    async with talk([text("Once"), finish("length")], [text("Twice"), pause(anyio.Event())]) as house:
        sent, _ = await house.said("A story")
        await house.chats.regenerate(sent.reply_id)
        await house.settle()
        with pytest.raises(Conflict, match="still being written"):
            await house.chats.resume(sent.reply_id)


async def test_two_who_continue_at_once_continue_it_once() -> None:
    begun, refused = list[object](), list[Conflict]()
    async with talk([text("Once"), finish("length")], [text(" more")]) as house:
        sent, _ = await house.said("A story")

        async def resume() -> None:
            try:
                begun.append(await house.chats.resume(sent.reply_id))
            except Conflict as error:
                refused.append(error)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(resume)
            tasks.start_soon(resume)
        # Who comes after the first has begun attaches to it; who comes at the same moment is told.
        assert begun and len(begun) + len(refused) == 2
        assert (await house.wait(sent)).view.text == "Once more"


async def test_a_preview_is_the_request_that_is_then_sent() -> None:
    async with talk([text("Hello")], [text("Fine.")], system_prompt="Be brief.") as house:
        run = RunWith(tools=Toolset(clock), parameters=Parameters(seed=3))
        shown = await house.chats.preview("Hi", run=run)
        assert (await house.chats.list()).items == ()
        sent, _ = await house.said("Hi", run=run)
        assert house.script.requests[0] == shown
        shown = await house.chats.preview("How are you?", chat_id=sent.chat_id, run=run)
        await house.said("How are you?", chat_id=sent.chat_id, run=run)
        assert house.script.requests[1] == shown
        instead = await house.chats.preview("Salut", instead_of=sent.message_id)
        assert [message.text for message in instead.messages] == ["Be brief.", "Salut"]


async def test_nobody_speaks_in_somebody_elses_chat() -> None:
    async with talk([text("Hello")]) as house:
        sent, _ = await house.said("Hi")
        theirs = house.chats_of(Somebody("else"))
        for act in (
            theirs.send("Hey", chat_id=sent.chat_id),
            theirs.send("Hey", instead_of=sent.message_id),
            theirs.preview("Hey", chat_id=sent.chat_id),
            theirs.regenerate(sent.reply_id),
            theirs.resume(sent.reply_id),
        ):
            with pytest.raises(NotFound):
                await act
        assert await house.texts(sent.chat_id) == ["Hi", "Hello"]


async def test_who_is_cancelled_while_sending_leaves_no_reply_that_only_seems_to_run() -> None:
    async with talk([text("Hello")]) as house:
        with anyio.CancelScope() as scope:
            scope.cancel()
            sent = await house.chats.send("Hi")
            assert (await house.wait(sent)).view.text == "never"
        await house.settle()
        (chat,) = (await house.chats.list()).items
        assert await house.texts(chat.id) == ["Hi", "Hello"]
