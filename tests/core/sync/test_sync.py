from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Generator
from pathlib import Path

import pytest
from lembas_core.config import Config
from lembas_core.engine import events
from lembas_core.engine.questions import Answer, Question
from lembas_core.errors import NotFound, StoreError, Unreachable
from lembas_core.instance import Lembas as AsyncLembas
from lembas_core.sync import Chat, Endpoint, Lembas, ask
from lembas_core.testing import Script, call, fault, pause, serve_script, text
from lembas_core.tools.decorator import tool


@tool(risk="write")
def add_note(title: str) -> str:
    """Save a note for later."""
    return f"saved {title}"


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config.load(data_dir=tmp_path, environ={})


@pytest.fixture
def lembas(config: Config) -> Generator[Lembas]:
    with Lembas.open(":memory:", config=config) as opened:
        yield opened


def endless() -> Script:
    never = threading.Event()
    return Script([text("Once upon a time"), pause(never)], [text("The end.")])


def last(chat: Chat) -> tuple[str, str]:
    message = chat.messages()[-1]
    return message.status, message.text


def loops() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "lembas"]


def test_a_script_talks_and_finds_it_again(config: Config) -> None:
    with Lembas.open(config=config) as lembas:
        chat = lembas.chat(model=Script([text("At nine.")]), titled=False)
        assert chat.say("When does the gate open?").text == "At nine."
    with Lembas.open(config=config) as lembas:
        assert chat.id is not None
        again = lembas.open_chat(chat.id)
        assert [message.text for message in again.messages()] == ["When does the gate open?", "At nine."]
        assert lembas.counts().messages == 2


def test_events_are_iterated_and_the_reply_is_there_at_the_end(lembas: Lembas) -> None:
    chat = lembas.chat(model=Script([text("In pieces.", cuts=3)]), titled=False)
    with chat.reply("Hello") as reply:
        seen = list(reply)
    assert "".join(event.added for event in seen if isinstance(event, events.Text)) == "In pieces."
    assert seen[-1].kind == "finished"
    assert (reply.reply.text, reply.chat_id) == ("In pieces.", chat.id)
    assert list(reply) == []


def test_breaking_out_stops_the_reply_and_keeps_what_arrived(lembas: Lembas) -> None:
    chat = lembas.chat(model=endless(), titled=False)
    with chat.reply("Tell me a story.") as reply:
        for event in reply:
            if event.kind == "text":
                break
    assert reply.reply.outcome == "stopped"
    assert last(chat) == ("stopped", "Once upon a time")
    assert chat.say("Go on.").text == "The end."


def test_an_error_in_the_block_comes_out_as_it_is(lembas: Lembas) -> None:
    chat = lembas.chat(model=endless(), titled=False)
    with pytest.raises(ZeroDivisionError), chat.reply("Hello") as reply:
        next(reply)
        _ = 1 / 0
    assert last(chat)[0] == "stopped"


def test_another_thread_may_stop_while_this_one_waits(lembas: Lembas) -> None:
    chat = lembas.chat(model=endless(), titled=False)
    with chat.reply("Hello") as reply:
        for event in reply:
            if event.kind == "text":
                threading.Thread(target=reply.stop).start()
    assert reply.reply.outcome == "stopped"


def test_ctrl_c_while_waiting_stops_the_reply(lembas: Lembas) -> None:
    script = endless()
    chat = lembas.chat(model=script, titled=False)

    main = threading.get_ident()

    def interrupt() -> None:
        while not script.streaming:
            threading.Event().wait(0.01)
        signal.pthread_kill(main, signal.SIGINT)

    def in_main_thread(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, in_main_thread)
    try:
        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt):
            chat.say("Hello")
    finally:
        signal.signal(signal.SIGINT, before)
    assert chat.id is not None
    [_, reply] = chat.messages()
    assert lembas.wait(reply.id).outcome == "stopped"


def test_errors_are_those_of_the_async_face(lembas: Lembas) -> None:
    script = Script([text("Half"), fault(Unreachable("Dropped."))])
    chat = lembas.chat(model=script, titled=False)
    with pytest.raises(Unreachable, match="Dropped") as caught:
        chat.say("Hello")
    assert caught.value.partial == "Half"
    with pytest.raises(NotFound):
        lembas.open_chat("ffffffff")
    with pytest.raises(NotFound), lembas.chat(model="gone").reply("Hello"):
        raise AssertionError("never reached")


