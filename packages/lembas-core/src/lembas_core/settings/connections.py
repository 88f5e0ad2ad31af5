"""Connections to endpoints: add, change, test, ask for their models."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from anyio import to_thread
from sqlalchemy import Connection, delete, func, insert, select, update

from lembas_core.clock import Clock
from lembas_core.endpoints import Timeouts
from lembas_core.endpoints.values import ModelInfo
from lembas_core.errors import Conflict, LembasError, NotFound, SecretMissing
from lembas_core.ids import new_id
from lembas_core.keep import KEEP, Keep
from lembas_core.near import near
from lembas_core.settings.addresses import (
    checked_headers,
    checked_key,
    checked_name,
    checked_url,
    mask,
    name_from,
)
from lembas_core.settings.catalogue import Kept, Kind, read_connections
from lembas_core.settings.local import LOCAL
from lembas_core.settings.values import ConnectionInfo, ConnectionTest
from lembas_core.store import Store, tables

if TYPE_CHECKING:
    from lembas_core.settings.discovery import Discovery
    from lembas_core.store.secrets import Vault

__all__ = ("Connections",)


class Connections:
    """The connections of one instance. Any of them is named by its name or its id."""

    def __init__(self, store: Store, vault: Callable[[], Vault], discovery: Discovery, clock: Clock) -> None:
        self._store = store
        self._vault = vault
        self._discovery = discovery
        self._clock = clock

    async def list(self) -> tuple[ConnectionInfo, ...]:
        """Every connection in the administrator's order, at once: no endpoint is asked."""
        return await self._store.read(
            lambda connection: tuple(self._info(kept) for kept in read_connections(connection))
        )

    async def get(self, name: str) -> ConnectionInfo:
        """One connection.

        Raises:
            NotFound: There is none of that name.
        """
        return await self._told(await self._kept(name))

    async def add(
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
        """Keep a new connection and ask it for its models in the background.

        Args:
            url: The base URL, with or without `/v1`.
            name: What its models are found under; made from the host when None.
            kind: What it speaks; `auto` finds out.
            key: Sealed before it is stored, shown only masked.
            headers: Sent with every request; sealed likewise.
            timeouts: The usual ones when None.
            enabled: Whether its models are offered.

        Raises:
            Invalid: The address, the name, the key or a header cannot be used.
            Conflict: The name is taken.
            SecretMissing: The key that other connections' secrets are sealed with is not there.
        """
        key, headers = checked_key(key), checked_headers(headers)
        if key or headers:
            await self._require_the_key()
        values: dict[str, Any] = {
            "id": new_id(),
            "url": checked_url(url),
            "kind": kind,
            "key_sealed": await self._sealed(key),
            "headers_sealed": await self._sealed_headers(headers),
            "timeouts": asdict(timeouts or Timeouts()),
            "enabled": enabled,
            "created_at": self._clock.now(),
        }
        wanted = checked_name(name) if name is not None else None
        await self._store.write(lambda connection: _insert(connection, values, wanted))
        kept = await self._kept(values["id"])
        if enabled:
            self._discovery.refresh_soon([kept])
        return await self._told(kept)

    async def update(
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
        """Change what is given; what is not stays.

        A new address drops the key, the headers and the models unless new ones come with it: a secret
        must not go to a host it was not meant for.

        Raises:
            NotFound: There is none of that name.
            Invalid: A value cannot be used.
            Conflict: The new name is taken.
            SecretMissing: The key that other secrets are sealed with is not there.
        """
        kept = await self._kept(name)
        address = checked_url(url) if url is not None else kept.url
        if address != kept.url:
            key = None if key is KEEP else key
            headers = None if headers is KEEP else headers
        values: dict[str, Any] = {
            "name": checked_name(rename) if rename is not None else None,
            "url": address,
            "kind": kind,
            "timeouts": asdict(timeouts) if timeouts is not None else None,
            "enabled": enabled,
            "position": position,
        }
        values = {field: value for field, value in values.items() if value is not None}
        if (key and key is not KEEP) or (headers and headers is not KEEP):
            gone = key is not KEEP and kept.key_sealed, headers is not KEEP and kept.headers_sealed
            await self._require_the_key(replaced=gone)
        if key is not KEEP:
            values["key_sealed"] = await self._sealed(checked_key(key))
        if headers is not KEEP:
            values["headers_sealed"] = await self._sealed_headers(headers)
        if address != kept.url or (kind is not None and kind != kept.kind):
            values |= {"catalogue": [], "catalogue_at": None, "catalogue_error": ""}
        await self._store.write(lambda connection: _change(connection, kept, values))
        return await self.get(kept.id)

    async def remove(self, name: str) -> None:
        """Forget a connection, its key and what was set for its models.

        Raises:
            NotFound: There is none of that name.
        """
        kept = await self._kept(name)
        await self._store.write(lambda connection: _remove(connection, kept.id))
        await self._discovery.forget(kept.id)

    async def test(self, name: str) -> ConnectionTest:
        """Ask the endpoint for its models and say how that went; a fault is told, not raised.

        Raises:
            NotFound: There is none of that name.
        """
        kept = await self._kept(name)
        began = self._clock.monotonic()
        try:
            catalogue = await self._discovery.ask(kept)
        except LembasError as error:
            taken = self._clock.monotonic() - began
            return ConnectionTest(problem=str(error), kind=kept.kind, models=(), seconds=taken)
        models = tuple(entry.info for entry in catalogue.entries)
        taken = self._clock.monotonic() - began
        return ConnectionTest(problem="", kind=catalogue.kind, models=models, seconds=taken)

    async def discover(self, name: str) -> tuple[ModelInfo, ...]:
        """Ask the endpoint for its models now and keep them.

        Raises:
            NotFound: There is none of that name.
            EndpointError: It did not answer as it should; that is kept too.
            SecretMissing: Its key cannot be read.
        """
        catalogue = await self._discovery.ask(await self._kept(name))
        return tuple(entry.info for entry in catalogue.entries)

    async def _kept(self, name: str) -> Kept:
        every = await self._store.read(read_connections)
        for kept in every:
            if name in {kept.name, kept.id}:
                return kept
        raise NotFound(f"There is no connection {name!r}.{near(name, [kept.name for kept in every])}")

    async def _require_the_key(self, *, replaced: Iterable[object] = ()) -> None:
        """Open what is sealed and stays: beside it a new key, or another, would lock it out for ever."""
        every = await self._store.read(read_connections)
        sealed = {secret for kept in every for secret in (kept.key_sealed, kept.headers_sealed) if secret}
        stays = sealed.difference(replaced)
        await to_thread.run_sync(lambda: [self._vault().open(secret) for secret in stays])

    async def _sealed(self, secret: str | None) -> str | None:
        if secret is None:
            return None
        # In a thread: the first secret makes the key file and imports cryptography.
        return await to_thread.run_sync(lambda: self._vault().seal(secret))

    async def _sealed_headers(self, headers: Mapping[str, str] | None) -> str | None:
        checked = checked_headers(headers)
        return await self._sealed(json.dumps(checked)) if checked else None

    async def _told(self, kept: Kept) -> ConnectionInfo:
        return await to_thread.run_sync(self._info, kept)

    def _info(self, kept: Kept) -> ConnectionInfo:
        problem, key, headers = kept.problem, None, ()
        try:
            key = mask(self._vault().open(kept.key_sealed)) if kept.key_sealed else None
            if kept.headers_sealed:
                headers = tuple(json.loads(self._vault().open(kept.headers_sealed)))
        except SecretMissing as error:
            problem, key = str(error), "…" if kept.key_sealed else None
            headers = ("…",) if kept.headers_sealed else ()
        return ConnectionInfo(
            id=kept.id,
            name=kept.name,
            url=kept.url,
            kind=kept.kind,
            found_kind=kept.kind if kept.catalogue is None else kept.catalogue.kind,
            key=key,
            header_names=headers,
            timeouts=kept.timeouts,
            enabled=kept.enabled,
            model_count=len(kept.catalogue.entries) if kept.catalogue is not None else None,
            asked_at=kept.catalogue_at,
            problem=problem,
        )


def _insert(connection: Connection, values: Mapping[str, Any], wanted: str | None) -> None:
    table = tables.connections
    taken = set(connection.execute(select(table.c.name)).scalars())
    last = connection.execute(select(func.max(table.c.position))).scalar()
    name = wanted or _free_name(name_from(values["url"]), taken)
    _refuse_taken(name, taken)
    connection.execute(insert(table).values(**values, name=name, position=(last or 0) + 1))


def _change(connection: Connection, kept: Kept, values: Mapping[str, Any]) -> None:
    table = tables.connections
    others = connection.execute(select(table.c.name).where(table.c.id != kept.id)).scalars()
    if "name" in values:
        _refuse_taken(values["name"], set(others))
    # A key that is given now was meant for the address that was there.
    same = (table.c.id == kept.id, table.c.url == kept.url)
    if not connection.execute(update(table).where(*same).values(**values)).rowcount:
        raise Conflict(f"Somebody else changed the connection {kept.name!r} meanwhile.")


def _remove(connection: Connection, connection_id: str) -> None:
    connection.execute(delete(tables.models).where(tables.models.c.connection_id == connection_id))
    connection.execute(delete(tables.connections).where(tables.connections.c.id == connection_id))


def _free_name(stem: str, taken: set[str]) -> str:
    name, number = stem, 2
    while name in taken or name == LOCAL:
        name, number = f"{stem}-{number}", number + 1
    return name


def _refuse_taken(name: str, taken: set[str]) -> None:
    if name in taken:
        raise Conflict(f"There is already a connection called {name!r}.")
