"""Chats, replies and a store put together as an instance does, with scripted models and a still clock."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio
from lembas_core.chats import Chats, MessageInfo, Sent
from lembas_core.clock import Clock
from lembas_core.endpoints.resolved import Resolved
from lembas_core.endpoints.values import ModelClient
from lembas_core.engine.events import Event, Snapshot
from lembas_core.engine.state import ReplyState, ReplyView
from lembas_core.errors import NotFound
from lembas_core.replies import Ended, Replies
from lembas_core.store import Store
from lembas_core.store.tables import people
from lembas_core.testing import FakeClock
from sqlalchemy import Connection, insert, select

__all__ = ("House", "Somebody", "elsewhere", "open_house")


@dataclass(frozen=True)
class Somebody:
    """A person, whose row is made with the first chat."""

    id: str = "somebody"

    def ensure(self, connection: Connection) -> None:
        there = select(people.c.id).where(people.c.id == self.id)
        if connection.execute(there).one_or_none() is None:
            row = {"id": self.id, "name": self.id, "created_at": FakeClock().now()}
            connection.execute(insert(people), row)


@dataclass
class House:
    """One process: its replies and one person's chats on a store.

    `models` are found by name; "" is the default one.
    """

    store: Store
    replies: Replies
    clock: Clock
    models: dict[str, Resolved] = field(default_factory=dict[str, Resolved])
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    person: Somebody = field(default_factory=Somebody)

    async def resolve(self, ref: str | ModelClient | None) -> Resolved:
        if ref is not None and not isinstance(ref, str):
            return Resolved(client=ref, ref=ref.name, name=ref.name)
        if (ref or "") not in self.models:
            raise NotFound(f"There is no model called {ref!r}.")
        return self.models[ref or ""]

    async def setting(self, key: str) -> Any:
        return self.settings.get(key)

    def add(self, client: ModelClient, ref: str = "", **known: Any) -> None:
        """Make a model known; the first one is the default."""
        named = ref or client.name
        self.models[named] = Resolved(client=client, ref=named, name=client.name, **known)
        self.models.setdefault("", self.models[named])

    def chats_of(self, person: Somebody) -> Chats:
        return Chats(
            store=self.store,
            replies=self.replies,
            person=person,
            resolve=self.resolve,
            setting=self.setting,
            clock=self.clock,
        )

    @property
    def chats(self) -> Chats:
        return self.chats_of(self.person)

    async def wait(self, sent: Sent) -> Ended:
        with anyio.fail_after(5):
            return await self.replies.wait(sent.reply_id)

    async def said(self, text: str, **more: Any) -> tuple[Sent, ReplyView]:
        """Say something and wait for the reply."""
        sent = await self.chats.send(text, **more)
        return sent, (await self.wait(sent)).view

    async def texts(self, chat_id: str) -> list[str]:
        return [message.text for message in await self.chats.messages(chat_id)]

    async def last(self, chat_id: str) -> MessageInfo:
        return (await self.chats.messages(chat_id))[-1]

    async def events(self, reply_id: str) -> tuple[list[Event], ReplyView]:
        """Everything a follower from now on gets, and what it makes of it."""
        events, state = list[Event](), ReplyState()
        with anyio.fail_after(5):
            async with self.replies.follow(reply_id) as follower:
                async for event in follower:
                    events.append(event)
                    state.apply(event)
        assert isinstance(events[0], Snapshot)
        return events, state.view()


def elsewhere(name: str) -> str:
    """The owner token of a process on another machine: it is gone only when it has been silent for long."""
    return f"{name}.example:1:1"


@asynccontextmanager
async def open_house(
    *models: ModelClient,
    where: str | Path = ":memory:",
    clock: Clock | None = None,
    owner: str | None = None,
    store: Store | None = None,
    **settings: Any,
) -> AsyncGenerator[House]:
    """A house that is closed as an instance is: replies are ended and stored, then the store is closed."""
    opened = store or await Store.open(where)
    clock = clock or FakeClock()
    async with anyio.create_task_group() as tasks:
        house = House(opened, Replies(opened, tasks, clock, owner=owner), clock, settings=settings)
        for model in models:
            house.add(model)
        try:
            yield house
        finally:
            with anyio.CancelScope(shield=True):
                await house.replies.aclose()
            tasks.cancel_scope.cancel()
    if store is None:
        await opened.aclose()


def known(house: House, ref: str, **facts: Any) -> None:
    """Change what is known of a model."""
    house.models[ref] = replace(house.models[ref], **facts)
    house.models[""] = house.models[ref]
