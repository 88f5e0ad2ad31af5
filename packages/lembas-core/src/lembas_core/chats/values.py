"""What the chats service takes and gives, as plain frozen values."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from lembas_core.endpoints.values import Image, Parameters
from lembas_core.engine.events import Metrics
from lembas_core.frozen import frozen
from lembas_core.given import expect

if TYPE_CHECKING:
    from datetime import datetime

    from lembas_core.endpoints.values import ModelClient
    from lembas_core.engine.blocks import Block
    from lembas_core.engine.limits import Limits, Permit
    from lembas_core.engine.questions import OnQuestion
    from lembas_core.tools.values import Toolset

__all__ = ("ChatInfo", "ChatSetup", "MessageInfo", "MessageStatus", "Page", "RunWith", "Sent", "TitleSource")

MessageStatus = Literal["done", "running", "stopped", "error", "interrupted"]
TitleSource = Literal["turn", "model", "person"]
T_co = TypeVar("T_co", covariant=True)


@frozen(kw_only=True)
class ChatSetup:
    """What a new chat begins with.

    Attributes:
        title: Its title; without one it is called by the first words of the first turn.
        system: Its system prompt; None leaves it to the model's and the instance's, "" is none at all.
        model: A model's name or a client; None is the default model.
        parameters: How to sample, over the model's own.
        effort: Reasoning effort, over the model's own.
        temporary: Never listed, never found, gone a day after its last activity.
        origin: The frontend it came from; None is that of the service.
        titled: Whether a model may write its title after the first exchange.

    Raises:
        TypeError: Something is of another type.
    """

    title: str | None = None
    system: str | None = None
    model: str | ModelClient | None = None
    parameters: Parameters = field(default_factory=Parameters)
    effort: str | None = None
    temporary: bool = False
    origin: str | None = None
    titled: bool = True

    def __post_init__(self) -> None:
        for name in ("title", "system", "effort", "origin"):
            expect(name, getattr(self, name), str, None)
        _expect_model(self.model)
        expect("parameters", self.parameters, Parameters)


@frozen(kw_only=True)
class RunWith:
    """What one reply runs with; nothing of it is stored.

    Attributes:
        tools: What the model is offered, unless it is known not to take tools.
        on_question: Who is asked; None waits for `Replies.answer`. With a callback the first answer counts.
        permit: Which calls need permission; None is the engine's rule.
        limits: Bounds of the loop; None is the engine's.
        parameters: How to sample this time, over the chat's own.
        model: Which model answers this time; None is the chat's.

    Raises:
        TypeError: Something is of another type.
    """

    tools: Toolset | None = None
    on_question: OnQuestion | None = None
    permit: Permit | None = None
    limits: Limits | None = None
    parameters: Parameters = field(default_factory=Parameters)
    model: str | ModelClient | None = None

    def __post_init__(self) -> None:
        _expect_model(self.model)
        expect("parameters", self.parameters, Parameters)


def _expect_model(model: object) -> None:
    if not hasattr(model, "stream"):
        expect("model", model, str, None)


@frozen
class Sent:
    """What was begun: the chat, the person's turn, the reply to it."""

    chat_id: str
    message_id: str
    reply_id: str


@frozen(kw_only=True)
class ChatInfo:
    """A chat without its messages. `updated_at` is its last activity; renaming is none."""

    id: str
    title: str
    title_source: TitleSource
    model: str
    system: str | None
    parameters: Parameters
    effort: str | None
    pinned: bool
    archived: bool
    temporary: bool
    unread: bool
    origin: str
    head_id: str | None
    created_at: datetime
    updated_at: datetime


@frozen(kw_only=True)
class MessageInfo:
    """A message: a person's turn or a reply.

    Attributes:
        blocks: A reply's text, thinking and tool calls in order; empty for a person's turn.
        status: Always `done` for a person's turn.
        error_kind: The class of the error in `lembas_core.errors`, "" without one.
        number: The last event this row holds.
        version: Which of its versions this is, from 1.
        versions: How many there are: messages of the same role with the same parent.
    """

    id: str
    chat_id: str
    parent_id: str | None
    role: Literal["user", "assistant"]
    text: str
    created_at: datetime
    blocks: tuple[Block, ...] = ()
    images: tuple[Image, ...] = ()
    model: str = ""
    status: MessageStatus = "done"
    finish: str = ""
    error: str = ""
    error_kind: str = ""
    metrics: Metrics = field(default_factory=Metrics)
    number: int = 0
    version: int = 1
    versions: int = 1


@frozen
class Page(Generic[T_co]):
    """Some of a long list; `cursor` asks for what comes after, None when nothing does."""

    items: tuple[T_co, ...]
    cursor: str | None = None
