from __future__ import annotations

import gc
import weakref
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from lembas_core.config import Config
from lembas_core.endpoints import Model, Timeouts
from lembas_core.errors import Conflict, Invalid, NotFound, SecretMissing, Unauthorised, Unreachable
from lembas_core.instance import Lembas
from lembas_core.settings.shelf import ModelSetup
from lembas_core.store import tables
from lembas_core.store.secrets import new_key
from lembas_core.testing import call, serve_script, text
from lembas_core.tools.decorator import tool
from sqlalchemy import select, update
from support.model_server import ModelServer, serving

KEY = "sk-abcdefghijklmnop-1234"
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
async def server() -> AsyncGenerator[ModelServer]:
    async with serving(ModelServer("alpha", "beta", key=KEY)) as served:
        yield served


async def test_a_connection_is_kept_as_it_was_given(lembas: Lembas) -> None:
    made = await lembas.connections.add(
        f" {NOWHERE}/v1/ ", name="gpu", kind="openai", timeouts=Timeouts(silence=7), enabled=False
    )
    assert (made.name, made.url, made.kind, made.enabled) == ("gpu", f"{NOWHERE}/v1", "openai", False)
    assert made.timeouts == Timeouts(silence=7)
    assert (made.key, made.header_names, made.model_count, made.problem) == (None, (), None, "")
    assert await lembas.connections.list() == (made,)
    assert await lembas.connections.get("gpu") == await lembas.connections.get(made.id) == made


async def test_names_are_made_from_hosts_and_never_twice(lembas: Lembas) -> None:
    for _ in range(2):
        await lembas.connections.add("https://api.example.com/v1", enabled=False)
    assert [info.name for info in await lembas.connections.list()] == ["example", "example-2"]
    with pytest.raises(Conflict, match="already a connection called 'example'"):
        await lembas.connections.add(NOWHERE, name="example")


async def test_nothing_wrong_is_kept(lembas: Lembas) -> None:
    for wrong in (
        {"url": "ftp://x"},
        {"url": NOWHERE, "name": "local"},
        {"url": NOWHERE, "key": "two words"},
        {"url": NOWHERE, "headers": {"a b": "c"}},
    ):
        with pytest.raises(Invalid):
            await lembas.connections.add(**wrong)  # pyright: ignore[reportArgumentType]  # wrong on purpose
    assert await lembas.connections.list() == ()


async def test_an_unknown_connection_names_the_near_one(lembas: Lembas) -> None:
    await lembas.connections.add(NOWHERE, name="workstation", enabled=False)
    for asked in (
        lembas.connections.get("workstatoin"),
        lembas.connections.remove("workstatoin"),
        lembas.connections.test("workstatoin"),
        lembas.connections.update("workstatoin", enabled=True),
    ):
        with pytest.raises(NotFound, match="Did you mean 'workstation'"):
            await asked


async def test_a_key_is_sealed_sent_and_shown_only_masked(lembas: Lembas, server: ModelServer) -> None:
    made = await lembas.connections.add(server.url, key=KEY, headers={"X-Team": "hobbits"})
    assert made.key == "…1234"
    assert made.header_names == ("X-Team",)
    assert KEY not in repr(await lembas.connections.list())
    row = await lembas.store.read(lambda c: c.execute(select(tables.connections)).one())
    assert KEY not in repr(row)
    assert "hobbits" not in repr(row)
    found = await lembas.connections.discover(made.name)
    assert [info.name for info in found] == ["alpha", "beta"]
    assert server.requests[-1].headers["x-team"] == "hobbits"


async def test_a_test_says_how_it_went_and_raises_nothing(lembas: Lembas, server: ModelServer) -> None:
    await lembas.connections.add(server.url, name="here", key=KEY, enabled=False)
    good = await lembas.connections.test("here")
    assert (good.problem, good.kind, len(good.models)) == ("", "openai", 2)
    await lembas.connections.update("here", key="sk-wrong")
    bad = await lembas.connections.test("here")
    assert "key" in bad.problem
    assert "sk-wrong" not in bad.problem
    assert (await lembas.connections.get("here")).problem == bad.problem


async def test_asking_for_models_raises_what_went_wrong_and_keeps_it(
    lembas: Lembas, server: ModelServer
) -> None:
    await lembas.connections.add(server.url, name="here", enabled=False)
    with pytest.raises(Unauthorised):
        await lembas.connections.discover("here")
    await lembas.connections.add(NOWHERE, name="gone", enabled=False)
    with pytest.raises(Unreachable) as caught:
        await lembas.connections.discover("gone")
    assert (await lembas.connections.get("gone")).problem == str(caught.value)


