"""Continue: the messages that make a model go on with a reply that was cut off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from lembas_core.endpoints.values import Message, ToolCall
from lembas_core.engine.blocks import Block, TextBlock, ToolBlock

__all__ = ("CONTINUE", "continuation")

CONTINUE: Final = (
    "Your last message was cut off. Go on from exactly where it stopped, in the middle of a word if need be. "
    "Repeat nothing of it and put nothing before it."
)


def continuation(blocks: Sequence[Block], *, tools: bool) -> tuple[Message, ...]:
    """What is sent after the conversation to continue a reply of which `blocks` had arrived.

    Calls and results are told again only here, since the reply that made them is not over yet.

    Args:
        blocks: What had arrived.
        tools: Whether the request offers tools; without them only the words are told.
    """
    messages = _rounds(blocks) if tools else _words(blocks)
    if messages and messages[-1].role == "assistant":
        messages.append(Message("user", CONTINUE))
    return tuple(messages)


def _words(blocks: Sequence[Block]) -> list[Message]:
    text = "\n\n".join(block.text for block in blocks if isinstance(block, TextBlock))
    return [Message("assistant", text)] if text.strip() else []


def _rounds(blocks: Sequence[Block]) -> list[Message]:
    messages: list[Message] = []
    text, tools = "", list[ToolBlock]()
    for block in blocks:
        if isinstance(block, ToolBlock):
            tools.append(replace(block, call_id=f"call_{len(messages)}_{len(tools)}"))
            continue
        if tools:
            messages += _round(text, tools)
            text, tools = "", []
        if isinstance(block, TextBlock):
            text = f"{text}\n\n{block.text}" if text else block.text
    if tools:
        return [*messages, *_round(text, tools)]
    return [*messages, Message("assistant", text)] if text.strip() else messages


def _round(text: str, tools: Sequence[ToolBlock]) -> list[Message]:
    """One round: what was said, the calls it made, and one result for each."""
    calls = tuple(ToolCall(tool.call_id, tool.name, tool.arguments) for tool in tools)
    results = (
        Message("tool", tool.result or "", call_id=tool.call_id, tool_name=tool.name) for tool in tools
    )
    return [Message("assistant", text, calls=calls), *results]
