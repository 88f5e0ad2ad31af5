"""Reading and changing the settings of an instance.

A value comes from the first that says something: `lembas.toml` (which locks it), the database, the
environment (which only counts while the database has said nothing), the default.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyio import to_thread
from sqlalchemy import Connection, insert, select, update

from lembas_core.clock import Clock, SystemClock
from lembas_core.config import Config
from lembas_core.errors import Invalid, ModelMissing, NotFound
from lembas_core.settings.registry import REGISTRY, InstanceSettings, checked
from lembas_core.store import Store, tables

if TYPE_CHECKING:
    from lembas_core.settings.values import SettingInfo, Source

__all__ = ("Settings",)


class Settings:
    """The settings of one instance.

    Raises:
        Invalid: The configuration file sets something that does not exist or is of another type.
    """

    def __init__(self, store: Store, config: Config, *, clock: Clock | None = None) -> None:
        self._store = store
        self._file = config.file
        self._locked = _from_file(config)
        self._seeds = _from_environment(config.seeds)
        self._clock = clock or SystemClock()

    async def values(self) -> InstanceSettings:
        """Every value at this moment."""
        return await self._store.read(self.read)

    async def get(self, key: str) -> Any:
        """One value.

        Raises:
            NotFound: There is no such setting.
        """
        checked(key, None)
        return getattr(await self.values(), key)

    def read(self, connection: Connection) -> InstanceSettings:
        """Every value, inside somebody's transaction."""
        return InstanceSettings(**{key: value for key, (value, _) in self._merged(connection).items()})

    async def list(self) -> tuple[SettingInfo, ...]:
        """Every setting with its value and where that comes from."""
        from lembas_core.settings.values import SettingInfo

        merged = await self._store.read(self._merged)
        return tuple(
            SettingInfo(
                key=each.key,
                value=merged[each.key][0],
                default=each.default,
                description=each.description,
                source=merged[each.key][1],
                locked=each.key in self._locked,
            )
            for each in REGISTRY.values()
        )

    async def set(self, key: str, value: object) -> None:
        """Change a setting for good; text is understood for every one of them.

        Raises:
            NotFound: There is no such setting.
            Invalid: The value is of another type, the file is no model, or the configuration file sets it.
        """
        kept = checked(key, value)
        self._refuse_locked(key)
        if kept and REGISTRY[key].kind == "file":
            await to_thread.run_sync(_require_gguf, str(kept))
        await self._store.write(lambda connection: self._put(connection, key, kept))

    async def clear(self, key: str) -> None:
        """Go back to the default.

        Raises:
            NotFound: There is no such setting.
            Invalid: The configuration file sets it.
        """
        checked(key, None)
        self._refuse_locked(key)
        # The row stays and says "default": without one the environment would seed the setting again.
        await self._store.write(lambda connection: self._put(connection, key, None))

    async def export(self) -> str:
        """The settings as text for a `lembas.toml`."""
        from lembas_core.settings.toml import to_toml

        return to_toml(await self.list())

    async def seed(self) -> None:
        """Keep what the environment said first; a setting that has a row is left alone."""
        if self._seeds and await self._store.read(self._unseeded):
            await self._store.write(self._plant)

    def _unseeded(self, connection: Connection) -> dict[str, object]:
        rows = _rows(connection)
        return {key: value for key, value in self._seeds.items() if key not in rows}

    def _plant(self, connection: Connection) -> None:
        for key, value in self._unseeded(connection).items():
            self._put(connection, key, value)

    def _merged(self, connection: Connection) -> dict[str, tuple[Any, Source]]:
        rows = _rows(connection)
        return {key: self._one(key, rows) for key in REGISTRY}

    def _one(self, key: str, rows: Mapping[str, Any]) -> tuple[Any, Source]:
        if key in self._locked:
            return self._locked[key], "file"
        if key not in rows and key in self._seeds:
            return self._seeds[key], "environment"
        if rows.get(key) is None:
            return REGISTRY[key].default, "default"
        return rows[key], "database"

    def _put(self, connection: Connection, key: str, value: object) -> None:
        table, now = tables.settings, self._clock.now()
        changed = connection.execute(
            update(table).where(table.c.key == key).values(value=value, updated_at=now)
        )
        if not changed.rowcount:
            connection.execute(insert(table).values(key=key, value=value, updated_at=now))

    def _refuse_locked(self, key: str) -> None:
        if key in self._locked:
            raise Invalid(f"The setting {key!r} is set in {self._file}; change it there.")


def _require_gguf(path: str) -> None:
    from lembas_core.local import require_gguf

    try:
        require_gguf(Path(path))
    except ModelMissing as error:
        raise Invalid(str(error)) from None


def _rows(connection: Connection) -> dict[str, Any]:
    table = tables.settings
    found = connection.execute(select(table.c.key, table.c.value))
    return {key: value for key, value in found if key in REGISTRY}


def _from_file(config: Config) -> dict[str, object]:
    try:
        return {key: checked(key, value) for key, value in config.settings.items()}
    except (Invalid, NotFound) as error:
        raise Invalid(f"{error} (in {config.file})") from None


def _from_environment(seeds: Mapping[str, str]) -> dict[str, object]:
    # Other LEMBAS_ variables may belong to other programs of ours, so an unknown one is no fault.
    known = {key: value for key, value in seeds.items() if key in REGISTRY}
    try:
        return {key: checked(key, value) for key, value in known.items()}
    except Invalid as error:
        raise Invalid(f"{error} (in the environment, LEMBAS_…)") from None
