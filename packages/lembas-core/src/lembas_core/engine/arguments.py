"""A call's arguments: decoded once, strictly, so that what is shown for approval is what runs."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any, NoReturn, cast

from lembas_core.endpoints.values import ToolCall

__all__ = ("bare", "decoded", "quoted", "replayable")

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
QUOTED_CHARACTERS = 500


def decoded(call: ToolCall) -> tuple[dict[str, Any], str, str]:
    """The arguments as values, as the text to show (made of those values), and "" or what is wrong with them.

    Two values under one name are refused: a reader would see one and the tool might take the other.
    """
    if call.problem:
        return {}, call.arguments, call.problem
    try:
        value = json.loads(call.arguments.strip() or "{}", object_pairs_hook=_once, parse_constant=_not_json)
    except RecursionError:
        return {}, call.arguments, "The arguments are nested too deeply."
    except ValueError as error:
        return {}, call.arguments, f"The arguments are not valid JSON ({error})."
    if not isinstance(value, dict):
        return {}, call.arguments, "The arguments must be one JSON object."
    shown = _LONE_SURROGATE.sub("\ufffd", json.dumps(value, ensure_ascii=False))
    return json.loads(shown), shown, ""


def bare(call: ToolCall) -> list[Any] | str | None:
    """A lone JSON string or list that a small model sent where an object was due, or None."""
    try:
        value = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return None
    return cast("list[Any] | str", value) if isinstance(value, list | str) else None


def replayable(call: ToolCall) -> ToolCall:
    """The call as it can be sent back: servers refuse a request whose arguments are not a JSON object."""
    problem = decoded(replace(call, problem=""))[2]
    return call if call.arguments.strip() and not problem else replace(call, arguments="{}", problem="")


def quoted(arguments: str) -> str:
    """What the model wrote, for a result that says why it cannot be used."""
    return arguments if len(arguments) <= QUOTED_CHARACTERS else f"{arguments[:QUOTED_CHARACTERS]}…"


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r} is given twice")
    return out


def _not_json(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON number")
