"""Chats, replies and a store put together as an instance does, with scripted models and a still clock."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import anyio
from anyio.abc import TaskGroup
from lembas_core.chats import Chats, MessageInfo, Sent
from lembas_core.endpoints.resolved import Resolved
from lembas_core.endpoints.values import ModelClient
from lembas_core.engine.events import Event, Snapshot
from lembas_core.engine.state import ReplyState, ReplyView
from lembas_core.errors import NotFound
from lembas_core.replies import Ended, Replies
from lembas_core.store import Store
from lembas_core.store.tables import people
from lembas_core.testing import FakeClock, Script
from lembas_core.testing.steps import Step
from sqlalchemy import Connection, insert, select

__all__ = ("House", "Somebody", "elsewhere", "open_house", "talk")

T = TypeVar("T")


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
    tasks: TaskGroup
    clock: FakeClock
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
        if "" not in self.models or self.models[""].ref == named:
            self.models[""] = self.models[named]

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

    @property
    def script(self) -> Script:
        """The default model, where it is a script."""
        client = self.models[""].client
        assert isinstance(client, Script)
        return client

    async def settle(self) -> None:
        """Wait until nothing happens any more but by time or by hand."""
        for _ in range(4):
            await anyio.wait_all_tasks_blocked()
            await self.store.write(_nothing)
            await self.store.read(_nothing)
        await anyio.wait_all_tasks_blocked()

    async def pass_time(self, seconds: int = 1) -> None:
        """Let seconds pass, one by one, and everything settle."""
        for _ in range(seconds):
            await self.settle()
            self.clock.advance(1)
        await self.settle()

    async def while_time_passes(self, act: Callable[[], Awaitable[T]]) -> T:
        """Do something that waits for time, and let seconds pass for as long as it takes."""
        done = list[T]()

        async def run() -> None:
            done.append(await act())

        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run)
                while not done:
                    await self.pass_time()
        return done[0]

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


def _nothing(connection: Connection) -> None:
    """Comes back when everything asked before it has."""


def elsewhere(name: str) -> str:
    """The owner token of a process on another machine: it is gone only when it has been silent for long."""
    return f"{name}.example:1:1"


@asynccontextmanager
async def open_house(
    *models: ModelClient,
    where: str | Path = ":memory:",
    clock: FakeClock | None = None,
    owner: str | None = None,
    store: Store | None = None,
    **settings: Any,
) -> AsyncGenerator[House]:
    """A house that is closed as an instance is: replies are ended and stored, then the store is closed."""
    opened = store or await Store.open(where)
    clock = clock or FakeClock()
    async with anyio.create_task_group() as tasks:
        house = House(opened, Replies(opened, tasks, clock, owner=owner), tasks, clock, settings=settings)
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


@asynccontextmanager
async def talk(*steps: Step, **more: Any) -> AsyncGenerator[House]:
    """A house whose model follows a script, which must be spent at the end."""
    async with Script(*steps) as script, open_house(script, **more) as house:
        yield house
