"""What an instance is put together from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from lembas_core.people import People
from lembas_core.replies import Replies
from lembas_core.settings import (
    Connections,
    Discovery,
    Endpoints,
    LocalModels,
    Models,
    Settings,
)

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from lembas_core.clock import Clock
    from lembas_core.config import Config
    from lembas_core.store import Store
    from lembas_core.store.secrets import Vault

__all__ = ("Parts", "assemble")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Everything one instance shares, whoever acts in it."""

    config: Config
    origin: str
    clock: Clock
    store: Store
    settings: Settings
    endpoints: Endpoints
    local: LocalModels
    connections: Connections
    models: Models
    people: People
    replies: Replies

    async def setting(self, key: str) -> Any:
        """The value of one instance setting."""
        return await self.settings.get(key)


def assemble(config: Config, store: Store, tasks: TaskGroup, clock: Clock, origin: str) -> Parts:
    """Put an instance together; nothing is asked and nothing is written yet."""

    @cache
    def vault() -> Vault:
        return _vault(config, store)

    settings = Settings(store, config, clock=clock)
    endpoints = Endpoints(vault)
    local = LocalModels(config.data_dir / "models")
    discovery = Discovery(store, endpoints, tasks, clock)
    return Parts(
        config=config,
        origin=origin,
        clock=clock,
        store=store,
        settings=settings,
        endpoints=endpoints,
        local=local,
        connections=Connections(store, vault, discovery, clock),
        models=Models(store, settings, endpoints, discovery, local, clock),
        people=People(store, clock),
        replies=Replies(store, tasks, clock),
    )


def _vault(config: Config, store: Store) -> Vault:
    """Opened with the first secret: what needs none imports no cryptography."""
    from lembas_core.store.secrets import Vault, load_key, new_key

    in_memory = store.dialect == "sqlite" and store.path is None
    return Vault(new_key() if in_memory else load_key(config))
