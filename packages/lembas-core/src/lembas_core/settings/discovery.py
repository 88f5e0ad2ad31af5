"""Asking endpoints for their models, and keeping what they said.

A dead endpoint is found out here and nowhere else: it is marked with its sentence and the last catalogue
stays, so that lists and start-up never wait for one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import inf
from typing import Final

import anyio
from anyio.abc import TaskGroup
from sqlalchemy import Connection, update

from lembas_core.clock import Clock
from lembas_core.endpoints import Endpoint
from lembas_core.endpoints.values import ModelInfo
from lembas_core.errors import BadResponse, EndpointError, LembasError, Unreachable
from lembas_core.settings.catalogue import Catalogue, Entry, Kept, read_connections
from lembas_core.settings.pool import Endpoints
from lembas_core.store import Store, tables

__all__ = ("DISCOVERY_SECONDS", "Discovery")

DISCOVERY_SECONDS: Final = 20.0
DESCRIBE_SECONDS: Final = 2.0
"""How long a turn may wait, once per model, to learn what the model can do."""
SILENT_SECONDS: Final = 300.0
"""How long no turn waits for that again once an endpoint has said nothing in time."""


class Discovery:
    """Keeps the catalogues of an instance's connections.

    Attributes:
        faults: What asking met last in this process, by the connection's id; the rows keep its sentence.
    """

    def __init__(self, store: Store, endpoints: Endpoints, tasks: TaskGroup, clock: Clock) -> None:
        self._store = store
        self._endpoints = endpoints
        self._tasks = tasks
        self._clock = clock
        self._asking: dict[str, anyio.Event] = {}
        self._silent: dict[tuple[str, str], float] = {}
        self.faults: dict[str, LembasError] = {}

    async def ask(self, kept: Kept) -> Catalogue:
        """Ask one endpoint now and keep what it says, a fault included.

        Raises:
            EndpointError: It did not answer as it should.
            SecretMissing: Its key cannot be read.
        """
        try:
            catalogue = _renewed(await self._listed(kept), kept.catalogue)
        except LembasError as error:
            self.faults[kept.id] = error
            await self._note(kept, None, str(error))
            raise
        self.faults.pop(kept.id, None)
        await self._note(kept, catalogue, "")
        return catalogue

    async def refresh(self, connections: Iterable[Kept], *, within: float | None = None) -> None:
        """Ask several at once and wait for them, at most `within` seconds; faults stay with their rows."""
        asking = [self._begin(kept) for kept in connections]
        with anyio.move_on_after(within):
            for done in asking:
                await done.wait()

    def refresh_soon(self, connections: Iterable[Kept]) -> None:
        """Ask several in the background; one that is being asked is not asked twice."""
        for kept in connections:
            self._begin(kept)

    async def describe(self, kept: Kept, entry: Entry) -> Entry:
        """What the endpoint tells of one model in particular, asked once and kept.

        One that says nothing within two seconds stays unknown; this process asks it again some minutes later.
        """
        asked = kept.id, entry.info.name
        if entry.described or self._clock.monotonic() < self._silent.get(asked, -inf):
            return entry
        try:
            with anyio.fail_after(DESCRIBE_SECONDS):
                told = await (await self._endpoints.get(kept)).describe(entry.info.name)
        except TimeoutError:
            self._silent[asked] = self._clock.monotonic() + SILENT_SECONDS
            return entry
        except EndpointError:
            # The request that follows meets the same fault and tells it.
            return entry
        self._silent.pop(asked, None)
        described = Entry(_merged(entry.info, told), described=True)
        await self._store.write(lambda connection: _keep_entry(connection, kept.id, described))
        return described

    async def forget(self, connection_id: str) -> None:
        """Let go of everything that is held of a connection, its key first of all."""
        self.faults.pop(connection_id, None)
        self._silent = {asked: until for asked, until in self._silent.items() if asked[0] != connection_id}
        await self._endpoints.forget(connection_id)

    def _begin(self, kept: Kept) -> anyio.Event:
        if kept.id not in self._asking:
            self._asking[kept.id] = anyio.Event()
            self._tasks.start_soon(self._quietly, kept)
        return self._asking[kept.id]

    async def _quietly(self, kept: Kept) -> None:
        try:
            await self.ask(kept)
        except LembasError:
            pass  # It is kept in the row; a database that cannot be written has no place to say it.
        finally:
            self._asking.pop(kept.id).set()

    async def _listed(self, kept: Kept) -> Catalogue:
        endpoint = await self._endpoints.get(kept)
        try:
            return await _within(endpoint)
        except BadResponse:
            if kept.kind != "auto" or kept.catalogue is None:
                raise
        # Another server may answer at the old address by now: look again what kind it is.
        await self._endpoints.forget(kept.id)
        return await _within(await self._endpoints.get(kept._replace(catalogue=None)))

    async def _note(self, kept: Kept, catalogue: Catalogue | None, problem: str) -> None:
        table = tables.connections
        values: dict[str, object] = {"catalogue_at": self._clock.now(), "catalogue_error": problem}
        if catalogue is not None:
            values["catalogue"] = catalogue.to_json()
        # Whoever changed the address meanwhile does not want the old one's models.
        same = (table.c.id == kept.id, table.c.url == kept.url)
        statement = update(table).where(*same).values(**values)
        await self._store.write(lambda connection: connection.execute(statement).rowcount)


async def _within(endpoint: Endpoint) -> Catalogue:
    try:
        with anyio.fail_after(DISCOVERY_SECONDS):
            models = await endpoint.models()
    except TimeoutError:
        raise Unreachable(
            f"{endpoint.url} did not list its models within {DISCOVERY_SECONDS:.0f} seconds.",
            endpoint=endpoint.url,
            timed_out=True,
        ) from None
    return Catalogue(endpoint.kind, tuple(Entry(info) for info in models))


def _renewed(listed: Catalogue, before: Catalogue | None) -> Catalogue:
    """What was learned of a model stays until the endpoint says otherwise; it is asked again in time."""
    if before is None:
        return listed
    known = {entry.info.name: entry.info for entry in before.entries}
    entries = (Entry(_merged(known.get(e.info.name, e.info), e.info)) for e in listed.entries)
    return listed._replace(entries=tuple(entries))


def _merged(listed: ModelInfo, told: ModelInfo) -> ModelInfo:
    known = {
        name: value
        for name in ("context_window", "tools", "vision", "reasoning")
        if (value := getattr(told, name)) is not None
    }
    return replace(listed, **known, details={**listed.details, **told.details})


def _keep_entry(connection: Connection, connection_id: str, entry: Entry) -> None:
    table = tables.connections
    for kept in read_connections(connection):
        if kept.id == connection_id:
            catalogue = (kept.catalogue or Catalogue()).with_entry(entry)
            connection.execute(
                update(table).where(table.c.id == connection_id).values(catalogue=catalogue.to_json())
            )
