"""A chat through everything that can happen to it, in any order, by several processes.

Each process is a house of its own on the same database. A crash leaves its house as it is: nothing in
it goes on any more and nothing is cleaned up until the very end, when it may write over its successors.
"""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import anyio
from anyio.from_thread import start_blocking_portal
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from lembas_core.chats import RunWith
from lembas_core.endpoints.values import Message, Part, Request
from lembas_core.engine.questions import Answer
from lembas_core.engine.state import ReplyState, ReplyView
from lembas_core.errors import Conflict, Invalid, ModelMissing, Unreachable
from lembas_core.replies.rows import view_of
from lembas_core.store.tables import chats, messages
from lembas_core.testing import FakeClock, Script, call, fault, finish, pause, reasoning, text, usage
from lembas_core.testing.steps import Step
from lembas_core.tools.decorator import tool
from lembas_core.tools.values import Toolset
from sqlalchemy import Connection, Row, select
from support.databases import empty_postgresql
from support.talking import House, elsewhere, open_house

T = TypeVar("T")
PICK = st.integers(0, 10_000)


@tool
async def look() -> str:
    """Look at the clock."""
    return "noon"


@tool(risk="write")
async def add_note(title: str) -> str:
    """Save a note."""
    return f"Saved {title}."


RUN = RunWith(tools=Toolset(look, add_note))
USED = usage(10, 5)


def scene(kind: str, go: anyio.Event, number: int) -> list[Step]:
    """What the model does for one reply."""
    said = text(f"reply {number} ", cuts=3)
    scenes: dict[str, list[Step]] = {
        "plain": [[reasoning("hm"), said, USED]],
        "tool": [[said, call("look"), USED], [text("It is noon."), USED]],
        "fault before": [[fault(ModelMissing("No such model."))]],
        "fault after": [[said, fault(Unreachable("The connection broke."))]],
        "cut off": [[said, USED, finish("length")]],
        "hang before": [[pause(go), said, USED]],
        "hang": [[said, pause(go), text("and on"), USED]],
        "ask": [[said, call("add_note", title="Gate"), USED], [text("Done."), USED]],
    }
    return scenes[kind]


KINDS = st.sampled_from(
    sorted(["plain", "tool", "fault before", "fault after", "cut off", "hang before", "hang", "ask"])
)


def mistake(request: Request) -> str:
    """What an endpoint with a strict template would refuse in a request; "" when nothing."""
    said = [m for m in request.messages if m.role != "tool" and not m.calls]
    roles = [message.role for message in said]
    if roles != (["user", "assistant"] * len(roles))[: len(roles)]:
        return f"Roles do not alternate: {[m.role for m in request.messages]}"
    if request.messages[-1].role == "assistant":
        return "The last message is the model's."
    if any(
        message.role == "assistant" and not (message.text or message.calls) for message in request.messages
    ):
        return "A reply without text was sent."
    return ""


class Stage:
    """A model that plays the scenes it is given; `mistakes` are requests no endpoint should get."""

    name = "stage"

    def __init__(self) -> None:
        self.steps: deque[Step] = deque()
        self.requests: list[tuple[Message, ...]] = []
        self.mistakes: list[str] = []

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Part]]:
        """Play the next step."""
        self.requests.append(request.messages)
        if problem := mistake(request):
            self.mistakes.append(problem)
        step = self.steps.popleft() if self.steps else [text("…"), USED]
        async with Script(step).stream(request) as parts:
            yield parts