def test_a_callback_may_take_its_time(lembas: Lembas) -> None:
    threads: list[threading.Thread] = []

    def decide(question: Question) -> Answer:
        threads.append(threading.current_thread())
        return Answer.allow()

    script = Script([call("add_note", title="Gate")], [text("Noted.")])
    chat = lembas.chat(model=script, tools=[add_note], on_question=decide, titled=False)
    assert chat.say("Note it.").text == "Noted."
    assert threads[0].name != "lembas"


def test_a_question_is_answered_between_two_events(lembas: Lembas) -> None:
    script = Script([call("add_note", title="Gate")], [text("Noted.")])
    chat = lembas.chat(model=script, tools=[add_note], titled=False)
    with chat.reply("Note it.") as reply:
        for event in reply:
            if isinstance(event, events.Asking):
                assert reply.answer(event.question.id, Answer.allow())
    assert reply.reply.text == "Noted."


def test_what_was_started_is_followed_and_stopped(lembas: Lembas) -> None:
    sent = lembas.chat(model=endless(), titled=False).start("Hello")
    with lembas.follow(sent.reply_id) as watched:
        assert next(watched).kind == "snapshot"
    assert lembas.stop(sent.reply_id) is True
    assert lembas.wait(sent.reply_id).outcome == "stopped"


def test_it_works_inside_a_running_loop(config: Config) -> None:
    async def notebook() -> str:
        with Lembas.open(":memory:", config=config) as lembas:
            chat = lembas.chat(model=Script([text("In a "), text("notebook.")]), titled=False)
            with chat.reply("Where?") as reply:
                for _ in reply:
                    pass
        return reply.reply.text

    assert asyncio.run(notebook()) == "In a notebook."


def test_what_the_block_raises_closes_the_instance_and_comes_out(config: Config) -> None:
    for error in (ValueError("mine"), KeyboardInterrupt()):
        with pytest.raises(type(error)) as caught, Lembas.open(config=config):
            raise error
        assert caught.value is error
        assert not loops()


def test_an_instance_that_cannot_be_opened_leaves_no_thread(tmp_path: Path, config: Config) -> None:
    with pytest.raises(StoreError), Lembas.open(tmp_path, config=config):
        raise AssertionError("never reached")
    assert not loops()


def test_after_it_was_closed_it_says_so(config: Config) -> None:
    with Lembas.open(":memory:", config=config) as lembas:
        pass
    with pytest.raises(RuntimeError, match="closed"):
        lembas.counts()


def test_services_answer_without_await(lembas: Lembas) -> None:
    lembas.settings.set("titles", "off")
    assert lembas.settings.get("titles") is False
    made = lembas.connections.add("http://127.0.0.1:9", name="gone", enabled=False)
    assert lembas.connections.list() == (made,)
    assert [entry.ref for entry in lembas.models.list() if entry.connection != "local"] == []
    admin = lembas.people.create_admin("frodo", "correct horse battery")
    assert lembas.people.verify("frodo", "correct horse battery") == admin
    assert lembas.acting_as(admin).me == admin
    assert lembas.chats.list().items == ()


def test_any_coroutine_runs_on_the_loop_of_the_instance(lembas: Lembas) -> None:
    async def double(number: int, *, times: int = 2) -> int:
        return number * times

    assert lembas.call(double, 4, times=3) == 12


def test_asking_once_needs_nothing_else() -> None:
    assert ask("Hello", model=Script([text("Hi.")])).text == "Hi."
    with pytest.raises(Unreachable):
        ask("Hello", model=Script([fault(Unreachable("Gone.", timed_out=True))]))


def test_an_endpoint_is_asked_several_times_over_one_loop() -> None:
    with serve_script([text("One.")], [text("Two.")]) as served, Endpoint(served.url) as endpoint:
        assert [info.name for info in endpoint.models()] == ["script"]
        model = endpoint.model("script")
        assert [ask(prompt, model=model).text for prompt in ("first", "second")] == ["One.", "Two."]


def test_both_faces_are_one_instance(config: Config) -> None:
    with Lembas.open(config=config) as lembas:
        lembas.chat(model=Script([text("Hi.")]), titled=False).say("Hello")

    async def look() -> int:
        async with AsyncLembas.open(config=config) as again:
            return (await again.counts()).messages

    assert asyncio.run(look()) == 2
