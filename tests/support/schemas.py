"""Walking a JSON schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

__all__ = ("nodes",)


def nodes(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Every schema inside `schema`, itself included; names of properties are no keywords."""
    yield schema
    for key, value in schema.items():
        for inside in _inside(key, value):
            if isinstance(inside, Mapping):
                yield from nodes(cast("Mapping[str, Any]", inside))


def _inside(key: str, value: Any) -> list[Any]:
    if isinstance(value, list):
        return cast("list[Any]", value)
    return list(cast("Mapping[str, Any]", value).values()) if key == "properties" else [value]
