from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from lembas_core.config import Config
from lembas_core.endpoints.values import ModelInfo, Parameters
from lembas_core.errors import NotFound
from lembas_core.instance import Lembas
from lembas_core.settings import discovery
from lembas_core.settings.catalogue import Entry, read_connections
from lembas_core.settings.pool import Endpoints
from lembas_core.settings.shelf import ModelSetup
from lembas_core.store.secrets import Vault
from lembas_core.testing import FakeClock, Script, text
from support.model_server import ModelServer, serving


@pytest.fixture
async def server() -> AsyncGenerator[ModelServer]:
    async with serving(ModelServer("zebra", "alpha", "org/model-7b")) as served:
        yield served


async def connect(lembas: Lembas, server: ModelServer, name: str = "here") -> None:
    await lembas.connections.add(server.url, name=name)
    await lembas.models.refresh()


async def refs(lembas: Lembas) -> list[str]:
    return [entry.ref for entry in await lembas.models.list() if entry.connection != "local"]


async def test_models_are_listed_in_the_endpoints_order(lembas: Lembas, server: ModelServer) -> None:
    await connect(lembas, server)
    assert await refs(lembas) == ["here/zebra", "here/alpha", "here/org/model-7b"]


async def test_the_administrators_order_comes_before_the_endpoints(
    lembas: Lembas, server: ModelServer
) -> None:
    await connect(lembas, server)
    await lembas.models.save("org/model-7b", ModelSetup(position=1))
    await lembas.models.save("alpha", ModelSetup(position=2))
    assert await refs(lembas) == ["here/org/model-7b", "here/alpha", "here/zebra"]


@pytest.mark.parametrize("ref", ["alpha", "here/alpha"])
async def test_a_model_is_found_with_and_without_its_connection(
    lembas: Lembas, server: ModelServer, ref: str
) -> None:
    await connect(lembas, server)
    found = await lembas.models.resolve(ref)
    assert (found.ref, found.name, found.client.name) == ("here/alpha", "alpha", "alpha")


async def test_a_name_with_slashes_is_found_in_both_ways(lembas: Lembas, server: ModelServer) -> None:
    await connect(lembas, server)
    assert (await lembas.models.resolve("org/model-7b")).ref == "here/org/model-7b"
    assert (await lembas.models.resolve("here/org/model-7b")).name == "org/model-7b"


async def test_of_two_connections_the_first_answers_for_a_bare_name(
    lembas: Lembas, server: ModelServer
) -> None:
    async with serving(ModelServer("alpha")) as other:
        await connect(lembas, server, "one")
        await connect(lembas, other, "two")
        assert (await lembas.models.resolve("alpha")).ref == "one/alpha"
        assert (await lembas.models.resolve("two/alpha")).ref == "two/alpha"
        await lembas.connections.update("one", enabled=False)
        assert (await lembas.models.resolve("alpha")).ref == "two/alpha"


async def test_a_connection_that_was_never_asked_is_asked_with_the_first_turn(
    lembas: Lembas, server: ModelServer
) -> None:
    await lembas.connections.add(server.url, name="here", enabled=False)
    await lembas.connections.update("here", enabled=True)
    assert (await lembas.models.resolve("here/alpha")).name == "alpha"
    info = await lembas.connections.get("here")
    assert (info.found_kind, info.model_count) == ("openai", 3)
    await lembas.connections.add("http://127.0.0.1:9", name="gone", enabled=False)
    await lembas.connections.update("gone", enabled=True)
    assert (await lembas.models.resolve("gone/whatever")).name == "whatever"
    assert (await lembas.connections.get("gone")).problem


async def test_an_unknown_name_names_near_ones(lembas: Lembas, server: ModelServer) -> None:
    await connect(lembas, server)
    for wrong in ("alhpa", "here/alhpa"):
        with pytest.raises(NotFound, match=r"There is no model .*Did you mean .*alpha"):
            await lembas.models.resolve(wrong)


async def test_an_unknown_name_says_why_the_one_connection_could_not_tell(lembas: Lembas) -> None:
    await lembas.connections.add("http://127.0.0.1:9", name="gone")
    with pytest.raises(
        NotFound, match=r"no model 'alpha'\. The models of 'gone' are not known: .*127\.0\.0\.1:9"
    ):
        await lembas.models.resolve("alpha")


async def test_an_unknown_name_says_nothing_of_connections_that_were_not_asked_for(
    lembas: Lembas, server: ModelServer
) -> None:
    server.broken = True
    await lembas.connections.add(server.url, name="html")
    await lembas.connections.add("http://127.0.0.1:9", name="gone")
    async with serving(ModelServer("alpha")) as other:
        await connect(lembas, other, "fine")
        await lembas.models.refresh()
        for wrong in ("fine/mellon-77", "mellon-77"):
            with pytest.raises(NotFound) as caught:
                await lembas.models.resolve(wrong)
            assert str(caught.value) == f"There is no model {wrong!r}."
        with pytest.raises(NotFound, match=r"no model 'alhpa'\. Did you mean 'alpha'"):
            await lembas.models.resolve("alhpa")
        other.broken = True
        with pytest.raises(
            NotFound, match=r"no model 'fine/m'\. The models of 'fine' are not known: .*no model API"
        ):
            await lembas.models.resolve("fine/m")


