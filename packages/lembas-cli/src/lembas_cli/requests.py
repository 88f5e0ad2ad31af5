"""A request as it would be sent, for a person or for a program."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lembas_cli.wire import as_json

if TYPE_CHECKING:
    from lembas_core.endpoints.values import Message, Parameters, Request

__all__ = ("request_as_json", "request_as_text")


def request_as_text(request: Request) -> str:
    """The request block by block: model, parameters, tools, messages."""
    blocks = [_block("model", request.model or "(the endpoint's only one)")]
    if given := _given(request.parameters):
        blocks.append(_block("parameters", json.dumps(given, ensure_ascii=False)))
    blocks += [_block(f"tool {tool.name}", tool.description) for tool in request.tools]
    blocks += [_block(f"message {n}: {m.role}", _content(m)) for n, m in enumerate(request.messages, 1)]
    return "\n\n".join(blocks)


def request_as_json(request: Request) -> str:
    """The request as one JSON value."""
    messages = [
        as_json(message) | {"images": [image.to_json() for image in message.images]}
        for message in request.messages
    ]
    value = {
        "model": request.model,
        "parameters": _given(request.parameters),
        "tools": as_json(request.tools),
        "messages": messages,
    }
    return json.dumps(value, ensure_ascii=False, indent=2)


def _block(title: str, text: str) -> str:
    return f"── {title} {'─' * max(0, 76 - len(title))}\n{text}"


def _content(message: Message) -> str:
    parts = [message.text] if message.text else []
    parts += [f"[picture: {image.media_type}, {len(image.data):,} bytes]" for image in message.images]
    parts += [f"[call {call.name} {call.arguments}]" for call in message.calls]
    return "\n".join(parts)


def _given(parameters: Parameters) -> dict[str, Any]:
    """What is set; the rest is the endpoint's to decide."""
    return {name: value for name, value in as_json(parameters).items() if value not in (None, [], {})}
