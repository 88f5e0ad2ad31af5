"""What is said to a model and what comes back, as plain frozen values."""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from lembas_core.frozen import frozen

if TYPE_CHECKING:
    from lembas_core.errors import EndpointError

__all__ = (
    "MOST_TOKENS",
    "CallsPart",
    "EndPart",
    "Finish",
    "Image",
    "Message",
    "ModelClient",
    "ModelInfo",
    "Parameters",
    "Part",
    "ReasoningPart",
    "RecastPart",
    "Request",
    "Role",
    "TextPart",
    "ToolCall",
    "ToolSpec",
    "Usage",
)

MOST_TOKENS: Final = 2**31 - 1
"""A token count above this is nonsense, and no database column holds it."""

Role = Literal["system", "user", "assistant", "tool"]

Finish = Literal["stop", "length", "tool_calls", "content_filter", "incomplete", "timeout", "error"]
"""Why a stream ended. `incomplete`: the connection closed before the model said it was done."""


@frozen
class Image:
    """A picture in a user's message: its media type (`image/png`) and its bytes."""

    media_type: str
    data: bytes

    def to_json(self) -> dict[str, str]:
        """The picture as JSON values, its bytes in base64."""
        return {"media_type": self.media_type, "data": b2a_base64(self.data, newline=False).decode()}

    @classmethod
    def from_json(cls, value: Mapping[str, str]) -> Image:
        """The picture that `to_json` was asked for."""
        return cls(value["media_type"], a2b_base64(value["data"]))


@frozen
class ToolCall:
    """A call a model made.

    Attributes:
        id: Unique within the request; made up where the endpoint sent none or sent one twice.
        name: The tool's name as the model wrote it.
        arguments: JSON text as the model wrote it ("{}" when it wrote none).
        problem: "" or one sentence for the model on why the arguments cannot be used.
    """

    id: str
    name: str
    arguments: str = "{}"
    problem: str = ""


@frozen
class Message:
    """One message of a request.

    `calls` belong to an assistant, `call_id` and `tool_name` to a tool's result, `images` to a user.
    """

    role: Role
    text: str = ""
    images: tuple[Image, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    tool_name: str = ""


@frozen
class ToolSpec:
    """A tool as a model is told of it: `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@frozen(kw_only=True)
class Parameters:
    """How to sample; None means that the endpoint decides.

    `effort` is the reasoning effort as the model names it (`low`, `medium`, `high`). `extra` holds
    further fields of the endpoint's own, sent as they are.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    effort: str | None = None
    schema: Mapping[str, Any] | None = None
    """A JSON schema the answer must follow, where the endpoint can enforce one."""
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])


@frozen
class Request:
    """One request to a model, complete: what an endpoint encodes and an inspector shows."""

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    parameters: Parameters = field(default_factory=Parameters)


@frozen
class Usage:
    """Tokens as the endpoint reported them; None is unknown, never zero."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


@frozen
class TextPart:
    """More of the answer: everything that one read brought, joined."""

    text: str


@frozen
class ReasoningPart:
    """More of the model's thinking."""

    text: str


@frozen
class RecastPart:
    """The text since the stream's last `ReasoningPart` (or since its start) was thinking after all.

    It comes when a thought that the chat template had opened is closed (a lone `</think>`): until then
    nothing told it from an answer, and holding everything back would have stopped the stream.
    """


@frozen
class CallsPart:
    """Tool calls are being written; `names` are those known so far (to show that something happens)."""

    names: tuple[str, ...]


@frozen
class EndPart:
    """The last part of every stream.

    Attributes:
        finish: Why it ended.
        calls: The tool calls, assembled, in order, ids unique. Empty unless the stream ended well.
        usage: The last usage that was reported, or None.
        error: The fault that ended the stream after something had arrived, or None.
    """

    finish: Finish
    calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    error: EndpointError | None = None


Part = TextPart | ReasoningPart | RecastPart | CallsPart | EndPart


@frozen(kw_only=True)
class ModelInfo:
    """What an endpoint tells of one of its models; None where it says nothing."""

    name: str
    context_window: int | None = None
    tools: bool | None = None
    vision: bool | None = None
    reasoning: bool | None = None
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])


class ModelClient(Protocol):
    """Something that answers requests: a model at an endpoint, or a script in a test.

    `stream` opens one request. Parts arrive as they are read and the last one is always an `EndPart`.
    A fault before the first part raises an `EndpointError`; a later one is told by the `EndPart`.
    Leaving the context closes the connection at once, so that a local server frees its slot.
    """

    @property
    def name(self) -> str:
        """The model's name as the endpoint knows it."""
        ...

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[Part]]:
        """Send `request` and watch the answer arrive."""
        ...
