"""Replies in the background: followed, stopped, answered, kept."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import anyio
import pytest
from lembas_core.chats import ChatSetup, RunWith, Sent
from lembas_core.engine.events import Event, Finished, Snapshot, Text
from lembas_core.engine.questions import Answer, Question
from lembas_core.engine.state import ReplyView, ToolBlock
from lembas_core.errors import NotFound, RateLimited, Unreachable
from lembas_core.replies import Job, Work
from lembas_core.store import Store
from lembas_core.testing import FakeClock, Script, call, fault, pause, reasoning, text, usage
from lembas_core.testing.steps import Pause
from lembas_core.tools.decorator import tool
from lembas_core.tools.values import Toolset
from support.talking import House, elsewhere, open_house, talk


@dataclass
class Gate:
    """A place in a script or a tool where a test waits and lets go."""

    reached: anyio.Event = field(default_factory=anyio.Event)
    opened: anyio.Event = field(default_factory=anyio.Event)

    @property
    def step(self) -> Pause:
        return pause(self.opened, reached=self.reached)

    async def wait(self) -> None:
        with anyio.fail_after(5):
            await self.reached.wait()


@tool(risk="write")
async def add_note(title: str) -> str:
    """Save a note."""
    return f"Saved {title}."


@asynccontextmanager
async def asking(house: House) -> AsyncGenerator[tuple[Sent, Question]]:
    """A reply that waits for permission."""
    sent = await house.chats.send("Note it.", run=RunWith(tools=Toolset(add_note)))
    with anyio.fail_after(5):
        async with house.replies.follow(sent.reply_id) as events:
            async for event in events:
                if event.kind == "asking":
                    yield sent, event.question
                    return


async def row_view(house: House, reply_id: str) -> ReplyView:
    """What the row holds, looked at as another process does."""
    async with (
        open_house(store=house.store, clock=house.clock) as other,
        other.replies.follow(reply_id) as it,
    ):
        event = await anext(it)
        assert isinstance(event, Snapshot)
        return event.state


async def test_a_reply_runs_without_anybody_who_follows() -> None:
    async with talk([text("Hello")]) as house:
        _, view = await house.said("Hi")
        assert (view.text, view.outcome, view.finish) == ("Hello", "done", "stop")


async def test_the_row_is_the_last_view() -> None:
    async with talk([reasoning("hm"), text("Hello", cuts=2), usage(12, 3)]) as house:
        sent, view = await house.said("Hi")
        assert await row_view(house, sent.reply_id) == view


async def test_the_end_is_stored_before_it_is_told() -> None:
    async with talk([text("Hello")]) as house:
        sent = await house.chats.send("Hi")
        async with house.replies.follow(sent.reply_id) as events:
            async for event in events:
                if isinstance(event, Finished):
                    assert (await row_view(house, sent.reply_id)).outcome == "done"


async def test_followers_that_come_at_different_moments_see_the_same() -> None:
    gates = [Gate() for _ in range(3)]
    steps = [item for at, gate in enumerate(gates) for item in (text(f"part {at} ", cuts=2), gate.step)]
    views = list[ReplyView]()

    async def follow(house: House, sent: Sent) -> None:
        events, view = await house.events(sent.reply_id)
        first = events[0]
        assert isinstance(first, Snapshot)
        added = "".join(event.added for event in events if isinstance(event, Text))
        assert first.state.text + added == view.text
        views.append(view)

    async with talk([*steps, text("end")]) as house:
        sent = await house.chats.send("Go")
        async with anyio.create_task_group() as tasks:
            for gate in gates:
                await gate.wait()
                tasks.start_soon(follow, house, sent)
                gate.opened.set()
        ended = (await house.wait(sent)).view
        await follow(house, sent)
    assert views == [ended] * 4
    assert ended.text == "part 0 part 1 part 2 end"


async def test_a_follower_that_leaves_does_not_stop_the_reply() -> None:
    gate = Gate()
    async with talk([text("a"), gate.step, text("b")]) as house:
        sent = await house.chats.send("Go")
        await gate.wait()
        async with house.replies.follow(sent.reply_id) as events:
            await anext(events)
        gate.opened.set()
        assert (await house.wait(sent)).view.text == "ab"


async def test_starting_twice_starts_once() -> None:
    gate = Gate()
    async with talk([gate.step, text("once")]) as house:
        sent = await house.chats.send("Go")
        await gate.wait()
        assert await house.chats.resume(sent.reply_id) == sent
        gate.opened.set()
        assert (await house.wait(sent)).view.text == "once"


async def test_the_same_generation_is_started_once() -> None:
    asked = list[str]()

    async def prepare() -> Work:
        asked.append("prepared")
        await anyio.sleep_forever()
        raise AssertionError

    async with open_house() as house:
        job = Job(message_id="m", generation="g", prepare=prepare)
        for _ in range(3):
            house.replies.start(job)
        await anyio.wait_all_tasks_blocked()
        assert asked == ["prepared"]


@pytest.mark.parametrize("before", [True, False])
async def test_stopping_keeps_what_arrived_and_closes_the_stream(before: bool) -> None:
    gate = Gate()
    steps = [gate.step, text("never")] if before else [reasoning("hm"), text("Once upon"), gate.step]
    async with talk(steps) as house:
        sent = await house.chats.send("Go")
        await gate.wait()
        assert await house.replies.stop(sent.reply_id)
        assert house.script.streaming == 0
        ended = (await house.wait(sent)).view
        assert (ended.outcome, ended.text) == ("stopped", "" if before else "Once upon")
        assert await row_view(house, sent.reply_id) == ended


async def test_a_reply_can_be_stopped_before_it_has_begun() -> None:
    async with open_house(Script()) as house:
        sent = await house.chats.send("Go")
        assert await house.replies.stop(sent.reply_id)
        assert (await house.last(sent.chat_id)).status == "stopped"


async def test_stopping_twice_stops_once() -> None:
    gate = Gate()
    async with talk([gate.step]) as house:
        sent = await house.chats.send("Go")
        await gate.wait()
        assert await house.replies.stop(sent.reply_id)
        assert not await house.replies.stop(sent.reply_id)


async def test_a_reply_that_is_done_cannot_be_stopped() -> None:
    async with talk([text("Hello")]) as house:
        sent, _ = await house.said("Hi")
        assert not await house.replies.stop(sent.reply_id)
        assert (await house.last(sent.chat_id)).status == "done"


async def test_stopping_during_a_tool_cancels_it_and_closes_its_block() -> None:
    gate = Gate()

    @tool
    async def ponder() -> str:
        """Think for ever."""
        gate.reached.set()
        await anyio.sleep_forever()
        return ""

    async with talk([text("Wait."), call("ponder")]) as house:
        sent = await house.chats.send("Go", run=RunWith(tools=Toolset(ponder)))
        await gate.wait()
        assert await house.replies.stop(sent.reply_id)
        message = await house.last(sent.chat_id)
        block = message.blocks[-1]
        assert message.status == "stopped"
        assert isinstance(block, ToolBlock) and block.is_error and block.result == "Stopped."


async def test_a_reply_that_asks_can_be_stopped() -> None:
    async with talk([call("add_note", title="Gate")]) as house:
        async with asking(house) as (sent, question):
            assert await house.replies.stop(sent.reply_id)
            assert not await house.replies.answer(sent.reply_id, question.id, Answer.allow())
        view = await row_view(house, sent.reply_id)
        assert (view.outcome, view.question) == ("stopped", None)


async def test_an_answer_counts_once() -> None:
    async with talk([call("add_note", title="Gate")], [text("Noted.")]) as house:
        async with asking(house) as (sent, question):
            assert not await house.replies.answer(sent.reply_id, "another", Answer.deny())
            assert await house.replies.answer(sent.reply_id, question.id, Answer.allow())
            assert not await house.replies.answer(sent.reply_id, question.id, Answer.deny())
        ended = (await house.wait(sent)).view
        block = ended.blocks[0]
        assert isinstance(block, ToolBlock) and block.result == "Saved Gate."


async def test_a_callback_is_asked_and_somebody_else_may_be_faster() -> None:
    asked = list[Question]()

    async def decide(question: Question) -> Answer:
        asked.append(question)
        if len(asked) > 1:
            return Answer.deny()
        await anyio.sleep_forever()
        return Answer.deny()

    steps = ([call("add_note", title="A")], [text("Done.")], [call("add_note", title="B")], [text("Done.")])
    run = RunWith(tools=Toolset(add_note), on_question=decide)
    async with talk(*steps) as house:
        sent = await house.chats.send("Go", run=run)
        await anyio.wait_all_tasks_blocked()
        assert await house.replies.answer(sent.reply_id, asked[0].id, Answer.allow())
        first = (await house.wait(sent)).view.blocks[0]
        _, view = await house.said("Again", chat_id=sent.chat_id, run=run)
        second = view.blocks[0]
    assert isinstance(first, ToolBlock) and first.result == "Saved A."
    assert isinstance(second, ToolBlock) and second.is_error


async def test_nobody_answers_in_time() -> None:
    clock = FakeClock()
    async with talk([call("add_note", title="Gate")], [text("Then not.")], clock=clock) as house:
        async with asking(house) as (sent, _):
            await anyio.wait_all_tasks_blocked()
            clock.advance(3600)
        view = (await house.wait(sent)).view
        assert (view.outcome, view.text) == ("done", "Then not.")


async def test_a_fault_ends_the_reply_with_its_sentence_and_its_facts() -> None:
    error = RateLimited("Too many requests; try again in 90 seconds.", retry_after=90)
    async with talk([fault(error)]) as house:
        sent = await house.chats.send("Hi")
        ended = await house.wait(sent)
        assert ended.error is error
        assert (await house.wait(sent)).error is error
        message = await house.last(sent.chat_id)
        assert (message.status, message.error_kind, message.error) == ("error", "RateLimited", str(error))


async def test_a_fault_after_the_first_token_keeps_what_arrived() -> None:
    async with talk([text("Once upon"), fault(Unreachable("The connection broke."))]) as house:
        sent, view = await house.said("Hi")
        assert (view.outcome, view.text) == ("error", "Once upon")
        async with open_house(store=house.store) as later:
            ended = await later.replies.wait(sent.reply_id)
        assert isinstance(ended.error, Unreachable) and ended.error.partial == "Once upon"


async def test_a_mistake_of_our_own_ends_one_reply_and_no_other(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(question: Question) -> Answer:
        raise ZeroDivisionError("by nothing")

    async with talk([call("add_note", title="A")], [text("Fine.")]) as house:
        run = RunWith(tools=Toolset(add_note), on_question=broken)
        sent, view = await house.said("Go", run=run)
        assert view.outcome == "error" and "ZeroDivisionError: by nothing" in view.error
        _, view = await house.said("And now?", chat_id=sent.chat_id)
        assert view.text == "Fine."
    assert "failed for a reason of our own" in caplog.text


async def test_what_cannot_be_written_meanwhile_ends_no_reply_and_holds_up_no_other() -> None:
    gate, other = Gate(), Gate()
    async with talk([call("never"), usage(2**70)], [text("One"), gate.step]) as house:
        house.add(Script([text("Two"), other.step]), "other")
        odd = await house.chats.send("Go")
        fine = await house.chats.send("Go", setup=ChatSetup(model="other"))
        await gate.wait()
        await other.wait()
        await house.pass_time(2)
        assert (await row_view(house, fine.reply_id)).text == "Two"
        gate.opened.set()
        assert (await house.wait(odd)).view.outcome == "done"
        other.opened.set()
        assert (await house.wait(fine)).view.outcome == "done"


async def test_a_running_reply_is_written_every_second_and_at_least_that_much_survives() -> None:
    clock, gate = FakeClock(), Gate()
    async with talk([text("Once upon"), gate.step, text(" a time")], clock=clock) as house:
        sent = await house.chats.send("Go")
        await gate.wait()
        assert (await row_view(house, sent.reply_id)).text == ""
        await house.pass_time()
        view = await row_view(house, sent.reply_id)
        assert (view.text, view.outcome) == ("Once upon", None)
        gate.opened.set()
        assert (await house.wait(sent)).view.text == "Once upon a time"


async def test_a_reply_that_waits_for_long_is_known_to_live() -> None:
    clock, gate = FakeClock(), Gate()
    async with talk([gate.step, text("Finally.")], clock=clock, owner=elsewhere("one")) as house:
        sent = await house.chats.send("Go")
        await gate.wait()
        await house.pass_time(20)
        async with open_house(store=house.store, clock=clock, owner=elsewhere("two")) as other:
            assert await other.replies.sweep() == []
        gate.opened.set()
        assert (await house.wait(sent)).view.text == "Finally."


async def test_replies_of_a_process_that_is_gone_become_interrupted() -> None:
    clock, gate = FakeClock(), Gate()
    async with talk([text("Once"), call("never"), gate.step], clock=clock, owner=elsewhere("one")) as house:
        sent = await house.chats.send("Go")
        await gate.wait()
        await house.pass_time()
        async with open_house(store=house.store, clock=FakeClock(later(clock, 16))) as other:
            assert await other.replies.sweep() == [sent.reply_id]
            assert await other.replies.sweep() == []
        view = await row_view(house, sent.reply_id)
        assert (view.text, view.outcome) == ("Once", "interrupted")


def later(clock: FakeClock, seconds: float) -> datetime:
    return clock.now() + timedelta(seconds=seconds)


async def test_a_process_that_was_taken_for_dead_claims_its_reply_back() -> None:
    clock, gate = FakeClock(), Gate()
    async with talk([text("Once"), gate.step, text(" more")], clock=clock, owner=elsewhere("one")) as house:
        sent = await house.chats.send("Go")
        await gate.wait()
        async with open_house(store=house.store, clock=FakeClock(later(clock, 16))) as other:
            assert await other.replies.sweep() == [sent.reply_id]
        gate.opened.set()
        assert (await house.wait(sent)).view.text == "Once more"
        assert (await row_view(house, sent.reply_id)).outcome == "done"


async def test_a_predecessor_never_writes_over_its_successor() -> None:
    clock, gate = FakeClock(), Gate()
    async with talk([text("Once"), gate.step, text(" lost")], clock=clock, owner=elsewhere("one")) as house:
        sent = await house.chats.send("Go")
        await gate.wait()
        await house.pass_time()
        seen = await follow_in_the_background(house, sent)
        async with talk([text(" more")], store=house.store, clock=FakeClock(later(clock, 16))) as other:
            await other.replies.sweep()
            await other.wait(await other.chats.resume(sent.reply_id))
            gate.opened.set()
            assert (await house.wait(sent)).view.outcome == "interrupted"
            assert seen[-1].kind == "finished"
            message = await other.last(sent.chat_id)
            assert (message.text, message.status) == ("Once more", "done")


async def follow_in_the_background(house: House, sent: Sent) -> list[Event]:
    """The events of a reply, a list that grows."""
    seen = list[Event]()

    async def follow() -> None:
        async with house.replies.follow(sent.reply_id) as events:
            seen.extend([event async for event in events])

    house.tasks.start_soon(follow)
    await house.settle()
    return seen


async def test_a_process_that_lost_its_reply_stops_asking_its_model() -> None:
    clock, gate = FakeClock(), Gate()
    async with talk([text("Once"), gate.step], clock=clock, owner=elsewhere("one")) as house:
        sent = await house.chats.send("Go")
        await gate.wait()
        async with talk([text("again")], store=house.store, clock=FakeClock(later(clock, 16))) as other:
            await other.replies.sweep()
            await other.wait(await other.chats.resume(sent.reply_id))
        await house.pass_time()
        assert house.script.streaming == 0


async def test_closing_the_instance_keeps_what_arrived_as_interrupted() -> None:
    gate, store = Gate(), await Store.open(":memory:")
    async with talk([text("Once upon"), gate.step], store=store) as house:
        sent = await house.chats.send("Go")
        await gate.wait()
        async with house.replies.follow(sent.reply_id) as events:
            await anext(events)
            await house.replies.aclose()
            rest = [event async for event in events]
        assert isinstance(rest[-1], Finished) and rest[-1].outcome == "interrupted"
        async with open_house(store=store) as later_on:
            view = await row_view(later_on, sent.reply_id)
        assert (view.text, view.outcome) == ("Once upon", "interrupted")
    await store.aclose()


async def test_a_task_group_that_is_cancelled_keeps_what_arrived_too() -> None:
    gate, store, sent = Gate(), await Store.open(":memory:"), list[Sent]()
    async with Script([text("Once upon"), gate.step]) as script:
        async with anyio.create_task_group() as tasks:

            async def live() -> None:
                async with open_house(script, store=store) as house:
                    sent.append(await house.chats.send("Go"))
                    await anyio.sleep_forever()

            tasks.start_soon(live)
            await gate.wait()
            tasks.cancel_scope.cancel()
        async with open_house(store=store) as later_on:
            view = await row_view(later_on, sent[0].reply_id)
        assert (view.text, view.outcome) == ("Once upon", "interrupted")
    await store.aclose()


async def test_another_process_follows_by_the_row() -> None:
    clock, gates = FakeClock(), [Gate(), Gate()]
    steps = [text("one "), gates[0].step, text("two "), gates[1].step, text("three")]
    async with talk(steps, clock=clock) as house:
        sent = await house.chats.send("Go")
        await gates[0].wait()
        async with (
            open_house(store=house.store, clock=clock) as other,
            other.replies.follow(sent.reply_id) as it,
        ):
            seen = [await anext(it)]

            async def look() -> None:
                seen.append(await anext(it))

            for gate in gates:
                await gate.wait()
                await house.while_time_passes(look)
                gate.opened.set()
            await house.wait(sent)
            await house.while_time_passes(look)
            with pytest.raises(StopAsyncIteration):
                await anext(it)
    states = [event.state for event in seen if isinstance(event, Snapshot)]
    assert [state.text for state in states] == ["", "one ", "one two ", "one two three"]
    assert [state.outcome for state in states] == [None, None, None, "done"]


async def test_another_process_stops_a_reply_and_nothing_is_lost() -> None:
    clock, gate = FakeClock(), Gate()
    async with talk([text("Once upon"), gate.step], clock=clock) as house:
        sent = await house.chats.send("Go")
        await gate.wait()
        async with open_house(store=house.store, clock=clock) as other:

            async def stop() -> None:
                assert await other.replies.stop(sent.reply_id)

            await house.while_time_passes(stop)
        view = await row_view(house, sent.reply_id)
        assert (view.text, view.outcome) == ("Once upon", "stopped")


async def test_another_process_sees_the_question_and_answers_it_once() -> None:
    clock = FakeClock()
    async with talk([call("add_note", title="Gate")], [text("Noted.")], clock=clock) as house:
        async with asking(house) as (sent, question):
            await house.pass_time()
            async with open_house(store=house.store, clock=clock) as other:
                assert (await row_view(house, sent.reply_id)).question == question
                assert not await other.replies.answer(sent.reply_id, "another", Answer.deny())
                assert await other.replies.answer(sent.reply_id, question.id, Answer.allow())
                assert not await other.replies.answer(sent.reply_id, question.id, Answer.deny())
            await house.pass_time()
        view = (await house.wait(sent)).view
        assert view.text == "Noted."


async def test_waiting_for_a_reply_whose_process_has_died_ends() -> None:
    clock, gate = FakeClock(), Gate()
    async with talk([text("Once"), gate.step], clock=clock, owner=elsewhere("one")) as house:
        sent = await house.chats.send("Go")
        await gate.wait()
        async with open_house(store=house.store, clock=FakeClock(later(clock, 16))) as other:
            with anyio.fail_after(5):
                ended = await other.replies.wait(sent.reply_id)
        assert ended.view.outcome == "interrupted"


async def test_a_reply_that_is_not_there_is_not_found() -> None:
    async with open_house() as house:
        with pytest.raises(NotFound):
            await house.replies.wait("nothing")
        async with house.replies.follow("nothing") as events:
            with pytest.raises(NotFound):
                await anext(events)
        assert not await house.replies.stop("nothing")
        assert not await house.replies.answer("nothing", "q", Answer.allow())


async def test_two_hundred_replies_at_once_are_all_stored() -> None:
    scripts = [Script([text(f"reply {at} " * 20, cuts=7)], name=f"m{at}") for at in range(200)]
    async with open_house(*scripts) as house:
        sent = [await house.chats.send("Go", run=RunWith(model=script)) for script in scripts]
        ended = [(await house.wait(one)).view for one in sent]
        assert [view.text for view in ended] == [f"reply {at} " * 20 for at in range(200)]
        rows = [(await house.last(one.chat_id)).text for one in sent]
        assert rows == [view.text for view in ended]


async def test_replies_that_nobody_saw_end_mark_their_chat_unread() -> None:
    gate = Gate()
    steps = ([text("seen")], [gate.step, text("unseen")])
    async with talk(*steps) as house:
        sent, _ = await house.said("Hi")
        assert not (await house.chats.get(sent.chat_id)).unread
        await house.chats.send("And now I go.", chat_id=sent.chat_id)
        await gate.wait()
        gate.opened.set()
        await house.settle()
        assert (await house.chats.get(sent.chat_id)).unread
        await house.chats.mark_read(sent.chat_id)
        assert not (await house.chats.get(sent.chat_id)).unread