async def test_a_file_that_is_no_model_is_told_as_such(lembas: Lembas, tmp_path: Path) -> None:
    file = tmp_path / "letter.txt"
    file.write_text("Dear Bilbo", encoding="utf-8")
    with pytest.raises(NotFound, match=r"letter\.txt is not a GGUF file"):
        await lembas.models.resolve(str(file))
    with pytest.raises(NotFound, match="There is no model"):
        await lembas.models.resolve("x" * 5000)


async def test_a_model_that_came_later_is_found_by_asking_again(lembas: Lembas, server: ModelServer) -> None:
    await connect(lembas, server)
    server.models.append("newcomer")
    assert (await lembas.models.resolve("newcomer")).ref == "here/newcomer"


async def test_what_is_known_is_found_without_asking_anybody(lembas: Lembas, server: ModelServer) -> None:
    await connect(lembas, server)
    await lembas.models.resolve("alpha")
    before = len(server.requests)
    for _ in range(3):
        await lembas.models.resolve("alpha")
    assert len(server.requests) == before


async def test_a_name_without_a_tag_is_the_latest(lembas: Lembas) -> None:
    async with serving(ModelServer("qwen3:8b", "llama3:latest", ollama=True)) as ollama:
        await connect(lembas, ollama)
        assert (await lembas.models.resolve("llama3")).name == "llama3:latest"
        assert (await lembas.connections.get("here")).found_kind == "ollama"


async def test_what_a_model_can_do_is_asked_once_and_kept(lembas: Lembas) -> None:
    async with serving(ModelServer("m:latest", ollama=True)) as ollama:
        ollama.details["m:latest"] = {
            "capabilities": ["completion", "tools"],
            "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40960},
        }
        await connect(lembas, ollama)
        for _ in range(2):
            found = await lembas.models.resolve("m")
            assert found.tools is True
            assert found.vision is False
        assert ollama.asked("/api/show") == 1
        assert (await lembas.models.get("m:latest")).tools is True