async def test_a_new_address_drops_key_headers_and_models(lembas: Lembas, server: ModelServer) -> None:
    await lembas.connections.add(server.url, name="here", key=KEY, headers={"X-Team": "hobbits"})
    await lembas.connections.discover("here")
    async with serving(ModelServer("gamma")) as other:
        moved = await lembas.connections.update("here", url=other.url)
        assert (moved.key, moved.header_names, moved.model_count) == (None, (), None)
        assert [info.name for info in await lembas.connections.discover("here")] == ["gamma"]
        assert "authorization" not in other.requests[-1].headers
        assert "x-team" not in other.requests[-1].headers


async def test_a_new_address_may_bring_its_own_key(lembas: Lembas, server: ModelServer) -> None:
    await lembas.connections.add(NOWHERE, name="here", key="sk-other", enabled=False)
    assert (await lembas.connections.update("here", url=server.url, key=KEY)).key == "…1234"
    assert len(await lembas.connections.discover("here")) == 2


async def test_an_update_changes_what_is_given_and_nothing_else(lembas: Lembas, server: ModelServer) -> None:
    before = await lembas.connections.add(server.url, name="here", key=KEY)
    await lembas.connections.discover("here")
    renamed = await lembas.connections.update("here", rename="there")
    assert (renamed.id, renamed.name, renamed.key, renamed.model_count) == (before.id, "there", "…1234", 2)
    assert (await lembas.connections.update("there", key=None)).key is None
    with pytest.raises(NotFound):
        await lembas.connections.get("here")


async def test_a_taken_name_is_refused_and_changes_nothing(lembas: Lembas) -> None:
    await lembas.connections.add(NOWHERE, name="one", enabled=False)
    await lembas.connections.add(NOWHERE, name="two", enabled=False)
    with pytest.raises(Conflict):
        await lembas.connections.update("two", rename="one")
    assert [info.name for info in await lembas.connections.list()] == ["one", "two"]


async def test_the_order_is_the_administrators(lembas: Lembas) -> None:
    for name in ("one", "two"):
        await lembas.connections.add(NOWHERE, name=name, enabled=False)
    await lembas.connections.update("two", position=-1)
    assert [info.name for info in await lembas.connections.list()] == ["two", "one"]


async def test_what_is_removed_leaves_nothing_of_its_models(lembas: Lembas, server: ModelServer) -> None:
    await lembas.connections.add(server.url, name="here", key=KEY)
    await lembas.connections.discover("here")
    await lembas.models.save("alpha", ModelSetup(tools=True))
    await lembas.connections.remove("here")
    assert await lembas.connections.list() == ()
    assert [entry.ref for entry in await lembas.models.list() if entry.connection != "local"] == []
    assert await lembas.store.read(lambda c: c.execute(select(tables.models)).all()) == []


async def test_a_changed_connection_is_used_at_once(lembas: Lembas, server: ModelServer) -> None:
    await lembas.connections.add(server.url, name="here", key=KEY)
    await lembas.connections.discover("here")
    before = (await lembas.models.resolve("alpha")).client
    assert (await lembas.models.resolve("alpha")).client == before
    await lembas.connections.update("here", timeouts=Timeouts(silence=1))
    assert (await lembas.models.resolve("alpha")).client != before


async def test_a_server_of_another_kind_at_the_old_address_is_noticed(lembas: Lembas) -> None:
    async with serving(ModelServer("alpha", ollama=True)) as server:
        await lembas.connections.add(server.url, name="here")
        await lembas.connections.discover("here")
        server.ollama = False
        assert [info.name for info in await lembas.connections.discover("here")] == ["alpha"]
        assert (await lembas.connections.get("here")).found_kind == "openai"


async def test_without_the_secret_key_a_connection_is_listed_with_one_sentence(tmp_path: Path) -> None:
    config = Config.load(data_dir=tmp_path, environ={})
    async with Lembas.open(config=config) as lembas:
        await lembas.connections.add(NOWHERE, name="here", key=KEY, enabled=False)
    config.key_file.unlink()
    async with Lembas.open(config=config) as lembas:
        info = await lembas.connections.get("here")
        assert info.key == "…"
        assert "key of the stored secrets is missing" in info.problem
        await lembas.connections.update("here", enabled=True)
        with pytest.raises(SecretMissing):
            await lembas.models.resolve("here/alpha")


