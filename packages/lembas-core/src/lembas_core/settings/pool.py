"""One endpoint per connection, kept open until the instance closes or the connection changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

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
        self._retired: list[Endpoint] = []

    async def get(self, kept: Kept) -> Endpoint:
        """The endpoint of a connection as it is now.

        Raises:
            SecretMissing: Its key cannot be read.
        """
        mark = _mark(kept)
        held = self._open.get(kept.id)
        if held is not None and held[0] == mark:
            return held[1]
        endpoint = self._make(kept)
        if held is not None:
            # Replies may still stream through it; it is closed with the instance.
            self._retired.append(held[1])
        self._open[kept.id] = mark, endpoint
        # Entered, it keeps its connections for the next request.
        return await endpoint.__aenter__()

    def forget(self, connection_id: str) -> None:
        """Make the next `get` build a new endpoint."""
        held = self._open.pop(connection_id, None)
        if held is not None:
            self._retired.append(held[1])

    async def aclose(self) -> None:
        """Close them all."""
        endpoints = [endpoint for _, endpoint in self._open.values()] + self._retired
        self._open.clear()
        self._retired.clear()
        for endpoint in endpoints:
            await endpoint.aclose()

    def _make(self, kept: Kept) -> Endpoint:
        found = kept.catalogue.kind if kept.catalogue is not None else "auto"
        return Endpoint(
            kept.url,
            key=self._vault().open(kept.key_sealed) if kept.key_sealed else None,
            kind=found if kept.kind == "auto" else kept.kind,
            headers=json.loads(self._vault().open(kept.headers_sealed)) if kept.headers_sealed else None,
            timeouts=kept.timeouts,
        )


def _mark(kept: Kept) -> tuple[object, ...]:
    return kept.url, kept.kind, kept.key_sealed, kept.headers_sealed, kept.timeouts
