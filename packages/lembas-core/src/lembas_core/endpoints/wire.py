"""What both wire formats share: bounds, JSON that forgives, text that can be stored, tools."""

from __future__ import annotations

import json
from typing import Any, Final

import orjson

from lembas_core.endpoints.values import ToolSpec

__all__ = ("BOM", "MAX_EVENT_BYTES", "OutOfBounds", "Scrubber", "load", "scrubbed", "tool_to_json")

BOM: Final = b"\xef\xbb\xbf"

MAX_EVENT_BYTES: Final = 4 << 20
"""The longest event or line that is read; a longer one ends the stream."""


class OutOfBounds(ValueError):
    """One event or line is longer than `MAX_EVENT_BYTES`."""


def load(payload: bytes) -> Any:
    """The JSON value of `payload`; None when it is none.

    What orjson refuses (bytes that are not UTF-8, lone surrogates, huge numbers) gets a second reading
    that forgives, so that one odd character does not cost the event it stands in.
    """
    try:
        return orjson.loads(payload)
    except ValueError:
        pass
    try:
        return json.loads(payload.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def tool_to_json(tool: ToolSpec) -> dict[str, Any]:
    """A tool as a request offers it."""
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def scrubbed(text: str) -> str:
    """`text` without NUL and lone surrogates (U+FFFD in their place); halves of a pair are joined."""
    if not text.isascii():
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\0", "\ufffd")


class Scrubber:
    """`scrubbed` for text that arrives in pieces: a pair may be cut between its halves."""

    __slots__ = ("_half",)

    def __init__(self) -> None:
        self._half = ""

    def feed(self, text: str) -> str:
        """The clean text so far; the first half of a pair waits for the second."""
        if self._half:
            text, self._half = self._half + text, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return scrubbed(text)

    def finish(self) -> str:
        """What still waited."""
        half, self._half = self._half, ""
        return scrubbed(half)
