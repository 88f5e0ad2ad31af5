"""The wire format of OpenAI-compatible servers: requests out, the chunks of a reply in. No I/O."""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Mapping
from typing import Any, Final, cast

from lembas_core.endpoints.decoding import ReplyDecoder
from lembas_core.endpoints.gathering import Gathering, count, finish_of
from lembas_core.endpoints.values import Image, Message, Parameters, Request, ToolCall, Usage
from lembas_core.endpoints.wire import tool_to_json

__all__ = ("OpenAIDecoder", "encode", "refused")

_OPTIONAL: Final = ("stream_options", "return_progress", "chat_template_kwargs")

_NOT_A_NAME: Final = re.compile(r"[^A-Za-z0-9_-]")


def encode(request: Request, *, without: Collection[str] = (), progress: bool = False) -> dict[str, Any]:
    """The body of a streamed `POST …/chat/completions`.

    Args:
        request: What to ask.
        without: Fields that this endpoint refused before, as `refused` named them.
        progress: Ask for progress during prefill: llama.cpp then notices early that a client left.
    """
    body: dict[str, Any] = {
        "model": request.model,
        "messages": [_message(message) for message in request.messages],
        "stream": True,
    }
    if "stream_options" not in without:
        body["stream_options"] = {"include_usage": True}
    if progress and "return_progress" not in without:
        body["return_progress"] = True
    if request.tools:
        body["tools"] = [tool_to_json(tool) for tool in request.tools]
    body |= _sampling(request.parameters, without)
    return body


def refused(said: str, body: Mapping[str, Any]) -> str | None:
    """The field that an endpoint refuses and that `body` can do without (or say otherwise); None for none.

    OpenAI's own endpoint takes no fields it does not know, others know no `stream_options`, and its newer
    models want `max_tokens` under another name.
    """
    if "max_tokens" in body and "max_completion_tokens" in said and "instead" in said:
        return "max_tokens"
    return next((field for field in _OPTIONAL if field in body and field in said), None)


def _sampling(parameters: Parameters, without: Collection[str]) -> dict[str, Any]:
    longest = "max_completion_tokens" if "max_tokens" in without else "max_tokens"
    fields = {
        "temperature": parameters.temperature,
        "top_p": parameters.top_p,
        longest: parameters.max_tokens,
        "seed": parameters.seed,
        "stop": list(parameters.stop) or None,
        "reasoning_effort": parameters.effort,
    }
    body: dict[str, Any] = {name: value for name, value in fields.items() if value is not None}
    if parameters.schema is not None:
        body["response_format"] = _format(parameters.schema)
    body |= parameters.extra
    if parameters.effort is not None and "chat_template_kwargs" not in without:
        given = cast("Mapping[str, Any]", parameters.extra.get("chat_template_kwargs") or {})
        body["chat_template_kwargs"] = {"reasoning_effort": parameters.effort, **given}
    return body


def _format(schema: Mapping[str, Any]) -> dict[str, Any]:
    # OpenAI's strict mode takes only schemas that forbid further properties.
    strict = {"strict": True} if schema.get("additionalProperties") is False else {}
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": dict(schema), **strict}}


def _message(message: Message) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
    if message.calls:
        calls = [_call(call) for call in message.calls]
        return {"role": message.role, "content": message.text or None, "tool_calls": calls}
    if not message.images:
        return {"role": message.role, "content": message.text}
    words = [{"type": "text", "text": message.text}] if message.text else []
    return {"role": message.role, "content": [*words, *map(_image, message.images)]}


def _image(image: Image) -> dict[str, Any]:
    data = base64.b64encode(image.data).decode("ascii")
    return {"type": "image_url", "image_url": {"url": f"data:{image.media_type};base64,{data}"}}


def _call(call: ToolCall) -> dict[str, Any]:
    # A server parses what it gets back and refuses the request over one bad call; the result that
    # follows tells the model what was wrong.
    name = _NOT_A_NAME.sub("_", call.name)[:64] or "unknown"
    arguments = "{}" if call.problem else call.arguments
    return {"id": call.id, "type": "function", "function": {"name": name, "arguments": arguments}}


