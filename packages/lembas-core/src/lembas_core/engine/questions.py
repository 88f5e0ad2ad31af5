"""Asking a person: one question holds everything that a round waits for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import Literal

from lembas_core.frozen import frozen
from lembas_core.tools.values import Prompt, Risk

__all__ = ("Answer", "OnQuestion", "PendingCall", "Prompt", "Question", "Risk")


@frozen
class PendingCall:
    """A tool call that needs permission: exactly the bytes that will run."""

    id: str
    name: str
    arguments: str
    risk: Risk


@frozen
class Question:
    """Everything one round waits for: calls to be allowed, prompts to be answered."""

    id: str
    calls: tuple[PendingCall, ...] = ()
    prompts: tuple[Prompt, ...] = ()


@frozen
class Answer:
    """What a person said to a question.

    Attributes:
        kind: `allow` or `deny` every call not named in `decisions`; `none` is "nobody answered".
        decisions: call id → allowed, where calls are decided one by one.
        texts: prompt id → what was said; choices joined by a comma and a space.
        reason: Why calls were denied, told to the model.
    """

    kind: Literal["allow", "deny", "none"] = "allow"
    decisions: Mapping[str, bool] = field(default_factory=dict[str, bool])
    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    reason: str = ""

    @classmethod
    def allow(cls) -> Answer:
        """Every call may run."""
        return cls()

    @classmethod
    def deny(cls, reason: str = "") -> Answer:
        """No call may run; `reason` is told to the model."""
        return cls(kind="deny", reason=reason)

    @classmethod
    def choose(cls, decisions: Mapping[str, bool], reason: str = "") -> Answer:
        """Decide call by call (by call id); what is not named is denied."""
        return cls(kind="deny", decisions=dict(decisions), reason=reason)

    @classmethod
    def say(cls, texts: Mapping[str, str]) -> Answer:
        """Answer prompts by their ids."""
        return cls(texts=dict(texts))

    @classmethod
    def nobody(cls) -> Answer:
        """Nobody could be asked, or the time ran out."""
        return cls(kind="none")

    def allows(self, call_id: str) -> bool:
        """Whether the call may run."""
        return self.decisions.get(call_id, self.kind == "allow")


OnQuestion = Callable[[Question], Awaitable[Answer]]
