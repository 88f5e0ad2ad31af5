"""A chat as a file: Markdown to read, JSON to keep.

There is one JSON shape, `lembas.chat/1`, for exports, for `ask --json` and for `chats show --json`. It may
gain fields; what is there keeps its name and meaning.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

from lembas_core.context.parameters import parameters_to_json
from lembas_core.engine.blocks import ToolBlock, blocks_to_json
from lembas_core.engine.events import Metrics

if TYPE_CHECKING:
    from lembas_core.chats.values import ChatInfo, MessageInfo

__all__ = ("SCHEMA", "chat_document", "chat_markdown", "chat_schema")

SCHEMA: Final = "lembas.chat/1"


def chat_document(
    chat: ChatInfo, messages: Sequence[MessageInfo], versions: Sequence[MessageInfo] = ()
) -> dict[str, Any]:
    """A chat as JSON values.

    Args:
        chat: The chat.
        messages: The conversation, oldest first.
        versions: The messages that are not on the current path.
    """
    return {
        "schema": SCHEMA,
        "chat": _chat(chat),
        "messages": [_message(message) for message in messages],
        "versions": [_message(message) for message in versions],
    }


def _chat(chat: ChatInfo) -> dict[str, Any]:
    return {
        "id": chat.id,
        "title": chat.title,
        "model": chat.model,
        "system": chat.system,
        "parameters": parameters_to_json(chat.parameters),
        "effort": chat.effort,
        "pinned": chat.pinned,
        "archived": chat.archived,
        "temporary": chat.temporary,
        "origin": chat.origin,
        "created_at": chat.created_at.isoformat(),
        "updated_at": chat.updated_at.isoformat(),
    }


def _message(message: MessageInfo) -> dict[str, Any]:
    values: dict[str, Any] = {
        "id": message.id,
        "parent_id": message.parent_id,
        "role": message.role,
        "text": message.text,
        "created_at": message.created_at.isoformat(),
    }
    if message.images:
        values["images"] = [image.to_json() for image in message.images]
    return values | _reply(message) if message.role == "assistant" else values


def _reply(message: MessageInfo) -> dict[str, Any]:
    error = {"kind": message.error_kind, "message": message.error} if message.error else None
    return {
        "model": message.model,
        "status": message.status,
        "finish": message.finish,
        "error": error,
        "blocks": blocks_to_json(message.blocks),
        "metrics": {field.name: getattr(message.metrics, field.name) for field in fields(Metrics)},
    }


def chat_markdown(chat: ChatInfo, messages: Iterable[MessageInfo]) -> str:
    """A chat as Markdown: what was said, by whom, and how a reply ended when it did not end well."""
    parts = [f"# {chat.title}", f"*{chat.created_at:%Y-%m-%d}*"]
    for message in messages:
        parts.append(f"## {'You' if message.role == 'user' else message.model or 'Assistant'}")
        parts += [note for note in (_tools(message), message.text.strip(), _pictures(message)) if note]
        if message.status != "done":
            parts.append(f"*{message.error or message.status.capitalize() + '.'}*")
    return "\n\n".join(parts) + "\n"


def _tools(message: MessageInfo) -> str:
    names = [f"`{block.name}`" for block in message.blocks if isinstance(block, ToolBlock)]
    return f"*Tools: {', '.join(names)}*" if names else ""


def _pictures(message: MessageInfo) -> str:
    count = len(message.images)
    return f"*{count} picture{'s' if count > 1 else ''}*" if count else ""


def chat_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of `chat_document`."""
    text, flag, count, seconds = ({"type": kind} for kind in ("string", "boolean", "integer", "number"))
    moment = {"type": "string", "format": "date-time"}
    chat = {
        **dict.fromkeys(("id", "title", "model", "origin"), text),
        **dict.fromkeys(("system", "effort"), _or_null(text)),
        **dict.fromkeys(("pinned", "archived", "temporary"), flag),
        **dict.fromkeys(("created_at", "updated_at"), moment),
        "parameters": {"type": "object"},
    }
    metrics = {
        **dict.fromkeys(("prompt_tokens", "completion_tokens", "cached_tokens"), _or_null(count)),
        **dict.fromkeys(("reasoning_tokens", "context_window"), _or_null(count)),
        **dict.fromkeys(("first_token_seconds", "seconds", "writing_seconds"), _or_null(seconds)),
        "rounds": count,
        "estimated": flag,
    }
    both = {"id": text, "parent_id": _or_null(text), "text": text, "created_at": moment}
    user = {**both, "role": {"const": "user"}}
    image = _object({"media_type": text, "data": {**text, "contentEncoding": "base64"}})
    reply = {
        **both,
        **dict.fromkeys(("model", "finish"), text),
        "role": {"const": "assistant"},
        "status": {"enum": ["done", "running", "stopped", "error", "interrupted"]},
        "error": _or_null(_object({"kind": text, "message": text})),
        "blocks": {"type": "array", "items": _object({"kind": text})},
        "metrics": _object(metrics),
    }
    message = {"oneOf": [_object(user, images={"type": "array", "items": image}), _object(reply)]}
    messages = {"type": "array", "items": message}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": SCHEMA,
        **_object(
            {"schema": {"const": SCHEMA}, "chat": _object(chat), "messages": messages, "versions": messages}
        ),
    }


def _object(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {**required, **optional}, "required": list(required)}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}
