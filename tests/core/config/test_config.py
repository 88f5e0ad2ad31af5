from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from lembas_core.config import Config
from lembas_core.errors import Invalid


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder that holds nothing, so that the platform's places are ours."""
    for name in ("DATA", "STATE", "CACHE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    return tmp_path


def test_with_nothing_said_the_platform_decides_and_nothing_is_created(elsewhere: Path) -> None:
    config = Config.load(environ={})
    assert config.data_dir == elsewhere / "data" / "lembas"
    assert config.state_dir == elsewhere / "state" / "lembas"
    assert config.cache_dir == elsewhere / "cache" / "lembas"
    assert config.database == str(config.data_dir / "lembas.db")
    assert config.file is None
    assert config.why["data_dir"] == "the platform's usual place"
    assert list(elsewhere.iterdir()) == []


def test_one_folder_holds_everything_when_it_is_named(elsewhere: Path) -> None:
    config = Config.load(environ={"LEMBAS_DATA_DIR": str(elsewhere / "d")})
    assert config.data_dir == elsewhere / "d"
    assert config.state_dir == elsewhere / "d" / "state"
    assert config.cache_dir == elsewhere / "d" / "cache"
    assert config.key_file == elsewhere / "d" / "secret.key"
    assert config.why["state_dir"] == "LEMBAS_DATA_DIR"


def test_an_argument_wins_over_the_environment_and_that_over_the_file(elsewhere: Path) -> None:
    file = elsewhere / "lembas.toml"
    file.write_text('database = "from-file.db"\n', encoding="utf-8")
    env = {"LEMBAS_DATABASE_URL": "from-env.db", "LEMBAS_CONFIG": str(file)}
    assert Config.load(database="given.db", environ=env).why["database"] == "an argument"
    assert Config.load(environ=env).database == "from-env.db"
    only_file = Config.load(file=file, environ={})
    assert only_file.database == str(elsewhere / "from-file.db")
    assert only_file.why["database"] == str(file)


def test_an_empty_variable_counts_as_absent(elsewhere: Path) -> None:
    assert Config.load(environ={"LEMBAS_DATA_DIR": ""}).data_dir == elsewhere / "data" / "lembas"


def test_a_url_in_the_file_stays_as_it_is(elsewhere: Path) -> None:
    file = elsewhere / "lembas.toml"
    file.write_text('database = "postgresql://u:secret@h/db"\n', encoding="utf-8")
    config = Config.load(file=file, environ={})
    assert config.database == "postgresql://u:secret@h/db"
    assert "secret" not in repr(config)


def test_the_file_in_the_usual_place_is_found(elsewhere: Path) -> None:
    folder = elsewhere / "config" / "lembas"
    folder.mkdir(parents=True)
    (folder / "lembas.toml").write_text('[settings]\ndefault_model = "m"\n', encoding="utf-8")
    config = Config.load(environ={})
    assert config.file == folder / "lembas.toml"
    assert config.settings == {"default_model": "m"}


def test_other_variables_of_ours_seed_settings(elsewhere: Path) -> None:
    config = Config.load(environ={"LEMBAS_DEFAULT_MODEL": "m", "LEMBAS_SECRET_KEY": "k", "HOME": "/"})
    assert config.seeds == {"default_model": "m"}
    assert config.secret_key == "k"
    assert "'k'" not in repr(config)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"databse = 'x'\n", "unknown key 'databse'. Did you mean 'database'?"),
        (b"default_model = 'x'\n", "Settings go below [settings]."),
        (b"database = 1\n", "'database' in"),
        (b"settings = 1\n", "write [settings]"),
        (b"database = \n", "is not valid TOML"),
        (b"database = '\xff'\n", "is not UTF-8 text"),
    ],
)
def test_a_wrong_file_is_one_sentence_that_names_it(tmp_path: Path, content: bytes, sentence: str) -> None:
    file = tmp_path / "lembas.toml"
    file.write_bytes(content)
    with pytest.raises(Invalid) as caught:
        Config.load(file=file, environ={})
    assert sentence in str(caught.value)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_was_named_must_exist(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="There is no configuration file at"):
        Config.load(environ={"LEMBAS_CONFIG": str(tmp_path / "none.toml")})


def test_a_folder_in_place_of_the_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="cannot be read: Is a directory"):
        Config.load(file=tmp_path, environ={})


def test_importing_it_is_light() -> None:
    code = "import sys, lembas_core.config; print(*sorted(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"tomllib", "platformdirs", "pydantic", "sqlalchemy"} & set(out.split())
