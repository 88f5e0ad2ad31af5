"""One endpoint per connection, kept open until the instance closes or the connection changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread

from lembas_core.endpoints import Endpoint

if TYPE_CHECKING:
    from lembas_core.settings.catalogue import Kept
    from lembas_core.store.secrets import Vault

__all__ = ("Endpoints",)


class Endpoints:
    """The open endpoints of an instance. Secrets are opened only for an endpoint that is made."""

    def __init__(self, vault: Callable[[], Vault]) -> None:
        self._vault = vault
        self._open: dict[str, tuple[tuple[object, ...], Endpoint]] = {}
        self._making = anyio.Lock()

    async def get(self, kept: Kept) -> Endpoint:
        """The endpoint of a connection as it is now.

        Raises:
            SecretMissing: Its key cannot be read.
        """
        if (endpoint := self._held(kept)) is not None:
            return endpoint
        async with self._making:
            if (endpoint := self._held(kept)) is not None:
                return endpoint
            endpoint = await self._make(kept)
            await self.forget(kept.id)
            self._open[kept.id] = _mark(kept), endpoint
            return endpoint

    def _held(self, kept: Kept) -> Endpoint | None:
        mark, endpoint = self._open.get(kept.id, (None, None))
        return endpoint if mark == _mark(kept) else None

    async def forget(self, connection_id: str) -> None:
        """Let go of an endpoint and its key; the next `get` builds a new one.

        A reply that runs may go on with it: it then keeps no connection for the next request.
        """
        held = self._open.pop(connection_id, None)
        if held is not None:
            await held[1].__aexit__(None, None, None)

    async def aclose(self) -> None:
        """Close them all."""
        for connection_id in list(self._open):
            await self.forget(connection_id)

    async def _make(self, kept: Kept) -> Endpoint:
        found = kept.catalogue.kind if kept.catalogue is not None else "auto"
        headers = await self._opened(kept.headers_sealed)
        endpoint = Endpoint(
            kept.url,
            key=await self._opened(kept.key_sealed),
            kind=found if kept.kind == "auto" else kept.kind,
            headers=json.loads(headers) if headers is not None else None,
            timeouts=kept.timeouts,
        )
        # Entered, it keeps its connections for the next request.
        return await endpoint.__aenter__()

    async def _opened(self, sealed: str | None) -> str | None:
        if sealed is None:
            return None
        return await to_thread.run_sync(lambda: self._vault().open(sealed))


def _mark(kept: Kept) -> tuple[object, ...]:
    return kept.url, kept.kind, kept.key_sealed, kept.headers_sealed, kept.timeouts
