"""Sampling parameters and answer schemas as they are written on a command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from lembas_cli.files import text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lembas_core.endpoints.values import Parameters

__all__ = ("parameters_from", "schema_from")

_TYPES: Final[dict[str, str]] = {
    "str": "string",
    "string": "string",
    "int": "integer",
    "integer": "integer",
    "float": "number",
    "number": "number",
    "bool": "boolean",
    "boolean": "boolean",
}


def parameters_from(options: Iterable[str], effort: str | None = None) -> Parameters:
    """Parameters from `KEY=VALUE` texts: those the library knows, the rest as the endpoint's own fields.

    Raises:
        Invalid: An option is not `KEY=VALUE`, or its value is not of its kind.
    """
    from lembas_core.endpoints.values import Parameters

    known: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for option in options:
        key, value = _parted(option)
        if key in _KNOWN:
            known[key] = _converted(key, value)
        else:
            extra[key] = _literal(value)
    return Parameters(**known, effort=effort, extra=extra)


def schema_from(text: str) -> dict[str, Any]:
    """A JSON schema from a file, from JSON, or from the short form `name, age int, tags: what it is about`.

    Raises:
        Invalid: It is none of these.
    """
    if text.lstrip().startswith(("{", "[")):
        return _parsed(text, "The schema")
    path = Path(text)
    if path.suffix == ".json" or path.is_file():
        return _parsed(text_of(path, "The schema"), f"The schema in {path}")
    return _from_short(text)


def _parted(option: str) -> tuple[str, str]:
    key, equals, value = option.partition("=")
    if not equals or not key.strip():
        raise _invalid(f"An option is written KEY=VALUE, not {option!r}.")
    return key.strip(), value.strip()


def _literal(value: str) -> Any:
    """JSON where it is JSON, else the text itself."""
    try:
        return json.loads(value)
    except ValueError:
        return value


def _stop(value: str) -> tuple[str, ...]:
    given = _literal(value)
    return tuple(map(str, cast("list[object]", given))) if isinstance(given, list) else (value,)


_KNOWN: Final[dict[str, Callable[[str], Any]]] = {
    "temperature": float,
    "top_p": float,
    "max_tokens": int,
    "seed": int,
    "stop": _stop,
}


def _converted(key: str, value: str) -> Any:
    try:
        return _KNOWN[key](value)
    except ValueError:
        raise _invalid(f"The option {key!r} takes a number, not {value!r}.") from None


def _parsed(text: str, name: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise _invalid(f"{name} is not valid JSON: {error}.") from None
    if not isinstance(value, dict):
        raise _invalid(f"{name} is not a JSON object.")
    return cast("dict[str, Any]", value)


def _from_short(text: str) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for field in text.split(","):
        head, _, description = field.partition(":")
        name, _, kind = head.strip().partition(" ")
        if not name or (kind and kind.strip() not in _TYPES):
            raise _invalid(
                f"A schema field is `name`, `name int` or `name: what it is`, not {field.strip()!r}."
            )
        properties[name] = {"type": _TYPES[kind.strip() or "str"]}
        if description.strip():
            properties[name]["description"] = description.strip()
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _invalid(sentence: str) -> Exception:
    from lembas_core.errors import Invalid

    return Invalid(sentence)
