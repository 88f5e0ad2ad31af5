from __future__ import annotations

import threading

import anyio
from lembas_core.engine.events import Event, ToolFinished
from lembas_core.engine.limits import Limits
from lembas_core.engine.questions import Answer, Question
from lembas_core.engine.run import run_reply
from lembas_core.engine.state import ToolBlock
from lembas_core.errors import RateLimited
from lembas_core.testing import FakeClock, Script, call, fault, pause, text
from lembas_core.tools.decorator import tool
from lembas_core.tools.values import Toolset
from support.replies import asked, stop_when


async def test_stop_before_the_first_token_leaves_the_connection_at_once() -> None:
    reached = anyio.Event()
    script = Script([pause(anyio.Event(), reached=reached), text("never")])
    watched = await stop_when(script, reached.wait)
    assert script.streaming == 0
    assert watched.view.text == ""
    assert watched.view.metrics.first_token_seconds is None
    assert watched.view.metrics.seconds is not None


async def test_stop_in_the_middle_keeps_what_arrived() -> None:
    reached = anyio.Event()
    script = Script([text("Half of it"), pause(anyio.Event(), reached=reached), text("never")])
    watched = await stop_when(script, reached.wait)
    assert script.streaming == 0
    assert watched.view.text == "Half of it"
    assert watched.view.metrics.first_token_seconds is not None


async def test_stop_cancels_running_tools_and_marks_those_that_ran() -> None:
    running, cancelled = anyio.Event(), anyio.Event()

    @tool
    async def quick() -> str:
        """Be quick."""
        return "done"

    @tool
    async def slow() -> str:
        """Be slow."""
        running.set()
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.set()
        return "never"

    script = Script([text("Let me."), call("quick"), call("slow")])
    watched = await stop_when(script, running.wait, [quick, slow], limits=Limits(calls_at_once=1))
    assert cancelled.is_set()
    assert watched.view.text == "Let me."
    assert watched.results == [("done", False), ("Stopped.", True)]


async def test_calls_that_had_not_begun_leave_no_trace_when_stopped() -> None:
    running = anyio.Event()

    @tool
    async def slow(at: int) -> str:
        """Be slow."""
        if at == 3:
            running.set()
        await anyio.sleep_forever()
        return "never"

    script = Script([call("slow", at=at) for at in range(6)])
    watched = await stop_when(script, running.wait, [slow])
    assert watched.results == [("Stopped.", True)] * 4


async def test_a_tool_that_blocks_its_thread_does_not_hang_the_stop() -> None:
    running, release = threading.Event(), threading.Event()

    @tool
    def blocking() -> str:
        """Block."""
        running.set()
        release.wait()
        return "never"

    async def begun() -> None:
        while not running.is_set():
            await anyio.lowlevel.checkpoint()

    watched = await stop_when(Script([call("blocking")]), begun, [blocking])
    release.set()
    assert watched.results == [("Stopped.", True)]


async def test_stop_while_a_person_is_asked() -> None:
    asking = anyio.Event()

    @tool(risk="write")
    async def note() -> None:
        """Note."""

    async def ask(_question: Question) -> Answer:
        asking.set()
        await anyio.sleep_forever()
        return Answer.allow()

    watched = await stop_when(Script([text("May I?"), call("note")]), asking.wait, [note], ask=ask)
    assert watched.view.text == "May I?"
    assert watched.view.question is not None
    assert not [block for block in watched.view.blocks if isinstance(block, ToolBlock)]


async def test_stop_while_waiting_to_try_again() -> None:
    clock = FakeClock()
    script = Script([fault(RateLimited("Too many requests.", retry_after=20))])
    watched = await stop_when(script, clock.sleepers, clock=clock)
    assert len(script.requests) == 1
    assert "trying again in 20 s" in watched.view.status


async def test_a_tool_that_was_stopped_can_still_tell_what_it_did() -> None:
    """The events of a cancelled reply fold like any other: the call that ran is closed."""
    told: list[Event] = []
    running = anyio.Event()

    @tool
    async def slow() -> str:
        """Be slow."""
        running.set()
        await anyio.sleep_forever()
        return "never"

    script = Script([call("slow")])
    async with anyio.create_task_group() as group:

        async def run() -> None:
            await run_reply(script, asked(script), emit=told.append, tools=Toolset(slow))

        group.start_soon(run)
        await running.wait()
        group.cancel_scope.cancel()
    assert [event.text for event in told if isinstance(event, ToolFinished)] == ["Stopped."]
    assert told[-1].kind == "usage"
