"""The wire format of Ollama's own API: requests out, the lines of a reply in. No I/O.

Its OpenAI-compatible path drops the context size silently, so Ollama is spoken to in its own words.
"""

from __future__ import annotations

import base64
from typing import Any, Final, cast

from lembas_core.endpoints.decoding import ReplyDecoder
from lembas_core.endpoints.gathering import count, finish_of
from lembas_core.endpoints.values import Message, Parameters, Request, ToolCall, Usage
from lembas_core.endpoints.wire import load, tool_to_json

__all__ = ("OllamaDecoder", "encode")

_TOP_LEVEL: Final = frozenset(
    (
        "dimensions",
        "format",
        "keep_alive",
        "logprobs",
        "options",
        "shift",
        "think",
        "top_logprobs",
        "truncate",
    )
)
_EFFORTS: Final = frozenset(("low", "medium", "high", "max"))
_NO_EFFORT: Final = frozenset(("none", "off", "false", "no"))


def encode(request: Request) -> dict[str, Any]:
    """The body of a streamed `POST /api/chat`.

    Of `parameters.extra`, what is a field of the request (`keep_alive`, `think`, …) becomes one, everything
    else (`num_ctx`, `top_k`, …) an option.
    """
    parameters = request.parameters
    body: dict[str, Any] = {
        "model": request.model,
        "messages": [_message(message) for message in request.messages],
        "stream": True,
        # Without this, messages that do not fit are dropped silently.
        "truncate": False,
    }
    if request.tools:
        body["tools"] = [tool_to_json(tool) for tool in request.tools]
    if parameters.schema is not None:
        body["format"] = dict(parameters.schema)
    if parameters.effort is not None:
        body["think"] = _think(parameters.effort)
    extra = parameters.extra
    body |= {name: value for name, value in extra.items() if name in _TOP_LEVEL}
    more = {name: value for name, value in extra.items() if name not in _TOP_LEVEL}
    options = _options(parameters) | cast("dict[str, Any]", extra.get("options") or {}) | more
    if options:
        body["options"] = options
    return body


def _options(parameters: Parameters) -> dict[str, Any]:
    fields = {
        "temperature": parameters.temperature,
        "top_p": parameters.top_p,
        "num_predict": parameters.max_tokens,
        "seed": parameters.seed,
        "stop": list(parameters.stop) or None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _think(effort: str) -> bool | str:
    return effort if effort in _EFFORTS else effort not in _NO_EFFORT


def _message(message: Message) -> dict[str, Any]:
    said: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.role == "tool":
        said |= {"tool_name": message.tool_name, "tool_call_id": message.call_id}
    if message.calls:
        said["tool_calls"] = [_call(call) for call in message.calls]
    if message.images:
        said["images"] = [base64.b64encode(image.data).decode("ascii") for image in message.images]
    return said


def _call(call: ToolCall) -> dict[str, Any]:
    arguments: Any = None if call.problem else load(call.arguments.encode())
    return {"id": call.id, "function": {"name": call.name, "arguments": arguments or {}}}


class OllamaDecoder(ReplyDecoder):
    """Decodes the body of a chat: lines of JSON, or one object."""

    __slots__ = ()

    def _read(self, chunk: dict[str, Any]) -> bool:
        message: Any = chunk.get("message")
        if message.__class__ is dict:
            thinking, content = message.get("thinking"), message.get("content")
            if thinking and thinking.__class__ is str:
                self.gathering.thought(thinking)
            if content and content.__class__ is str:
                self.gathering.text(content)
            calls = message.get("tool_calls")
            for piece in cast("list[Any]", calls) if isinstance(calls, list) else ():
                self.gathering.calls.feed(piece)
        if chunk.get("done") is True:
            self._end_of_reply(chunk)
        return message is not None or "done" in chunk

    def _end_of_reply(self, chunk: dict[str, Any]) -> None:
        self.gathering.finish = finish_of(chunk.get("done_reason")) or "stop"
        # The counts are left out when they are zero or unknown; a cached prefix counts.
        usage = Usage(count(chunk.get("prompt_eval_count")), count(chunk.get("eval_count")))
        self.gathering.usage = usage if usage != Usage() else None
        self.done = True
