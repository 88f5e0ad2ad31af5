"""The blocks of a reply, in the order in which they came: text, thinking, tool calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, Literal

from lembas_core.frozen import frozen

__all__ = ("Block", "ReasoningBlock", "TextBlock", "ToolBlock", "blocks_from_json", "blocks_to_json")


@frozen
class TextBlock:
    """A stretch of the answer, which begins at `start` of the whole."""

    text: str
    start: int = 0
    kind: Literal["text"] = "text"


@frozen
class ReasoningBlock:
    """A stretch of thinking and how long it took in seconds."""

    text: str
    seconds: float
    kind: Literal["reasoning"] = "reasoning"


@frozen
class ToolBlock:
    """A tool call and its result; `result` is None while it runs."""

    call_id: str
    name: str
    arguments: str
    risk: str
    result: str | None = None
    is_error: bool = False
    seconds: float | None = None
    kind: Literal["tool"] = "tool"


Block = TextBlock | ReasoningBlock | ToolBlock

_KINDS: dict[str, type[Block]] = {"text": TextBlock, "reasoning": ReasoningBlock, "tool": ToolBlock}


def blocks_to_json(blocks: Iterable[Block]) -> list[dict[str, Any]]:
    """Blocks as JSON values, for a row or a file."""
    return [{field.name: getattr(block, field.name) for field in fields(block)} for block in blocks]


def blocks_from_json(values: Iterable[Mapping[str, Any]]) -> tuple[Block, ...]:
    """Blocks from `blocks_to_json`; kinds and fields of a newer version are left out."""
    return tuple(_block(_KINDS[value["kind"]], value) for value in values if value.get("kind") in _KINDS)


def _block(kind: type[Block], value: Mapping[str, Any]) -> Block:
    return kind(**{field.name: value[field.name] for field in fields(kind) if field.name in value})
