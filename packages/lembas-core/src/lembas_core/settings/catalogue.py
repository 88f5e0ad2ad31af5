"""What endpoints last told of their models, and everything else that is kept of a connection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any, Literal, NamedTuple, cast

from sqlalchemy import Connection, Row, select

from lembas_core.endpoints import Timeouts
from lembas_core.endpoints.values import ModelInfo
from lembas_core.store import tables

__all__ = ("Catalogue", "Entry", "Kept", "Kind", "read_connections")

Kind = Literal["auto", "openai", "ollama"]


# Named tuples: every `lembas ask` reads a catalogue, and a dataclass costs eight times as much to define.
class Entry(NamedTuple):
    """A model as an endpoint listed it; `described` once it was asked about this one in particular."""

    info: ModelInfo
    described: bool = False


class Catalogue(NamedTuple):
    """The models of one endpoint in its own order, and the kind it turned out to be."""

    kind: Kind = "auto"
    entries: tuple[Entry, ...] = ()

    def entry(self, name: str) -> Entry | None:
        """The model of that name; a name without a tag means `latest`, as Ollama has it."""
        named = {entry.info.name: entry for entry in self.entries}
        return named.get(name) or named.get(f"{name}:latest")

    def with_entry(self, described: Entry) -> Catalogue:
        """The same with one entry in the place of the one of its name, or at the end."""
        name = described.info.name
        if any(entry.info.name == name for entry in self.entries):
            kept = tuple(described if entry.info.name == name else entry for entry in self.entries)
            return self._replace(entries=kept)
        return self._replace(entries=(*self.entries, described))

    def to_json(self) -> dict[str, Any]:
        """As JSON values; what is unknown is left out."""
        return {"kind": self.kind, "models": [_entry_to_json(entry) for entry in self.entries]}

    @classmethod
    def from_json(cls, value: Mapping[str, Any] | None) -> Catalogue | None:
        """From `to_json`; nothing stays None: an endpoint that never answered."""
        if not value:
            return None
        return cls(value["kind"], tuple(_entry_from_json(each) for each in value["models"]))


class Kept(NamedTuple):
    """A connection as its row has it, secrets still sealed."""

    id: str
    name: str
    kind: Kind
    url: str
    key_sealed: str | None
    headers_sealed: str | None
    timeouts: Timeouts
    enabled: bool
    position: int
    catalogue: Catalogue | None
    catalogue_at: datetime | None
    problem: str

    def __repr__(self) -> str:
        return f"Kept({self.name!r}, {self.url!r})"


def read_connections(connection: Connection) -> tuple[Kept, ...]:
    """Every connection in the administrator's order."""
    table = tables.connections
    rows = connection.execute(select(table).order_by(table.c.position, table.c.id))
    return tuple(_kept(row) for row in rows)


def _kept(row: Row[Any]) -> Kept:
    return Kept(
        id=row.id,
        name=row.name,
        kind=row.kind,
        url=row.url,
        key_sealed=row.key_sealed,
        headers_sealed=row.headers_sealed,
        timeouts=_timeouts(row.timeouts or {}),
        enabled=row.enabled,
        position=row.position,
        catalogue=Catalogue.from_json(row.catalogue),
        catalogue_at=row.catalogue_at,
        problem=row.catalogue_error or "",
    )


def _timeouts(values: Mapping[str, float]) -> Timeouts:
    """What is set; names of a newer version are left out."""
    return Timeouts(**{f.name: values[f.name] for f in fields(Timeouts) if f.name in values})


def _entry_to_json(entry: Entry) -> dict[str, Any]:
    info = entry.info
    values: dict[str, Any] = {
        "name": info.name,
        "context_window": info.context_window,
        "tools": info.tools,
        "vision": info.vision,
        "reasoning": info.reasoning,
        "details": dict(info.details) or None,
        "described": entry.described or None,
    }
    return {key: value for key, value in values.items() if value is not None}


def _entry_from_json(value: Mapping[str, Any]) -> Entry:
    details = cast("Mapping[str, Any]", value.get("details") or {})
    info = ModelInfo(
        name=value["name"],
        context_window=value.get("context_window"),
        tools=value.get("tools"),
        vision=value.get("vision"),
        reasoning=value.get("reasoning"),
        details=details,
    )
    return Entry(info, bool(value.get("described")))