async def test_a_lost_secret_key_is_not_replaced_while_secrets_need_it(tmp_path: Path) -> None:
    config = Config.load(data_dir=tmp_path, environ={})
    async with Lembas.open(config=config) as lembas:
        await lembas.connections.add(NOWHERE, name="one", key=KEY, enabled=False)
        lost = config.key_file.read_text()
        config.key_file.unlink()
        await lembas.connections.add(NOWHERE, name="open", enabled=False)
        for asked in (
            lembas.connections.add(NOWHERE, name="two", key=KEY),
            lembas.connections.add(NOWHERE, name="two", headers={"X-Team": "hobbits"}),
            lembas.connections.update("open", key=KEY),
            lembas.connections.update("open", headers={"X-Team": "hobbits"}),
        ):
            with pytest.raises(SecretMissing, match=r"is missing: put it back into .*secret\.key"):
                await asked
        assert not config.key_file.exists()
        config.key_file.write_text(lost)
        await lembas.connections.update("open", key=KEY)
        assert [info.key for info in await lembas.connections.list()] == ["…1234", "…1234"]


async def test_another_secret_key_seals_nothing_beside_what_it_cannot_open(tmp_path: Path) -> None:
    config = Config.load(data_dir=tmp_path, environ={})
    async with Lembas.open(config=config) as lembas:
        await lembas.connections.add(NOWHERE, name="one", headers={"X-Team": "hobbits"}, enabled=False)
    other = Config.load(data_dir=tmp_path, environ={"LEMBAS_SECRET_KEY": new_key()})
    async with Lembas.open(config=other) as lembas:
        with pytest.raises(SecretMissing, match="LEMBAS_SECRET_KEY is not the one"):
            await lembas.connections.add(NOWHERE, name="two", key=KEY)
        assert [(info.name, info.header_names) for info in await lembas.connections.list()] == [
            ("one", ("…",))
        ]


async def test_what_a_lost_key_sealed_can_be_replaced_or_removed(tmp_path: Path) -> None:
    config = Config.load(data_dir=tmp_path, environ={})
    async with Lembas.open(config=config) as lembas:
        for name in ("one", "two"):
            await lembas.connections.add(NOWHERE, name=name, key=KEY, enabled=False)
        config.key_file.unlink()
        with pytest.raises(SecretMissing):
            await lembas.connections.update("one", key="sk-abcdefghijklmnop-5678")
        await lembas.connections.remove("two")
        assert (await lembas.connections.update("one", key="sk-abcdefghijklmnop-5678")).key == "…5678"


async def test_a_key_for_an_address_that_moved_meanwhile_is_not_kept(
    lembas: Lembas, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await lembas.connections.add(NOWHERE, name="here", enabled=False)
    moved = update(tables.connections).values(url="https://elsewhere.example")
    sealing = lembas.connections._sealed  # pyright: ignore[reportPrivateUsage]

    async def meanwhile(secret: str | None) -> str | None:
        await lembas.store.write(lambda c: c.execute(moved).rowcount)
        return await sealing(secret)

    monkeypatch.setattr(lembas.connections, "_sealed", meanwhile)
    with pytest.raises(Conflict, match="meanwhile"):
        await lembas.connections.update("here", key=KEY)
    assert (await lembas.connections.get(made.id)).key is None


async def test_nothing_of_a_removed_connection_stays_in_memory(lembas: Lembas, server: ModelServer) -> None:
    await lembas.connections.add(server.url, name="here", key=KEY)
    await lembas.models.refresh()
    client = (await lembas.models.resolve("alpha")).client
    assert isinstance(client, Model)
    endpoint = weakref.ref(client.endpoint)
    del client
    await lembas.connections.remove("here")
    gc.collect()
    assert endpoint() is None


async def test_a_reply_that_runs_goes_on_when_its_connection_is_removed(lembas: Lembas) -> None:
    @tool
    async def remove() -> str:
        """Remove the connection."""
        await lembas.connections.remove("here")
        return "removed"

    async with serve_script([call("remove")], [text("Gone, and here I am.")]) as served:
        await lembas.connections.add(served.url, name="here")
        await lembas.models.refresh()
        reply = await lembas.chat(model="here/script", tools=[remove], titled=False).say("Go")
        assert reply.text == "Gone, and here I am."
    assert await lembas.connections.list() == ()
