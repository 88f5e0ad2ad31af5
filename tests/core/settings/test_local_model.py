"""The embedded model, as an instance without any configuration uses it."""

from __future__ import annotations

from pathlib import Path

import anyio
import psutil
import pytest
from lembas_core.config import Config
from lembas_core.engine import events
from lembas_core.errors import Invalid, ModelMissing
from lembas_core.instance import Lembas
from lembas_core.local import LocalServer

needs_model = pytest.mark.skipif(
    not LocalServer().available(), reason="the local extra and the small model's weights are not installed"
)


def servers() -> list[psutil.Process]:
    return [child for child in psutil.Process().children(recursive=True) if _serves(child)]


def _serves(child: psutil.Process) -> bool:
    try:
        return "lembas_core.local.serve" in " ".join(child.cmdline())
    except psutil.NoSuchProcess:  # gone meanwhile, or about to be
        return False


@needs_model
@pytest.mark.slow
@pytest.mark.timeout(180)
async def test_with_nothing_configured_a_chat_answers_offline(config: Config) -> None:
    async with Lembas.open(config=config) as lembas:
        assert servers() == []
        chat = lembas.chat(titled=False)
        reply = await chat.say("Say hello.")
        assert reply.text.strip()
        assert reply.metrics.completion_tokens is not None
        assert (await chat.info()).model == (await lembas.models.list())[-1].ref
        assert len(servers()) == 1
        found = await lembas.models.resolve()
        assert (found.tools, found.vision) == (False, False)
        assert found.context_window is not None
    assert servers() == []


@needs_model
@pytest.mark.slow
@pytest.mark.timeout(180)
async def test_two_first_turns_start_one_server_and_a_crash_is_survived(lembas: Lembas) -> None:
    async with anyio.create_task_group() as tasks:
        for _ in range(2):
            tasks.start_soon(lembas.chat(titled=False).say, "Say hello.")
    [server] = servers()
    server.kill()
    # Not waited for by its id: that would take the news of its end from who started it.
    with anyio.fail_after(10):
        while servers():
            await anyio.lowlevel.checkpoint()
    assert (await lembas.chat(titled=False).say("Say hello.")).outcome == "done"


@needs_model
@pytest.mark.slow
@pytest.mark.timeout(180)
async def test_leaving_stops_the_local_model_too(lembas: Lembas) -> None:
    chat = lembas.chat(titled=False)
    async with chat.reply("Count from one to a thousand in words.") as reply:
        async for event in reply:
            if isinstance(event, events.Text):
                break
    assert reply.reply.outcome == "stopped"
    assert reply.reply.text


async def test_a_file_that_is_no_model_is_one_sentence(lembas: Lembas, tmp_path: Path) -> None:
    file = tmp_path / "letter.gguf"
    file.write_text("Dear Bilbo", encoding="utf-8")
    with pytest.raises(ModelMissing) as caught:
        await lembas.chat(model=str(file), titled=False).say("Hello")
    assert "\n" not in str(caught.value)


async def test_a_setting_keeps_the_whole_path_of_its_file(
    lembas: Lembas, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other.gguf").write_bytes(b"GGUF")
    monkeypatch.chdir(tmp_path)
    await lembas.settings.set("local_model", "other.gguf")
    assert await lembas.settings.get("local_model") == str(tmp_path / "other.gguf")


@pytest.mark.parametrize("name", ["missing.gguf", "letter.gguf", "."])
async def test_a_setting_refuses_a_file_that_is_no_model(lembas: Lembas, tmp_path: Path, name: str) -> None:
    (tmp_path / "letter.gguf").write_text("Dear Bilbo", encoding="utf-8")
    with pytest.raises(Invalid) as caught:
        await lembas.settings.set("local_model", str(tmp_path / name))
    assert str(tmp_path / name) in str(caught.value)
    assert await lembas.settings.get("local_model") is None


async def test_a_setting_names_another_file(lembas: Lembas, tmp_path: Path) -> None:
    file = tmp_path / "Other.gguf"
    file.write_bytes(b"GGUF")
    await lembas.settings.set("local_model", str(file))
    found = await lembas.models.resolve("local")
    assert (found.ref, found.tools) == ("local/other", None)
    small = f"local/{LocalServer().name}"
    assert (await lembas.models.resolve(small)).ref == small
