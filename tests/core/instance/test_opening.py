from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import anyio
import pytest
from lembas_core.config import Config
from lembas_core.engine import events
from lembas_core.errors import Invalid, NotFound, StoreError
from lembas_core.instance import Lembas
from lembas_core.store import tables
from lembas_core.testing import Script, pause, text
from sqlalchemy import select

PASSWORD = "correct horse battery staple"


async def test_what_was_said_is_there_another_day(lasting: str, config: Config) -> None:
    async with Lembas.open(lasting, config=config) as lembas:
        chat = lembas.chat(model=Script([text("At nine.")]), titled=False)
        await chat.say("When does the gate open?")
    async with Lembas.open(lasting, config=config) as lembas:
        assert chat.id is not None
        again = await lembas.open_chat(chat.id)
        assert [message.text for message in await again.messages()] == [
            "When does the gate open?",
            "At nine.",
        ]


async def test_a_path_is_enough(tmp_path: Path, config: Config) -> None:
    async with Lembas.open(tmp_path / "chats.db", config=config) as lembas:
        assert lembas.store.path == tmp_path / "chats.db"
    assert (tmp_path / "chats.db").exists()


async def test_opening_writes_nothing_for_anybody(config: Config) -> None:
    async with Lembas.open(config=config) as lembas:
        counts = await lembas.counts()
        assert (counts.people, counts.chats) == (0, 0)
        assert (lembas.me.name, lembas.me.is_owner, lembas.me.created_at) == ("owner", True, None)


@pytest.mark.parametrize("error", [ValueError("mine"), NotFound("mine"), KeyboardInterrupt()])
async def test_what_the_block_raises_comes_out_as_it_is(config: Config, error: BaseException) -> None:
    with pytest.raises(type(error)) as caught:
        async with Lembas.open(":memory:", config=config):
            raise error
    assert caught.value is error


async def test_a_group_that_the_block_raises_stays_what_it_is(config: Config) -> None:
    with pytest.raises(ExceptionGroup) as caught:
        async with Lembas.open(":memory:", config=config):
            raise ExceptionGroup("mine", [ValueError("x")])
    assert caught.value.message == "mine"


async def test_a_time_out_around_the_instance_holds(config: Config) -> None:
    with anyio.move_on_after(0.05) as scope:
        async with Lembas.open(config=config) as lembas:
            await lembas.chat(model=Script([text("Once"), pause(anyio.Event())]), titled=False).say("Hello")
    assert scope.cancelled_caught
    async with Lembas.open(config=config) as lembas:
        rows = await lembas.store.read(lambda c: c.execute(select(tables.messages.c.status)).scalars().all())
        assert "running" not in rows


async def test_closing_ends_what_runs_and_it_can_be_resumed(config: Config) -> None:
    async with Lembas.open(config=config) as lembas:
        chat = lembas.chat(model=Script([text("Once upon"), pause(anyio.Event())]), titled=False)
        sent = await chat.start("Tell me a story.")
        async with lembas.follow(sent.reply_id) as watched:
            async for event in watched:
                if event.kind == "text" or (isinstance(event, events.Snapshot) and event.state.text):
                    break
    async with Lembas.open(config=config) as lembas:
        script = Script([text(" a time.")])
        again = await lembas.open_chat(sent.chat_id, model=script)
        last = (await again.messages())[-1]
        assert (last.status, last.text) == ("interrupted", "Once upon")
        assert (await again.resume()).text == "Once upon a time."


async def test_a_resumed_reply_can_be_watched(config: Config) -> None:
    async with Lembas.open(":memory:", config=config) as lembas:
        script = Script([text("Once upon"), pause(anyio.Event())], [text(" a time.")])
        chat = lembas.chat(model=script, titled=False)
        async with chat.reply("Tell me a story.") as reply:
            async for event in reply:
                if isinstance(event, events.Text):
                    break
        async with chat.resuming() as reply:
            seen = [event async for event in reply]
        assert isinstance(seen[0], events.Snapshot)
        assert seen[0].state.text == "Once upon"
        assert reply.reply.text == "Once upon a time."