async def test_a_model_whose_endpoint_was_slow_once_is_asked_again_some_minutes_later(
    lembas: Lembas, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(ModelServer("m", ollama=True)) as ollama, anyio.create_task_group() as tasks:
        ollama.details["m"] = {"capabilities": ["completion", "tools"]}
        await connect(lembas, ollama)
        (kept,) = await lembas.store.read(read_connections)
        entry, endpoints, clock = Entry(ModelInfo(name="m")), Endpoints(no_vault), FakeClock()
        asking = discovery.Discovery(lembas.store, endpoints, tasks, clock)
        ollama.hanging = anyio.Event()
        with monkeypatch.context() as patience:
            patience.setattr(discovery, "DESCRIBE_SECONDS", 0.02)
            assert await asking.describe(kept, entry) == entry
        ollama.hanging.set()
        clock.advance(discovery.SILENT_SECONDS - 1)
        assert await asking.describe(kept, entry) == entry
        clock.advance(1)
        assert (await asking.describe(kept, entry)).info.tools is True
        assert (await lembas.models.get("m")).tools is True
        await endpoints.aclose()


def no_vault() -> Vault:
    raise AssertionError("nothing is sealed here")


async def test_the_window_a_model_was_trained_with_is_not_taken_for_the_one_it_is_served_with(
    lembas: Lembas,
) -> None:
    async with serving(ModelServer("trained", "stated", ollama=True)) as ollama:
        known = {"general.architecture": "qwen3", "qwen3.context_length": 40960}
        ollama.details["trained"] = {"model_info": known}
        ollama.details["stated"] = {"model_info": known, "parameters": "num_ctx 8192"}
        await connect(lembas, ollama)
        assert (await lembas.models.resolve("trained")).context_window is None
        assert (await lembas.models.resolve("stated")).context_window == 8192
        await lembas.models.save("trained", ModelSetup(context_window=16384))
        assert (await lembas.models.resolve("trained")).context_window == 16384


async def test_what_the_administrator_says_wins_over_the_endpoint(lembas: Lembas) -> None:
    async with serving(ModelServer("m", ollama=True)) as ollama:
        ollama.details["m"] = {"capabilities": ["completion", "tools"]}
        await connect(lembas, ollama)
        setup = ModelSetup(
            tools=False,
            context_window=4096,
            parameters=Parameters(temperature=0.2, effort="low"),
            system="Be brief.",
        )
        await lembas.models.save("m", setup)
        found = await lembas.models.resolve("m")
        assert (found.tools, found.context_window, found.system) == (False, 4096, "Be brief.")
        assert (found.parameters.temperature, found.parameters.effort) == (0.2, "low")
        entry = await lembas.models.get("m")
        assert entry.setup == setup
        await lembas.models.save("m", replace(entry.setup, tools=None))
        assert (await lembas.models.resolve("m")).tools is True


async def test_a_model_that_is_switched_off_is_refused_with_its_name(
    lembas: Lembas, server: ModelServer
) -> None:
    await connect(lembas, server)
    await lembas.models.save("alpha", ModelSetup(enabled=False))
    with pytest.raises(NotFound, match="'here/alpha' is switched off"):
        await lembas.models.resolve("alpha")
    assert {entry.ref: entry.offered for entry in await lembas.models.list()}["here/alpha"] is False
    await lembas.connections.update("here", enabled=False)
    with pytest.raises(NotFound, match="connection 'here' is switched off"):
        await lembas.models.resolve("zebra")


async def test_without_a_default_the_first_offered_model_answers(lembas: Lembas, server: ModelServer) -> None:
    await connect(lembas, server)
    await lembas.models.save("zebra", ModelSetup(enabled=False))
    assert (await lembas.models.resolve()).ref == "here/alpha"
    assert [entry.ref for entry in await lembas.models.list() if entry.is_default] == ["here/alpha"]


async def test_the_default_model_answers_for_who_names_none(lembas: Lembas, server: ModelServer) -> None:
    await connect(lembas, server)
    await lembas.settings.set("default_model", "alpha")
    assert (await lembas.models.resolve()).ref == "here/alpha"
    assert [entry.ref for entry in await lembas.models.list() if entry.is_default] == ["here/alpha"]


async def test_a_default_that_does_not_exist_is_said_and_not_replaced(
    lembas: Lembas, server: ModelServer
) -> None:
    await connect(lembas, server)
    await lembas.settings.set("default_model", "gone")
    with pytest.raises(NotFound, match="'gone'"):
        await lembas.models.resolve()


async def test_a_client_that_is_handed_in_is_taken_as_it_is(lembas: Lembas) -> None:
    script = Script([text("hi")])
    found = await lembas.models.resolve(script)
    assert (found.client, found.ref, found.tools) == (script, script.name, None)


async def test_a_dead_endpoint_delays_no_list_and_keeps_its_last_models(
    lembas: Lembas, server: ModelServer
) -> None:
    await connect(lembas, server)
    server.broken = True
    await lembas.models.refresh()
    entry = await lembas.models.get("alpha")
    assert "no model API" in entry.problem
    assert await refs(lembas) == ["here/zebra", "here/alpha", "here/org/model-7b"]
    server.broken = False
    await lembas.models.refresh()
    assert (await lembas.models.get("alpha")).problem == ""


async def test_an_endpoint_that_hangs_delays_neither_lists_nor_what_is_known(
    lembas: Lembas, server: ModelServer
) -> None:
    await connect(lembas, server)
    await lembas.models.resolve("alpha")
    async with serving(ModelServer("slow")) as slow:
        slow.hanging = anyio.Event()
        await lembas.connections.add(slow.url, name="slow")
        with anyio.fail_after(2):
            assert "here/alpha" in await refs(lembas)
            assert (await lembas.models.resolve("alpha")).ref == "here/alpha"
            await lembas.models.refresh(within=0)
        slow.hanging.set()
        await lembas.models.refresh()
        assert "slow/slow" in await refs(lembas)


async def test_a_restart_knows_the_models_without_asking(tmp_path: Path, server: ModelServer) -> None:
    config = Config.load(data_dir=tmp_path, environ={})
    async with Lembas.open(config=config) as lembas:
        await connect(lembas, server)
        await lembas.models.resolve("alpha")
    before = len(server.requests)
    async with Lembas.open(config=config) as lembas:
        assert (await lembas.models.resolve("alpha")).ref == "here/alpha"
        assert len(await refs(lembas)) == 3
    assert len(server.requests) == before


async def test_learned_capabilities_survive_a_new_look_at_the_list(lembas: Lembas) -> None:
    async with serving(ModelServer("m", ollama=True)) as ollama:
        ollama.details["m"] = {"capabilities": ["completion", "tools"]}
        await connect(lembas, ollama)
        await lembas.models.resolve("m")
        await lembas.models.refresh()
        assert (await lembas.models.get("m")).tools is True


async def test_a_gguf_file_is_served_by_the_embedded_engine(lembas: Lembas, tmp_path: Path) -> None:
    file = tmp_path / "Tiny Model.gguf"
    file.write_bytes(b"GGUF")
    found = await lembas.models.resolve(str(file))
    assert (found.ref, found.tools) == (str(file), None)
    with pytest.raises(NotFound, match=r"There is no file .*missing\.gguf"):
        await lembas.models.resolve(str(tmp_path / "missing.gguf"))


async def test_the_embedded_model_can_be_named(lembas: Lembas) -> None:
    found = await lembas.models.resolve("local")
    assert found.ref.startswith("local/")
    assert (await lembas.models.resolve(found.ref)).client is found.client


async def test_with_nothing_configured_the_embedded_model_answers_if_it_is_here(lembas: Lembas) -> None:
    entries = await lembas.models.list()
    if not entries:
        with pytest.raises(NotFound, match="lembas connections add"):
            await lembas.models.resolve()
    else:
        assert (await lembas.models.resolve()).ref == entries[-1].ref
        assert entries[-1].is_default
