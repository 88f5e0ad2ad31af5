"""Every model that is known, in the administrator's order, and how a name finds one.

Pure: what is read from the database goes in, a place comes out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Row, select

from lembas_core.context.parameters import parameters_from_json
from lembas_core.endpoints.values import ModelInfo, Parameters
from lembas_core.frozen import frozen
from lembas_core.settings.catalogue import Entry, Kept, read_connections
from lembas_core.store import tables

__all__ = ("ModelSetup", "Place", "Shelf", "read_shelf")

_FACTS: Final = ("context_window", "reasoning", "tools", "vision")


@frozen(kw_only=True)
class ModelSetup:
    """What an administrator says of a model; None is "as the endpoint tells".

    Attributes:
        display_name: How it is called in lists; "" is its own name.
        description: One line for people who choose.
        enabled: Whether it is offered.
        pinned: Whether it has a shortcut.
        position: Its place in lists; 0 is after those that have one, in the endpoint's order.
        tools: Whether it takes tools.
        vision: Whether it takes images.
        reasoning: Whether it thinks before it answers.
        context_window: Its window in tokens.
        parameters: How it samples unless a chat says otherwise, effort included.
        system: Its system prompt.
    """

    display_name: str = ""
    description: str = ""
    enabled: bool = True
    pinned: bool = False
    position: int = 0
    tools: bool | None = None
    vision: bool | None = None
    reasoning: bool | None = None
    context_window: int | None = None
    parameters: Parameters = field(default_factory=Parameters)
    system: str | None = None


class Place(NamedTuple):
    """A model of a connection: as it was listed, and as it was set up."""

    kept: Kept
    entry: Entry
    setup: ModelSetup

    @property
    def ref(self) -> str:
        """The name that finds exactly this one."""
        return f"{self.kept.name}/{self.entry.info.name}"

    @property
    def offered(self) -> bool:
        """Whether it and its connection are switched on."""
        return self.kept.enabled and self.setup.enabled

    @property
    def facts(self) -> ModelInfo:
        """What is known of it: the administrator's word, else the endpoint's.

        The window that a model was trained with is not the one that it is served with.
        """
        info = self.entry.info
        if info.details.get("window_source") == "trained":
            info = replace(info, context_window=None)
        said = {name: value for name in _FACTS if (value := getattr(self.setup, name)) is not None}
        return replace(info, **said)


class Shelf(NamedTuple):
    """All connections and what was set up for their models."""

    connections: tuple[Kept, ...]
    setups: Mapping[tuple[str, str], ModelSetup]

    def places(self) -> list[Place]:
        """Every known model, sorted; models that were only set up come after those that were listed."""
        found = list(self._unsorted())
        return sorted(found, key=lambda place: (place.setup.position == 0, place.setup.position))

    def find(self, ref: str) -> Place | None:
        """The model that `ref` names: `CONNECTION/NAME`, else the first of that NAME.

        A connection that was never asked is trusted to have what was named with it. Switched-off
        connections and models are found too: whoever asks says why they are refused.
        """
        prefix, slash, rest = ref.partition("/")
        for kept in self.connections:
            if slash and kept.name == prefix and rest:
                place = self._place(kept, rest)
                if place is not None or kept.catalogue is None:
                    return place or Place(kept, Entry(ModelInfo(name=rest)), self._setup(kept, rest))
        named = [place for kept in self.connections if (place := self._place(kept, ref)) is not None]
        offered = [place for place in named if place.offered]
        return next(iter(offered or named), None)

    def may_have(self, ref: str | None) -> list[Kept]:
        """The connections to ask (again) for a model that no catalogue has."""
        enabled = [kept for kept in self.connections if kept.enabled]
        return [kept for kept in enabled if (ref or "").startswith(f"{kept.name}/")] or enabled

    def _unsorted(self) -> Iterator[Place]:
        for kept in self.connections:
            listed = kept.catalogue.entries if kept.catalogue is not None else ()
            names = {entry.info.name for entry in listed}
            added = [name for (owner, name) in self.setups if owner == kept.id and name not in names]
            for entry in (*listed, *(Entry(ModelInfo(name=name)) for name in added)):
                yield Place(kept, entry, self._setup(kept, entry.info.name))

    def _place(self, kept: Kept, name: str) -> Place | None:
        entry = kept.catalogue.entry(name) if kept.catalogue is not None else None
        if entry is None and (kept.id, name) in self.setups:
            entry = Entry(ModelInfo(name=name))
        return Place(kept, entry, self._setup(kept, entry.info.name)) if entry is not None else None

    def _setup(self, kept: Kept, name: str) -> ModelSetup:
        return self.setups.get((kept.id, name)) or ModelSetup()


def read_shelf(connection: Connection) -> Shelf:
    """Everything that is known of connections and models."""
    table = tables.models
    rows = connection.execute(select(table).order_by(table.c.id))
    setups = {(row.connection_id, row.name): _setup(row) for row in rows}
    return Shelf(read_connections(connection), setups)


def _setup(row: Row[Any]) -> ModelSetup:
    return ModelSetup(
        display_name=row.display_name or "",
        description=row.description or "",
        enabled=row.enabled,
        pinned=row.pinned,
        position=row.position or 0,
        tools=row.tools,
        vision=row.vision,
        reasoning=row.reasoning,
        context_window=row.context_window,
        parameters=parameters_from_json({**(row.parameters or {}), "effort": row.effort}),
        system=row.system,
    )
