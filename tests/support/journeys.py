"""What journeys share: an instance whose model is the real one, and answers of a known length."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from lembas_core import Config, Lembas, MessageInfo, Parameters
from lembas_core.engine.events import Event, Finished, Snapshot, Text
from lembas_core.engine.state import ReplyView, fold
from support.real_model import Served

__all__ = ("MODEL", "Follower", "at_home", "exactly", "newest")

MODEL = "here/smollm2"
"""The real model, as an instance of `at_home` finds it."""


@asynccontextmanager
async def at_home(folder: Path, served: Served | None = None) -> AsyncGenerator[Lembas]:
    """The instance whose things lie in `folder`; it knows the real model when it is told where that is."""
    async with Lembas.open(config=Config.load(data_dir=folder, environ={})) as lembas:
        if served is not None:
            await lembas.connections.add(served.url, name="here", key=served.key)
        yield lembas


def exactly(tokens: int) -> Parameters:
    """An answer of so many tokens, the same one each time."""
    return Parameters(temperature=0, max_tokens=tokens, extra={"ignore_eos": True})


async def newest(lembas: Lembas, chat_id: str) -> MessageInfo:
    """The last message of a chat, as it is stored."""
    return (await lembas.chats.messages(chat_id))[-1]


@dataclass
class Follower:
    """Somebody who follows a reply from some moment on."""

    events: list[Event] = field(default_factory=list[Event])

    def hear(self, event: Event) -> None:
        self.events.append(event)

    @property
    def began(self) -> Snapshot:
        """What was there when they came."""
        first = self.events[0]
        assert isinstance(first, Snapshot)
        return first

    @property
    def view(self) -> ReplyView:
        """What they hold."""
        return fold(self.events)

    @property
    def pieced_together(self) -> str:
        """The text as somebody has it who prints what is new: without the fold."""
        return self.began.state.text + "".join(e.added for e in self.events if isinstance(e, Text))

    @property
    def numbers(self) -> list[int]:
        return [event.number for event in self.events]

    @property
    def ended(self) -> bool:
        """Whether the last thing they were told is the end."""
        last = self.events[-1]
        return isinstance(last, Finished) or (isinstance(last, Snapshot) and last.state.outcome is not None)
