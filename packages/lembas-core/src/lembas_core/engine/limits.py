"""How far one reply may go, and which calls need a person's permission."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from lembas_core.endpoints.values import ToolCall
from lembas_core.frozen import frozen
from lembas_core.tools.values import RESULT_CHARACTERS, Tool

__all__ = ("CALLS_A_ROUND", "Limits", "Permit", "Verdict", "default_permit")

CALLS_A_ROUND: Final = 64
"""More calls than these in one round are a model that has lost its way."""

Verdict = Literal["allow", "ask", "deny"]
Permit = Callable[[Tool, ToolCall], Verdict]


@frozen(kw_only=True)
class Limits:
    """The bounds of one reply.

    Raises:
        ValueError: A bound leaves no room for a reply.

    Attributes:
        rounds: Requests to the model at most; the last one offers no tools.
        calls_at_once: Tool calls that run side by side.
        result_characters: How long a tool's result may be.
        question_seconds: How long a person has to answer.
        retries: How often a request is repeated when nothing of its answer has arrived.
        retry_longest: The longest wait before a repetition in seconds; asked for more, the reply fails.
    """

    rounds: int = 8
    calls_at_once: int = 4
    result_characters: int = RESULT_CHARACTERS
    question_seconds: float = 3600.0
    retries: int = 3
    retry_longest: float = 30.0

    def __post_init__(self) -> None:
        for name in ("rounds", "calls_at_once", "result_characters"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1.")


def default_permit(tool: Tool, call: ToolCall) -> Verdict:
    """Reading and the network are allowed; what writes or executes asks."""
    return "ask" if tool.risk in ("write", "execute") else "allow"
