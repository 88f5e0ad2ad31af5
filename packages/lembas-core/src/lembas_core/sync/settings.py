"""Settings, connections, models and people, without `await`; each method is that of its async twin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lembas_core.keep import KEEP, Keep
from lembas_core.people.accounts import People as AsyncPeople
from lembas_core.people.owner import PersonInfo
from lembas_core.settings.connections import Connections as AsyncConnections
from lembas_core.settings.models import Models as AsyncModels
from lembas_core.settings.registry import InstanceSettings
from lembas_core.settings.service import Settings as AsyncSettings
from lembas_core.settings.shelf import ModelSetup
from lembas_core.settings.values import ConnectionInfo, ConnectionTest, ModelEntry, SettingInfo
from lembas_core.sync.loop import Loop

if TYPE_CHECKING:
    from lembas_core.endpoints import Timeouts
    from lembas_core.endpoints.resolved import Resolved
    from lembas_core.endpoints.values import ModelClient, ModelInfo
    from lembas_core.settings.catalogue import Kind

__all__ = ("Connections", "Models", "People", "Settings")


class Settings:
    """The settings of one instance."""

    def __init__(self, loop: Loop, settings: AsyncSettings) -> None:
        self._loop = loop
        self._settings = settings

    def values(self) -> InstanceSettings:
        """Every value at this moment."""
        return self._loop.run(self._settings.values)

    def get(self, key: str) -> Any:
        """One value."""
        return self._loop.run(self._settings.get, key)

    def list(self) -> tuple[SettingInfo, ...]:
        """Every setting with its value and where that comes from."""
        return self._loop.run(self._settings.list)

    def set(self, key: str, value: object) -> None:
        """Change a setting for good; text is understood for every one of them."""
        self._loop.run(self._settings.set, key, value)

    def clear(self, key: str) -> None:
        """Go back to the default."""
        self._loop.run(self._settings.clear, key)

    def export(self) -> str:
        """The settings as text for a `lembas.toml`."""
        return self._loop.run(self._settings.export)

    def seed(self) -> None:
        """Keep what the environment said first; a setting that has a row is left alone."""
        self._loop.run(self._settings.seed)


class Connections:
    """The connections of one instance. Any of them is named by its name or its id."""

    def __init__(self, loop: Loop, connections: AsyncConnections) -> None:
        self._loop = loop
        self._connections = connections

    def list(self) -> tuple[ConnectionInfo, ...]:
        """Every connection in the administrator's order, at once: no endpoint is asked."""
        return self._loop.run(self._connections.list)

    def get(self, name: str) -> ConnectionInfo:
        """One connection."""
        return self._loop.run(self._connections.get, name)

    def add(
        self,
        url: str,
        *,
        name: str | None = None,
        kind: Kind = "auto",
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        timeouts: Timeouts | None = None,
        enabled: bool = True,
    ) -> ConnectionInfo:
        """Keep a new connection and ask it for its models in the background."""
        return self._loop.run(
            self._connections.add,
            url,
            name=name,
            kind=kind,
            key=key,
            headers=headers,
            timeouts=timeouts,
            enabled=enabled,
        )

    def update(
        self,
        name: str,
        *,
        rename: str | None = None,
        url: str | None = None,
        kind: Kind | None = None,
        key: str | Keep | None = KEEP,
        headers: Mapping[str, str] | Keep | None = KEEP,
        timeouts: Timeouts | None = None,
        enabled: bool | None = None,
        position: int | None = None,
    ) -> ConnectionInfo:
        """Change what is given; a new address drops the key and the headers unless they come with it."""
        return self._loop.run(
            self._connections.update,
            name,
            rename=rename,
            url=url,
            kind=kind,
            key=key,
            headers=headers,
            timeouts=timeouts,
            enabled=enabled,
            position=position,
        )

    def remove(self, name: str) -> None:
        """Forget a connection, its key and what was set for its models."""
        self._loop.run(self._connections.remove, name)

    def test(self, name: str) -> ConnectionTest:
        """Ask the endpoint for its models and say how that went; a fault is told, not raised."""
        return self._loop.run(self._connections.test, name)

    def discover(self, name: str) -> tuple[ModelInfo, ...]:
        """Ask the endpoint for its models now and keep them."""
        return self._loop.run(self._connections.discover, name)


class Models:
    """The models of one instance."""

    def __init__(self, loop: Loop, models: AsyncModels) -> None:
        self._loop = loop
        self._models = models

    def list(self) -> tuple[ModelEntry, ...]:
        """Every known model in the administrator's order, at once."""
        return self._loop.run(self._models.list)

    def get(self, ref: str) -> ModelEntry:
        """One model by NAME or CONNECTION/NAME."""
        return self._loop.run(self._models.get, ref)

    def save(self, ref: str, setup: ModelSetup) -> ModelEntry:
        """Keep what an administrator says of a model, whole."""
        return self._loop.run(self._models.save, ref, setup)

    def refresh(self, *, within: float | None = None) -> None:
        """Ask every connection that is switched on for its models, at most `within` seconds."""
        self._loop.run(self._models.refresh, within=within)

    def resolve(self, ref: str | ModelClient | None = None) -> Resolved:
        """The model that `ref` means, ready to be asked."""
        return self._loop.run(self._models.resolve, ref)


class People:
    """The people of one instance."""

    def __init__(self, loop: Loop, people: AsyncPeople) -> None:
        self._loop = loop
        self._people = people

    def owner(self) -> PersonInfo:
        """The person that a terminal or a script acts for."""
        return self._loop.run(self._people.owner)

    def get(self, name_or_id: str) -> PersonInfo:
        """One person by name or id."""
        return self._loop.run(self._people.get, name_or_id)

    def list(self) -> tuple[PersonInfo, ...]:
        """Everybody with a row, the earliest first."""
        return self._loop.run(self._people.list)

    def create_admin(self, name: str, password: str) -> PersonInfo:
        """Make an administrator's account; the first one becomes the owner's own."""
        return self._loop.run(self._people.create_admin, name, password)

    def verify(self, name: str, password: str) -> PersonInfo | None:
        """The person whose name and password these are; None otherwise, after the same time."""
        return self._loop.run(self._people.verify, name, password)
