from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lembas_core.config import Config
from lembas_core.errors import Invalid, NotFound
from lembas_core.settings.registry import InstanceSettings
from lembas_core.settings.service import Settings
from lembas_core.settings.toml import to_toml
from lembas_core.settings.values import SettingInfo
from lembas_core.store import Store, tables
from sqlalchemy import func, select


def told(folder: Path, toml: str = "", **environ: str) -> Config:
    """A configuration whose `[settings]` are `toml` and whose environment is `environ`."""
    file = folder / "lembas.toml"
    file.write_text(f"[settings]\n{toml}\n", encoding="utf-8")
    env = {f"LEMBAS_{key.upper()}": value for key, value in environ.items()}
    return Config.load(file=file, data_dir=folder, environ=env)


async def test_with_nothing_said_the_defaults_hold(store: Store, tmp_path: Path) -> None:
    settings = Settings(store, told(tmp_path))
    assert await settings.values() == InstanceSettings()
    assert {info.source for info in await settings.list()} == {"default"}
    assert await settings.get("titles") is True


async def test_a_change_is_kept_and_clearing_goes_back(store: Store, tmp_path: Path) -> None:
    settings = Settings(store, told(tmp_path))
    await settings.set("default_model", "qwen3:8b")
    await settings.set("default_model", "llama3")
    assert await settings.get("default_model") == "llama3"
    await settings.clear("default_model")
    assert await settings.get("default_model") is None


@pytest.mark.parametrize(("text", "flag"), [("on", True), ("OFF", False), (" yes ", True), ("0", False)])
async def test_a_flag_is_understood_as_a_shell_gives_it(
    store: Store, tmp_path: Path, text: str, flag: bool
) -> None:
    settings = Settings(store, told(tmp_path))
    await settings.set("titles", text)
    assert await settings.get("titles") is flag


async def test_what_the_file_sets_wins_and_is_locked(store: Store, tmp_path: Path) -> None:
    await Settings(store, told(tmp_path)).set("default_model", "from-database")
    settings = Settings(store, told(tmp_path, 'default_model = "from-file"', default_model="from-env"))
    assert await settings.get("default_model") == "from-file"
    info = {info.key: info for info in await settings.list()}["default_model"]
    assert (info.source, info.locked) == ("file", True)
    for change in (settings.set("default_model", "x"), settings.clear("default_model")):
        with pytest.raises(Invalid) as caught:
            await change
        assert str(tmp_path / "lembas.toml") in str(caught.value)


async def test_the_environment_seeds_a_setting_once(store: Store, tmp_path: Path) -> None:
    first = Settings(store, told(tmp_path, default_model="seed"))
    assert await first.get("default_model") == "seed"
    await first.seed()
    later = Settings(store, told(tmp_path, default_model="another"))
    await later.seed()
    assert await later.get("default_model") == "seed"


async def test_what_was_cleared_is_not_seeded_again(store: Store, tmp_path: Path) -> None:
    settings = Settings(store, told(tmp_path, default_model="seed"))
    await settings.seed()
    await settings.clear("default_model")
    await settings.seed()
    assert await settings.get("default_model") is None


async def test_reading_writes_nothing(store: Store, tmp_path: Path) -> None:
    settings = Settings(store, told(tmp_path, default_model="seed"))
    await settings.list()
    await settings.export()
    count = select(func.count()).select_from(tables.settings)
    assert await store.read(lambda c: c.execute(count).scalar_one()) == 0


async def test_an_unknown_setting_names_the_near_one(store: Store, tmp_path: Path) -> None:
    settings = Settings(store, told(tmp_path))
    for asked in (settings.get("defualt_model"), settings.set("defualt_model", "x"), settings.clear("titel")):
        with pytest.raises(NotFound, match=r"Did you mean '(default_model|titles)'"):
            await asked


@pytest.mark.parametrize(("key", "value"), [("titles", "perhaps"), ("titles", 3), ("default_model", 3)])
async def test_a_value_of_another_type_is_refused_and_changes_nothing(
    store: Store, tmp_path: Path, key: str, value: object
) -> None:
    settings = Settings(store, told(tmp_path))
    with pytest.raises(Invalid, match=f"The setting '{key}' takes"):
        await settings.set(key, value)
    assert await settings.values() == InstanceSettings()


@pytest.mark.parametrize("toml", ["titles = 3", "defualt_model = 'x'"])
async def test_a_wrong_file_is_one_sentence_that_names_it(store: Store, tmp_path: Path, toml: str) -> None:
    with pytest.raises(Invalid) as caught:
        Settings(store, told(tmp_path, toml))
    assert str(tmp_path / "lembas.toml") in str(caught.value)


async def test_a_wrong_seed_is_one_sentence(store: Store, tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="environment"):
        Settings(store, told(tmp_path, titles="perhaps"))


async def test_variables_that_are_no_settings_are_let_be(store: Store, tmp_path: Path) -> None:
    assert await Settings(store, told(tmp_path, serve_port="8000")).values() == InstanceSettings()


async def test_what_is_exported_sets_the_same_when_it_is_read(store: Store, tmp_path: Path) -> None:
    settings = Settings(store, told(tmp_path))
    await settings.set("system_prompt", 'Say "mellon"\nand enter \\ 🗝\x7f')
    await settings.set("titles", False)
    text = await settings.export()
    assert "# default_model = " in text
    other = tmp_path / "other"
    other.mkdir()
    (other / "lembas.toml").write_text(text, encoding="utf-8")
    read = Settings(store, Config.load(file=other / "lembas.toml", data_dir=other, environ={}))
    assert {i.key: i.value for i in await read.list()} == {i.key: i.value for i in await settings.list()}
    assert [info.key for info in await read.list() if info.locked] == ["system_prompt", "titles"]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_survives_the_way_through_toml(text: str) -> None:
    info = SettingInfo(
        key="system_prompt", value=text, default=None, description="d", source="database", locked=False
    )
    assert tomllib.loads(to_toml([info]))["settings"]["system_prompt"] == text
