"""Where to read in a chat: what a result's id, a url or a `previous` points at.

    CHAT                    the newest part of the chat
    CHAT#MESSAGE            the part that ends with the message
    before=MESSAGE          what came before the message
    before=MESSAGE@N        the first N characters of the message, and what came before it

`fit` cuts a stretch to a size, newest first, and says where to go on, so that every character can be reached.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

__all__ = ("Message", "Place", "Stretch", "fit", "parse_before", "parse_id", "to_id", "to_url")

_SCHEME = "lembas://chat/"


@dataclass(frozen=True, slots=True)
class Place:
    """A point in a chat; `characters` is how much of the message belongs to it, None for all of it."""

    message_id: str = ""
    inclusive: bool = False
    characters: int | None = None


class Message(Protocol):
    """What is asked of a message here."""

    @property
    def id(self) -> str:
        """Its id."""
        ...

    @property
    def parent_id(self) -> str | None:
        """The message before it; None for the first."""
        ...

    @property
    def text(self) -> str:
        """What was said."""
        ...


@dataclass(frozen=True, slots=True)
class Stretch:
    """Texts by message id, oldest first, and where the rest begins ("" when nothing came before)."""

    texts: dict[str, str]
    previous: str


def to_id(chat_id: str, message_id: str | None = None) -> str:
    """The id of a chat, or of a message in it."""
    return f"{chat_id}#{message_id}" if message_id else chat_id


def to_url(chat_id: str, message_id: str | None = None) -> str:
    """The same as an address."""
    return _SCHEME + to_id(chat_id, message_id)


def parse_id(text: str) -> tuple[str, Place]:
    """The chat and the place that an id or a url means."""
    chat_id, _, message_id = text.strip().removeprefix(_SCHEME).partition("#")
    return chat_id, Place(message_id, inclusive=True) if message_id else Place()


def parse_before(text: str) -> Place:
    """The place that `before` means."""
    message_id, _, characters = text.strip().rpartition("#")[2].partition("@")
    if characters.isdecimal():
        return Place(message_id, inclusive=True, characters=int(characters))
    return Place(message_id)


def fit(messages: Sequence[Message], size: int, first: int | None = None) -> Stretch:
    """As many of `messages` (oldest first) as fit into `size` characters, counted from the newest.

    Args:
        messages: Oldest first.
        size: Characters; a newest message that alone is longer is cut at its beginning.
        first: How many characters of the newest message count; None for all.
    """
    texts: dict[str, str] = {}
    previous = ""
    for message in reversed(messages):
        text = message.text if texts else message.text[:first]
        if not texts and len(text) > size:
            return Stretch({message.id: text[-size:]}, f"{message.id}@{len(text) - size}")
        size -= len(text)
        if size < 0:
            break
        texts[message.id] = text
        previous = message.id if message.parent_id else ""
    return Stretch(dict(reversed(texts.items())), previous)
