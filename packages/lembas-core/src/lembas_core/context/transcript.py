"""From the turns of a conversation to the messages of a request.

Chat templates differ in what they accept, so a request is held to what all of them do: at most one system
message, first; then user and assistant in turns, a user first. What a reply thought and what its tools
returned is not sent again on later turns: the answer already holds what was made of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal, NamedTuple

from lembas_core.endpoints.values import Image, Message

__all__ = ("Turn", "system_prompt", "transcript")


class Turn(NamedTuple):
    """What one side said: a person's turn with its pictures, or the text of a reply."""

    role: Literal["user", "assistant"]
    text: str
    images: tuple[Image, ...] = ()


def system_prompt(*layers: str | None) -> str:
    """The most specific layer that is set, outright; None is not set, "" is set to nothing.

    Args:
        layers: Most specific first: the chat's, the model's, the instance's.
    """
    return next((layer for layer in layers if layer is not None), "")


def transcript(turns: Iterable[Turn], *, system: str = "", vision: bool | None = None) -> tuple[Message, ...]:
    """The messages that stand for `turns` in a request.

    A reply that brought no text is dropped, and what then meets of the same role is joined by a blank line.
    A reply with no turn before it is left out.

    Args:
        turns: The path of the conversation, oldest first.
        system: The system prompt; blank is none.
        vision: False sends no picture and says that there was one; unknown sends them.
    """
    messages: list[Message] = []
    for turn in turns:
        message = _message(turn, vision)
        if turn.role == "assistant" and (not turn.text.strip() or not messages):
            continue
        if messages and messages[-1].role == message.role:
            message = _joined(messages.pop(), message)
        messages.append(message)
    if system.strip():
        messages.insert(0, Message("system", system))
    return tuple(messages)


def _message(turn: Turn, vision: bool | None) -> Message:
    if vision is not False or not turn.images:
        return Message(turn.role, turn.text, turn.images)
    count = len(turn.images)
    what = "Here was a picture" if count == 1 else f"Here were {count} pictures"
    return Message(turn.role, _blank_line(turn.text, f"[{what}, which this model cannot see.]"))


def _joined(first: Message, second: Message) -> Message:
    return replace(first, text=_blank_line(first.text, second.text), images=first.images + second.images)


def _blank_line(first: str, second: str) -> str:
    return f"{first}\n\n{second}" if first and second else first or second
