"""A call's arguments: decoded once, strictly, so that what is shown for approval is what runs."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any, cast

from lembas_core.arguments import parse_arguments
from lembas_core.endpoints.values import ToolCall

__all__ = ("bare", "decoded", "quoted", "replayable")

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
QUOTED_CHARACTERS = 500


def decoded(call: ToolCall) -> tuple[dict[str, Any], str, str]:
    """The arguments as values, as the text to show (made of those values), and "" or what is wrong."""
    if call.problem:
        return {}, call.arguments, call.problem
    value, problem = parse_arguments(call.arguments.strip() or "{}")
    if problem:
        return {}, call.arguments, problem
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