@pytest.mark.slow
def test_a_killed_process_leaves_its_reply_interrupted(tmp_path: Path) -> None:
    code = """
        import anyio, os, sys
        from lembas_core import Config, Lembas, events
        from lembas_core.testing import Script, pause, text

        async def main():
            async with Lembas.open(config=Config.load(data_dir=sys.argv[1], environ={})) as lembas:
                chat = lembas.chat(model=Script([text("Once upon"), pause(anyio.Event())]), titled=False)
                async with chat.reply("Hello") as reply:
                    async for event in reply:
                        if event.kind == "text":
                            await anyio.sleep(1.5)
                            os.kill(os.getpid(), 9)

        anyio.run(main)
    """
    ended = subprocess.run([sys.executable, "-c", textwrap.dedent(code), str(tmp_path)], check=False)
    assert ended.returncode == -9

    async def look() -> tuple[str, str]:
        async with Lembas.open(config=Config.load(data_dir=tmp_path, environ={})) as lembas:
            [info] = (await lembas.chats.list()).items
            with anyio.fail_after(5):
                while True:
                    last = (await lembas.chats.messages(info.id))[-1]
                    if last.status != "running":
                        return last.status, last.text
                    await anyio.lowlevel.checkpoint()

    assert anyio.run(look) == ("interrupted", "Once upon")


async def test_the_environment_seeds_settings_at_the_first_start(tmp_path: Path) -> None:
    seeded = Config.load(data_dir=tmp_path, environ={"LEMBAS_DEFAULT_MODEL": "seed"})
    async with Lembas.open(config=seeded) as lembas:
        with anyio.fail_after(5):
            while (await lembas.settings.list())[0].source != "database":
                await anyio.lowlevel.checkpoint()
    async with Lembas.open(config=Config.load(data_dir=tmp_path, environ={})) as lembas:
        assert await lembas.settings.get("default_model") == "seed"


async def test_a_wrong_configuration_is_one_sentence_and_closes_what_was_opened(tmp_path: Path) -> None:
    file = tmp_path / "lembas.toml"
    file.write_text("[settings]\ndefualt_model = 'x'\n", encoding="utf-8")
    with pytest.raises(Invalid, match="Did you mean 'default_model'"):
        async with Lembas.open(config=Config.load(data_dir=tmp_path, file=file, environ={})):
            raise AssertionError("never reached")


async def test_a_database_that_cannot_be_opened_is_one_sentence(tmp_path: Path, config: Config) -> None:
    (tmp_path / "not-a-database.db").write_bytes(b"not a database" * 100)
    with pytest.raises(StoreError):
        async with Lembas.open(tmp_path / "not-a-database.db", config=config):
            raise AssertionError("never reached")


async def test_somebody_else_sees_and_touches_nothing_of_mine(lembas: Lembas) -> None:
    await lembas.people.create_admin("frodo", PASSWORD)
    sam = lembas.acting_as(await lembas.people.create_admin("sam", PASSWORD))
    chat = lembas.chat(model=Script([text("Keep it secret."), pause(anyio.Event())]), titled=False)
    sent = await chat.start("What have I got in my pocket?")
    assert (await sam.chats.list()).items == ()
    for asked in (
        sam.open_chat(sent.chat_id),
        sam.wait(sent.reply_id),
        sam.stop(sent.reply_id),
        sam.chats.get(sent.chat_id),
    ):
        with pytest.raises(NotFound):
            await asked
    with pytest.raises(NotFound):
        async with sam.follow(sent.reply_id):
            raise AssertionError("never reached")
    assert sam.me.name == "sam"
    assert await lembas.stop(sent.reply_id) is True


async def test_each_has_their_own_chats(lembas: Lembas) -> None:
    await lembas.people.create_admin("frodo", PASSWORD)
    sam = lembas.acting_as(await lembas.people.create_admin("sam", PASSWORD))
    await sam.chat(model=Script([text("Potatoes.")]), title="Supper").say("What is for supper?")
    assert [info.title for info in (await sam.chats.list()).items] == ["Supper"]
    assert (await lembas.chats.list()).items == ()


async def test_two_instances_share_one_database(lasting: str, config: Config) -> None:
    async with Lembas.open(lasting, config=config) as one, Lembas.open(lasting, config=config) as two:
        gate = anyio.Event()
        chat = one.chat(model=Script([pause(gate), text("Once upon.")]), titled=False)
        sent = await chat.start("Hello")
        async with two.follow(sent.reply_id) as watched:
            running = await anext(watched)
            assert isinstance(running, events.Snapshot)
            assert running.state.outcome is None
            gate.set()
            with anyio.fail_after(10):
                seen = [event async for event in watched]
        assert isinstance(seen[-1], events.Snapshot)
        assert (seen[-1].state.text, seen[-1].state.outcome) == ("Once upon.", "done")
        assert (await two.wait(sent.reply_id)).text == "Once upon."