class OpenAIDecoder(ReplyDecoder):
    """Decodes the body of a chat completion: streamed, as lines, or whole."""

    __slots__ = ()

    def _read(self, chunk: dict[str, Any]) -> bool:
        usage = chunk.get("usage")
        if usage is not None:
            self.gathering.usage = _usage(usage) or self.gathering.usage
        choices = chunk.get("choices")
        if choices.__class__ is not list:
            return usage is not None or "id" in chunk
        for choice in cast("list[Any]", choices):
            # A second choice is another answer to the same question: it is not mixed in.
            if choice.__class__ is dict and not choice.get("index"):
                self._read_choice(choice)
        return True

    def _read_choice(self, choice: dict[str, Any]) -> None:
        delta: Any = choice.get("delta")
        if delta.__class__ is not dict:
            delta = choice.get("message")
        if delta.__class__ is dict:
            content = delta.get("content")
            if content.__class__ is not str or len(delta) > 1:
                _read_delta(delta, self.gathering)
            elif content:
                self.gathering.text(content)
        elif (text := choice.get("text")).__class__ is str:
            self.gathering.text(cast("str", text))
        reason = choice.get("finish_reason")
        if reason is not None:
            self.gathering.finish = finish_of(reason) or self.gathering.finish
            if self.gathering.finish == "error" or choice.get("error"):
                self._fail(choice.get("error") or "the reply broke off")


def _read_delta(delta: dict[str, Any], into: Gathering) -> None:
    thought = _thought(delta)
    if thought:
        into.thought(thought)
    content: Any = delta.get("content")
    if content.__class__ is list:
        _read_content(content, into)
    for text in (content, delta.get("refusal")):
        if isinstance(text, str) and text:
            into.text(text)
    calls = delta.get("tool_calls")
    for piece in cast("list[Any]", calls) if isinstance(calls, list) else (calls, delta.get("function_call")):
        if piece is not None:
            into.calls.feed(piece)


def _read_content(content: list[Any], into: Gathering) -> None:
    """Content as a list of typed pieces (Mistral's thinking models)."""
    for item in content:
        if not isinstance(item, dict):
            continue
        piece = cast("dict[str, Any]", item)
        text, thinking = piece.get("text"), piece.get("thinking")
        if isinstance(thinking, list):
            thinking = "".join(_texts(cast("list[Any]", thinking)))
        if isinstance(thinking, str) and thinking:
            into.thought(thinking)
        if isinstance(text, str) and text:
            into.text(text)


def _thought(delta: dict[str, Any]) -> str:
    """The thinking in a delta; servers that use two fields say the same in both."""
    for field in ("reasoning_content", "reasoning", "thinking"):
        if isinstance(value := delta.get(field), str) and value:
            return value
    details = delta.get("reasoning_details")
    return "".join(_texts(cast("list[Any]", details))) if isinstance(details, list) else ""


def _texts(items: list[Any]) -> list[str]:
    known = [cast("dict[str, Any]", item) for item in items if isinstance(item, dict)]
    said = [item.get("text") or item.get("summary") for item in known]
    return [text for text in said if isinstance(text, str)]


def _usage(said: Any) -> Usage | None:
    if not isinstance(said, dict):
        return None
    known = cast("dict[str, Any]", said)
    usage = Usage(
        prompt_tokens=count(known.get("prompt_tokens")),
        completion_tokens=count(known.get("completion_tokens")),
        cached_tokens=_detail(known, "prompt_tokens_details", "cached_tokens", "prompt_cache_hit_tokens"),
        reasoning_tokens=_detail(known, "completion_tokens_details", "reasoning_tokens", "reasoning_tokens"),
    )
    return usage if usage != Usage() else None


def _detail(usage: dict[str, Any], group: str, field: str, alone: str) -> int | None:
    details = usage.get(group)
    value = cast("dict[str, Any]", details).get(field) if isinstance(details, dict) else None
    return count(usage.get(alone) if value is None else value)