class ChatMachine(RuleBasedStateMachine):
    """Rules are what people, models and machines do; invariants are what nobody may break."""

    where: str | Path = ""

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.portal = self.stack.enter_context(start_blocking_portal())
        self.place = self.make_place()
        self.watchers = self.stack.enter_context(
            self.portal.wrap_async_context_manager(self.portal.call(anyio.create_task_group))
        )
        self.houses: list[House] = []
        self.zombies: list[ExitStack] = []
        self.doors: dict[int, ExitStack] = {}
        self.count = 0
        self.now = FakeClock().now()
        self.written: dict[str, str] = {}
        self.known: dict[str, tuple[str, int]] = {}
        self.gates: list[anyio.Event] = []
        self.told: dict[str, tuple[str | None, ReplyView]] = {}
        self.stages: list[Stage] = []
        self.open()

    def make_place(self) -> str | Path:
        folder = self.stack.enter_context(tempfile.TemporaryDirectory())
        return Path(folder) / "chats.db"

    # Processes

    def open(self) -> None:
        self.count += 1
        stage, stack = Stage(), ExitStack()
        opening = open_house(
            stage, where=self.place, clock=FakeClock(self.now), owner=elsewhere(f"p{self.count}")
        )
        house = stack.enter_context(self.portal.wrap_async_context_manager(opening))
        self.houses.append(house)
        self.stages.append(stage)
        self.doors[id(house)] = stack

    def house(self, pick: int) -> House:
        return self.houses[pick % len(self.houses)]

    def act(self, act: Callable[[], Awaitable[T]]) -> T | None:
        """Do something and let time pass while it waits; a refusal is fine and must change nothing."""
        return self.portal.call(self._act, act)

    async def _act(self, act: Callable[[], Awaitable[T]]) -> T | None:
        results, over = list[T](), anyio.Event()

        async def run() -> None:
            with suppress(Conflict, Invalid):
                results.append(await act())
            over.set()

        with anyio.fail_after(20):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run)
                await self._settle()
                while not over.is_set():
                    await self._pass()
        await self._settle()
        return results[0] if results else None

    async def _settle(self) -> None:
        for house in self.houses:
            await house.settle()

    async def _pass(self, seconds: int = 1) -> None:
        for _ in range(seconds):
            self.now = max(house.clock.now() for house in self.houses)
            for house in self.houses:
                house.clock.advance(1)
            await self._settle()

    # What is there

    def rows(self) -> list[Row[Any]]:
        def read(c: Connection) -> list[Row[Any]]:
            return [*c.execute(select(messages).order_by(messages.c.number))]

        return self.portal.call(self.houses[0].store.read, read)

    def heads(self) -> dict[str, str]:
        def read(c: Connection) -> dict[str, str]:
            return {row.id: row.head_id or "" for row in c.execute(select(chats.c.id, chats.c.head_id))}

        return self.portal.call(self.houses[0].store.read, read)

    def some(self, pick: int, role: str = "", status: str = "") -> Row[Any] | None:
        fit = [r for r in self.rows() if role in ("", r.role) and status in ("", r.status)]
        return fit[pick % len(fit)] if fit else None

    # Rules

    def play(self, house: House, kind: str) -> None:
        stage = house.models[""].client
        assert isinstance(stage, Stage)
        stage.steps.clear()
        self.gates.append(go := anyio.Event())
        stage.steps.extend(scene(kind, go, len(self.gates)))

    def say(self, house: House, said: str, **more: Any) -> None:
        async def send() -> None:
            sent = await house.chats.send(said, run=RUN, **more)
            self.written[sent.message_id] = said
            self.watch(house, sent.reply_id)

        self.act(send)

    def watch(self, house: House, reply_id: str) -> None:
        """Follow a reply and remember how it ended, and which run of it that was."""

        def run_of(c: Connection) -> str | None:
            return c.execute(select(messages.c.generation).where(messages.c.id == reply_id)).scalar()

        async def follow() -> None:
            state, run = ReplyState(), await house.store.read(run_of)
            async with house.replies.follow(reply_id) as events:
                async for event in events:
                    state.apply(event)
            self.told[reply_id] = run, state.view()

        self.watchers.start_soon(follow)

    @rule(pick=PICK, kind=KINDS)
    def begin_a_chat(self, pick: int, kind: str) -> None:
        house = self.house(pick)
        self.play(house, kind)
        self.say(house, f"turn {len(self.written)}")

    @rule(pick=PICK, chat=PICK, kind=KINDS)
    @precondition(lambda self: self.written)
    def say_more(self, pick: int, chat: int, kind: str) -> None:
        house, heads = self.house(pick), sorted(self.heads())
        self.play(house, kind)
        self.say(house, f"turn {len(self.written)}", chat_id=heads[chat % len(heads)])

    @rule(pick=PICK, which=PICK, kind=KINDS)
    def say_it_differently(self, pick: int, which: int, kind: str) -> None:
        house, row = self.house(pick), self.some(which, "user")
        if row is not None:
            self.play(house, kind)
            self.say(house, f"turn {len(self.written)}", instead_of=row.id)

    @rule(pick=PICK, which=PICK, kind=KINDS)
    def regenerate(self, pick: int, which: int, kind: str) -> None:
        house, row = self.house(pick), self.some(which, "assistant")
        if row is not None:
            self.play(house, kind)

            async def regenerate() -> None:
                sent = await house.chats.regenerate(row.id, run=RUN)
                self.watch(house, sent.reply_id)

            self.act(regenerate)

    @rule(pick=PICK, which=PICK, kind=KINDS)
    def resume(self, pick: int, which: int, kind: str) -> None:
        house = self.house(pick)
        for status in ("interrupted", "stopped", "error", "done", "running"):
            if (row := self.some(which, "assistant", status)) is not None:
                self.play(house, kind)
                self.act(lambda: house.chats.resume(row.id, run=RUN))
                return

    @rule(pick=PICK, which=PICK)
    def stop(self, pick: int, which: int) -> None:
        house, row = self.house(pick), self.some(which, "assistant", "running")
        if row is not None:
            self.act(lambda: house.replies.stop(row.id))
            (now,) = [r for r in self.rows() if r.id == row.id]
            assert now.status != "running"

    @rule(pick=PICK, which=PICK, allow=st.booleans())
    def answer(self, pick: int, which: int, allow: bool) -> None:
        self.portal.call(self._pass, 1)
        asking = [row for row in self.rows() if row.status == "running" and row.question]
        if not asking:
            return
        row = asking[which % len(asking)]
        given = Answer.allow() if allow else Answer.deny()
        answers = [
            self.act(lambda: self.house(pick).replies.answer(row.id, row.question["id"], given))
            for _ in range(2)
        ]
        assert not answers[1], "the same answer counted twice"
        self.portal.call(self._pass, 1)

    @rule(which=PICK)
    @precondition(lambda self: self.gates)
    def go_on(self, which: int) -> None:
        async def let_go() -> None:
            self.gates.pop(which % len(self.gates)).set()

        self.act(let_go)

    @rule(pick=PICK, which=PICK)
    def switch(self, pick: int, which: int) -> None:
        row = self.some(which)
        if row is not None:
            self.act(lambda: self.house(pick).chats.switch(row.id))

    @rule(pick=PICK, which=PICK)
    def fork(self, pick: int, which: int) -> None:
        house, row = self.house(pick), self.some(which)
        if row is not None:
            chat = self.act(lambda: house.chats.fork(row.id))
            if chat is not None:
                path = self.act(lambda: house.chats.messages(chat.id)) or []
                self.written |= {message.id: message.text for message in path if message.role == "user"}
                assert path[-1].text == row.text

    @rule(pick=PICK, which=PICK)
    def delete_a_version(self, pick: int, which: int) -> None:
        row = self.some(which)
        if row is not None:
            self.act(lambda: self.house(pick).chats.delete_version(row.id))
            left = {r.id: r for r in self.rows()}
            if row.id not in left:
                gone = {row.id} | {r for r in self.written if r not in left}
                self.written = {m: said for m, said in self.written.items() if m not in gone}
                self.known = {m: seen for m, seen in self.known.items() if m in left}

    @rule(seconds=st.sampled_from([1, 6, 20]))
    def time_passes(self, seconds: int) -> None:
        self.portal.call(self._pass, seconds)

    @rule(pick=PICK)
    def sweep(self, pick: int) -> None:
        self.act(self.house(pick).replies.sweep)

    @rule()
    @precondition(lambda self: len(self.houses) < 2)
    def a_second_process_comes(self) -> None:
        self.open()

    @rule(pick=PICK, writing=st.booleans(), noticed=st.booleans())
    def a_process_crashes(self, pick: int, writing: bool, noticed: bool) -> None:
        if writing:
            self.begin_a_chat(pick, "hang")
        house = self.houses.pop(pick % len(self.houses))
        self.zombies.append(self.doors.pop(id(house)))
        if not self.houses:
            self.open()
        if noticed:
            self.time_passes(20)
            self.sweep(pick)

    @rule(pick=PICK)
    def a_process_is_closed(self, pick: int) -> None:
        house = self.houses.pop(pick % len(self.houses))
        self.doors.pop(id(house)).close()
        if not self.houses:
            self.open()

    # Invariants

    @invariant()
    def nothing_is_broken(self) -> None:
        rows = self.rows()
        self.what_people_wrote_is_there(rows)
        self.messages_form_trees_and_heads_are_in_them(rows)
        self.replies_only_grow(rows)
        self.what_is_stored_is_what_was_told(rows)
        # Requests are such as every endpoint takes.
        assert [problem for stage in self.stages for problem in stage.mistakes] == []

    def what_people_wrote_is_there(self, rows: list[Row[Any]]) -> None:
        assert self.written == {row.id: row.text for row in rows if row.role == "user"}

    def messages_form_trees_and_heads_are_in_them(self, rows: list[Row[Any]]) -> None:
        by_id = {row.id: row for row in rows}
        for row in rows:
            above = by_id.get(row.parent_id)
            assert (above is None) == (row.parent_id is None)
            if above is not None:
                assert above.chat_id == row.chat_id and above.number < row.number
            # A fork may end in a turn, which then has a turn below it.
            assert row.role == "user" or (above is not None and above.role == "user")
        for chat_id, head in self.heads().items():
            assert by_id[head].chat_id == chat_id

    def replies_only_grow(self, rows: list[Row[Any]]) -> None:
        for row in rows:
            if row.role == "assistant":
                said, tokens = self.known.get(row.id, ("", 0))
                assert row.text.startswith(said)
                assert (row.completion_tokens or tokens) >= tokens
                assert row.status == "running" or not row.question
                self.known[row.id] = (row.text, row.completion_tokens or tokens)

    def what_is_stored_is_what_was_told(self, rows: list[Row[Any]]) -> None:
        """What a dead process tells of a run that another one has continued is nobody's business."""
        for row in rows:
            run, told = self.told.get(row.id, (None, None))
            lost = told is not None and told.outcome == "interrupted" != row.status
            if told is not None and not lost and row.status != "running" and row.generation == run:
                assert view_of(row) == told

    def teardown(self) -> None:
        """Close the living, then the dead, who may try to write; nothing of it may do harm."""
        for door in (*self.doors.values(), *self.zombies):
            door.close()
        self.houses, self.doors = [], {}
        self.open()
        self.portal.call(self._pass, 20)
        self.sweep(0)
        try:
            self.nothing_is_broken()
            assert not [row for row in self.rows() if row.status == "running"]
            for chat_id in self.heads():
                self.portal.call(self.houses[0].chats.export, chat_id)
        finally:
            self.doors.pop(id(self.houses[0])).close()
            self.stack.close()


def run(machine: type[ChatMachine], examples: int, steps: int) -> None:
    slow = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.function_scoped_fixture]
    bounds = settings(
        max_examples=examples, stateful_step_count=steps, deadline=None, suppress_health_check=slow
    )
    run_state_machine_as_test(machine, settings=bounds)


def test_nothing_that_happens_to_a_chat_breaks_it() -> None:
    run(ChatMachine, 25, 20)


def test_nothing_that_happens_to_a_chat_on_postgresql_breaks_it(postgresql_server: str) -> None:
    class OnPostgreSQL(ChatMachine):
        def make_place(self) -> str:
            return self.stack.enter_context(empty_postgresql(postgresql_server))

    run(OnPostgreSQL, 6, 15)
