"""The arguments of a tool call: JSON, read strictly, so that what is shown for approval is what runs."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, Final, NoReturn, cast

__all__ = ("parse_arguments",)

_MAX_DEPTH: Final = 64
_TOO_DEEP: Final = "The arguments are nested too deeply."


def parse_arguments(text: str) -> tuple[dict[str, Any], str]:
    """The values in `text`, and "" or what is wrong with it, said to the model that wrote it.

    Two values under one name are refused: a reader would see one and the tool might take the other.
    """
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)
    except RecursionError:
        return {}, _TOO_DEEP
    except _Twice as error:
        return {}, f"In the arguments {error} is given twice. Send the call again with each name once."
    except ValueError as error:
        return {}, f"The arguments are not valid JSON ({error}). Send the call again with one JSON object."
    if not isinstance(value, dict):
        return {}, "The arguments must be one JSON object. Send the call again."
    found = cast("dict[str, Any]", value)
    return ({}, _TOO_DEEP) if _is_deep(found) else (found, "")


class _Twice(ValueError):
    """An object has a name twice."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        [(twice, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise _Twice(repr(twice[:80]))
    return made


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON number")


def _is_deep(value: dict[str, Any]) -> bool:
    level: list[Any] = [value]
    for _ in range(_MAX_DEPTH):
        level = [inner for outer in level for inner in _inner(outer)]
        if not level:
            return False
    return True


def _inner(value: dict[str, Any] | list[Any]) -> list[Any]:
    values = value.values() if isinstance(value, dict) else value
    return [inner for inner in values if isinstance(inner, (dict, list))]
