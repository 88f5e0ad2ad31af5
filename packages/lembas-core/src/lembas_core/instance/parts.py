"""What an instance is put together from. What not every use needs is imported when it is first asked for."""

from __future__ import annotations

from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from lembas_core.replies import Replies
from lembas_core.settings.discovery import Discovery
from lembas_core.settings.local import LocalModels
from lembas_core.settings.models import Models
from lembas_core.settings.pool import Endpoints
from lembas_core.settings.service import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyio.abc import TaskGroup

    from lembas_core.clock import Clock
    from lembas_core.config import Config
    from lembas_core.people.accounts import People
    from lembas_core.settings.connections import Connections
    from lembas_core.store import Store
    from lembas_core.store.secrets import Vault

__all__ = ("Parts",)


class Parts:
    """Everything one instance shares, whoever acts in it; nothing is asked and nothing is written yet."""

    def __init__(self, config: Config, store: Store, tasks: TaskGroup, clock: Clock, origin: str) -> None:
        self.config = config
        self.store = store
        self.clock = clock
        self.origin = origin
        self.vault: Callable[[], Vault] = cache(lambda: _vault(config, store))
        self.settings: Settings = Settings(store, config, clock=clock)
        self.endpoints: Endpoints = Endpoints(self.vault)
        self.local: LocalModels = LocalModels(config.data_dir / "models")
        self.discovery: Discovery = Discovery(store, self.endpoints, tasks, clock)
        self.models: Models = Models(store, self.settings, self.endpoints, self.discovery, self.local, clock)
        self.replies: Replies = Replies(store, tasks, clock)

    @cached_property
    def connections(self) -> Connections:
        """The endpoints the instance knows."""
        from lembas_core.settings.connections import Connections

        return Connections(self.store, self.vault, self.discovery, self.clock)

    @cached_property
    def people(self) -> People:
        """Everybody."""
        from lembas_core.people.accounts import People

        return People(self.store, self.clock)

    async def setting(self, key: str) -> Any:
        """The value of one instance setting."""
        return await self.settings.get(key)


def _vault(config: Config, store: Store) -> Vault:
    from lembas_core.store.secrets import Vault, load_vault

    in_memory = store.dialect == "sqlite" and store.path is None
    return Vault() if in_memory else load_vault(config)
