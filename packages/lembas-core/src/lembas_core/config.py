"""Where things are: folders, database, configuration file, and why each is what it is.

What was passed wins over the environment, that over `lembas.toml`, that over the platform's folders:

    LEMBAS_DATA_DIR       one folder for everything
    LEMBAS_DATABASE_URL   a path or a database URL
    LEMBAS_CONFIG         the configuration file
    LEMBAS_SECRET_KEY     what stored secrets are sealed with
    LEMBAS_<SETTING>      the first value of an instance setting

`lembas.toml` may hold `data_dir`, `database` and a `[settings]` table; what that table sets is locked.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from lembas_core.errors import Invalid
from lembas_core.frozen import frozen
from lembas_core.near import near

__all__ = ("Config",)

_FILE_KEYS: Final = ("data_dir", "database", "settings")
_OWN: Final = frozenset({"DATA_DIR", "DATABASE_URL", "CONFIG", "SECRET_KEY"})


@frozen(kw_only=True)
class Config:
    """What an instance is told from outside; `Config.load()` finds it.

    Attributes:
        data_dir: What must be kept: the database, files, the secret key.
        state_dir: What is nice to keep: histories, logs.
        cache_dir: What can be fetched again: model weights.
        database: A path or a database URL; it may hold a password and is never shown as it is.
        file: The `lembas.toml` that was read, None when there is none.
        secret_key: The key from the environment, None when the key file serves.
        settings: Instance settings that the file sets and so locks.
        seeds: First values of instance settings from the environment, by setting.
        why: For each of the above by name, one phrase on where it comes from.
    """

    data_dir: Path
    state_dir: Path
    cache_dir: Path
    database: str = field(repr=False)
    file: Path | None = None
    secret_key: str | None = field(default=None, repr=False)
    settings: Mapping[str, object] = field(default_factory=dict[str, object], repr=False)
    seeds: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    why: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    @property
    def key_file(self) -> Path:
        """Where the secret key is kept unless the environment gives one."""
        return self.data_dir / "secret.key"

    @classmethod
    def load(
        cls,
        *,
        data_dir: str | Path | None = None,
        database: str | None = None,
        file: str | Path | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Config:
        """Find everything; nothing is created.

        Args:
            data_dir: Wins over the environment, the file and the platform.
            database: Wins likewise: a path or a URL.
            file: The configuration file to read in place of the usual one.
            environ: The environment, `os.environ` unless a test says otherwise.

        Raises:
            Invalid: The configuration file is missing where it was named, unreadable or wrong.
        """
        env = _settled(os.environ if environ is None else environ)
        path, told = _find_file(file, env)
        content = _read(path, must_exist=told != _PLATFORM)
        found = path if content is not None else None
        folder, why_folder = _first(
            ("an argument", data_dir),
            ("LEMBAS_DATA_DIR", env.get("DATA_DIR")),
            (str(found), _beside(path, _text(content, "data_dir", path))),
        )
        dirs = _platform_dirs() if folder is None else _inside(Path(folder).expanduser().absolute())
        address, why_address = _first(
            ("an argument", database),
            ("LEMBAS_DATABASE_URL", env.get("DATABASE_URL")),
            (str(found), _beside(path, _text(content, "database", path))),
        )
        return cls(
            data_dir=dirs[0],
            state_dir=dirs[1],
            cache_dir=dirs[2],
            database=address or str(dirs[0] / "lembas.db"),
            file=found,
            secret_key=env.get("SECRET_KEY"),
            settings=MappingProxyType(_table(content, path)),
            seeds=MappingProxyType({k.lower(): v for k, v in env.items() if k not in _OWN}),
            why=MappingProxyType(
                {
                    **dict.fromkeys(("data_dir", "state_dir", "cache_dir"), why_folder or _PLATFORM),
                    "database": why_address or "inside the data folder",
                    "file": told if found else f"none at {path}",
                    "secret_key": "LEMBAS_SECRET_KEY" if "SECRET_KEY" in env else "the key file",
                }
            ),
        )


_PLATFORM: Final = "the platform's usual place"


def _settled(environ: Mapping[str, str]) -> dict[str, str]:
    """Our variables without their prefix; an empty one counts as absent, as shells mean it."""
    return {k.removeprefix("LEMBAS_"): v for k, v in environ.items() if k.startswith("LEMBAS_") and v}


def _first(*candidates: tuple[str, str | Path | None]) -> tuple[str | None, str]:
    for why, value in candidates:
        if value is not None and str(value):
            return str(value), why
    return None, ""


def _platform_dirs() -> tuple[Path, Path, Path]:
    from platformdirs import PlatformDirs

    dirs = PlatformDirs("lembas", appauthor=False)
    return dirs.user_data_path, dirs.user_state_path, dirs.user_cache_path


def _inside(folder: Path) -> tuple[Path, Path, Path]:
    return folder, folder / "state", folder / "cache"


def _find_file(file: str | Path | None, env: Mapping[str, str]) -> tuple[Path, str]:
    named, told = _first(("an argument", file), ("LEMBAS_CONFIG", env.get("CONFIG")))
    if named is not None:
        return Path(named).expanduser().absolute(), told
    from platformdirs import PlatformDirs

    return PlatformDirs("lembas", appauthor=False).user_config_path / "lembas.toml", _PLATFORM


def _read(path: Path, *, must_exist: bool) -> dict[str, Any] | None:
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        if must_exist:
            raise Invalid(f"There is no configuration file at {path}.") from None
        return None
    except OSError as error:
        raise Invalid(f"The configuration file {path} cannot be read: {error.strerror}.") from error
    return _checked(_parsed(raw, path), path)


def _parsed(raw: bytes, path: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(raw.decode())
    except UnicodeDecodeError:
        raise Invalid(f"The configuration file {path} is not UTF-8 text.") from None
    except tomllib.TOMLDecodeError as error:
        raise Invalid(f"The configuration file {path} is not valid TOML: {error}.") from None


def _checked(content: dict[str, Any], path: Path) -> dict[str, Any]:
    for key in content:
        if key not in _FILE_KEYS:
            hint = near(key, _FILE_KEYS) or " Settings go below [settings]."
            raise Invalid(f"The configuration file {path} has an unknown key {key!r}.{hint}")
    return content


def _text(content: dict[str, Any] | None, key: str, path: Path) -> str | None:
    value = (content or {}).get(key)
    if value is None or isinstance(value, str):
        return value
    raise Invalid(f"{key!r} in {path} must be text.")


def _beside(path: Path, value: str | None) -> str | None:
    """A relative path in the file counts from the file's folder; URLs and `:memory:` stay as they are."""
    if value is None or "://" in value or value == ":memory:":
        return value
    return str(path.parent / Path(value).expanduser())


def _table(content: dict[str, Any] | None, path: Path) -> dict[str, object]:
    value: object = (content or {}).get("settings", {})
    if isinstance(value, dict):
        return dict(value)  # pyright: ignore[reportUnknownArgumentType]  # TOML keys are text
    raise Invalid(f"'settings' in {path} must be a table: write [settings].")
