"""What a reply is started with, and what it ends with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple

from lembas_core.endpoints.values import ModelClient, Request
from lembas_core.engine.limits import Limits, Permit, default_permit
from lembas_core.engine.state import ReplyView
from lembas_core.tools.values import Toolset

if TYPE_CHECKING:
    from lembas_core.engine.questions import OnQuestion
    from lembas_core.errors import LembasError

__all__ = ("Ended", "Job", "Work")


class Work(NamedTuple):
    """What the engine is given: the model, the request, the tools and their bounds."""

    model: ModelClient
    request: Request
    tools: Toolset = Toolset()
    permit: Permit = default_permit
    limits: Limits = Limits()
    context_window: int | None = None


class Job(NamedTuple):
    """One generation of one reply, whose row is there and names the generation.

    Attributes:
        message_id: The reply's message.
        generation: This run of it; starting the same one twice starts it once.
        prepare: Reads the conversation and builds the request, in the background.
        on_question: Asks a person; None waits for `Replies.answer`.
        start: What the reply already holds, when it is continued.
        after: What follows when the reply is stored and told, as a task of its own.
    """

    message_id: str
    generation: str
    prepare: Callable[[], Awaitable[Work]]
    on_question: OnQuestion | None = None
    start: ReplyView = ReplyView()
    after: Callable[[ReplyView], Awaitable[None]] | None = None


class Ended(NamedTuple):
    """How a reply ended; `error` is the error itself, with its facts where it happened in this process."""

    view: ReplyView
    error: LembasError | None = None
