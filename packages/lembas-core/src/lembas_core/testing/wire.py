"""A step of a script as an OpenAI-compatible server would send it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from lembas_core.endpoints.values import (
    EndPart,
    Part,
    ReasoningPart,
    RecastPart,
    TextPart,
    ToolCall,
    Usage,
)
from lembas_core.errors import (
    BadResponse,
    ContentFiltered,
    ContextExceeded,
    EndpointError,
    ModelMissing,
    RateLimited,
    Unauthorised,
)

__all__ = ("completion", "ended", "failure", "piece")

_FAULTS: Final[dict[type[EndpointError], tuple[int, str]]] = {
    Unauthorised: (401, "invalid_api_key"),
    RateLimited: (429, "rate_limit_exceeded"),
    ContextExceeded: (400, "context_length_exceeded"),
    ModelMissing: (404, "model_not_found"),
    ContentFiltered: (400, "content_filter"),
}


def piece(model: str, part: Part) -> bytes:
    """One part as an event."""
    match part:
        case TextPart():
            return _event(model, {"content": part.text})
        case ReasoningPart():
            return _event(model, {"reasoning_content": part.text})
        case RecastPart():
            return _event(model, {"content": "</think>"})
        case _:
            return b""


def ended(model: str, end: EndPart) -> Iterator[bytes]:
    """The events that end a stream; none of them when it is to look broken off."""
    for at, call in enumerate(end.calls):
        yield _event(model, {"tool_calls": [{"index": at, **_call(call)}]})
    if end.error is not None:
        yield _data(failure(end.error)[1])
    elif end.finish != "incomplete":
        yield _event(model, {}, finish=end.finish)
        if end.usage is not None:
            yield _data({**_head(model), "choices": [], "usage": _usage(end.usage)})
        yield b"data: [DONE]\n\n"


def completion(model: str, parts: list[Part], end: EndPart) -> dict[str, Any]:
    """The whole step as the answer to a request that did not ask for a stream."""
    message: dict[str, Any] = {
        "role": "assistant",
        "content": "".join(part.text for part in parts if isinstance(part, TextPart)),
    }
    if thought := "".join(part.text for part in parts if isinstance(part, ReasoningPart)):
        message["reasoning_content"] = thought
    if end.calls:
        message["tool_calls"] = [_call(call) for call in end.calls]
    choice = {"index": 0, "message": message, "finish_reason": end.finish}
    whole = {**_head(model), "object": "chat.completion", "choices": [choice]}
    return {**whole, "usage": _usage(end.usage)} if end.usage else whole


def failure(error: EndpointError) -> tuple[int, dict[str, Any], dict[str, str]]:
    """An error as status, body and headers."""
    status, code = _FAULTS.get(type(error), (502, "upstream_error"))
    if isinstance(error, BadResponse) and error.status is not None:
        status = error.status
    wait = error.retry_after if isinstance(error, RateLimited) else None
    body = {"error": {"message": str(error), "type": code, "code": code}}
    return status, body, {} if wait is None else {"Retry-After": f"{wait:g}"}


def _head(model: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model}


def _event(model: str, delta: Mapping[str, Any], *, finish: str | None = None) -> bytes:
    return _data({**_head(model), "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def _data(value: Any) -> bytes:
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"


def _call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _usage(usage: Usage) -> dict[str, Any]:
    told: dict[str, Any] = {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
    }
    if usage.cached_tokens is not None:
        told["prompt_tokens_details"] = {"cached_tokens": usage.cached_tokens}
    if usage.reasoning_tokens is not None:
        told["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens}
    return {name: value for name, value in told.items() if value is not None}
