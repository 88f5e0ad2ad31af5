"""Schemas as every client accepts them.

Some clients drop a tool whose schema holds `$ref`, others one with a combinator at its root, and all of them
pay for the titles that pydantic puts on every field. `plain` writes the same schema without those.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

__all__ = ("plain",)

Schema = Mapping[str, Any]

_NOISE = frozenset({"$defs", "title"})
_MAPS = frozenset({"properties", "patternProperties"})


def plain(schema: Schema) -> dict[str, Any]:
    """`schema` with its definitions put in place, without titles and without `default: null`.

    Raises:
        RecursionError: When a definition holds itself; such a schema cannot be written without `$ref`.
    """
    return _node(schema, schema.get("$defs", {}))


def _node(node: Schema, definitions: Schema) -> dict[str, Any]:
    if "$ref" in node:
        name = str(node["$ref"]).removeprefix("#/$defs/")
        siblings = {key: value for key, value in node.items() if key != "$ref"}
        return _node({**definitions[name], **siblings}, definitions)
    return {
        key: _value(key, value, definitions)
        for key, value in node.items()
        if key not in _NOISE and not (key == "default" and value is None)
    }


def _value(key: str, value: Any, definitions: Schema) -> Any:
    if key in _MAPS:
        # Its keys are names of fields: one may be called `title`.
        return {name: _node(field, definitions) for name, field in value.items()}
    if isinstance(value, Mapping):
        return _node(cast("Schema", value), definitions)
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return [_value("", item, definitions) for item in items]
    return value
