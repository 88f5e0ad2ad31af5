from __future__ import annotations

import threading
from typing import Annotated

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lembas_core.testing import FakeClock
from lembas_core.tools.decorator import tool
from lembas_core.tools.running import bounded, run_tool
from lembas_core.tools.threads import in_thread
from lembas_core.tools.values import ToolResult
from pydantic import AfterValidator


def _broken(_value: int) -> int:
    raise KeyError("oops")


async def _time_out(*, blocking: bool) -> ToolResult:
    release = threading.Event()

    @tool(timeout=30)
    async def waits() -> None:
        """Wait."""
        await anyio.sleep_forever()

    @tool(timeout=30)
    def blocks() -> None:
        """Block."""
        release.wait()

    clock, results = FakeClock(), list[ToolResult]()
    async with anyio.create_task_group() as group:

        async def run() -> None:
            results.append(await run_tool(blocks if blocking else waits, {}, clock=clock))

        group.start_soon(run)
        await clock.sleepers()
        clock.advance(30)
    release.set()
    return results[0]


@pytest.mark.parametrize("blocking", [False, True])
async def test_a_time_out_becomes_a_result(blocking: bool) -> None:
    assert await _time_out(blocking=blocking) == ToolResult(
        "The tool did not finish within 30 seconds.", is_error=True
    )


@pytest.mark.parametrize(
    "error", [ValueError("no"), SystemExit(3), StopIteration(), ExceptionGroup("two", [KeyError()])]
)
async def test_whatever_a_function_raises_becomes_a_result(error: BaseException) -> None:
    @tool
    async def fail() -> None:
        """Fail."""
        raise error

    @tool
    def fail_in_thread() -> None:
        """Fail."""
        raise error

    for broken in (fail, fail_in_thread):
        result = await run_tool(broken, {})
        assert result.is_error
        assert result.text.startswith("The tool failed: ")


async def test_a_cancellation_of_its_own_ends_only_the_tool() -> None:
    @tool
    async def give_up() -> None:
        """Give up."""
        raise anyio.get_cancelled_exc_class()

    result = await run_tool(give_up, {}, clock=FakeClock())
    assert result.is_error


async def test_a_tool_without_a_time_out_runs_to_its_end() -> None:
    @tool(timeout=None)
    async def look() -> str:
        """Look."""
        return "seen"

    assert await run_tool(look, {}, clock=FakeClock()) == ToolResult("seen")


async def test_a_validator_that_breaks_is_a_mistake_not_a_crash() -> None:
    @tool
    async def look(at: Annotated[int, AfterValidator(_broken)]) -> str:
        """Look."""
        return "seen"

    assert look.check({"at": 1}) != ""
    assert (await run_tool(look, {"at": 1})).is_error


async def test_what_no_database_holds_leaves_no_tool() -> None:
    @tool
    async def look() -> str:
        """Look."""
        return "a\x00b\ud800c"

    assert (await run_tool(look, {})).text == "a\ufffdb\ufffdc"


@given(st.text(max_size=300), st.integers(60, 200))
def test_a_bounded_text_is_whole_or_says_what_is_missing(said: str, most: int) -> None:
    result = bounded(said, most)
    assert len(result) <= most
    if len(said) > most:
        kept = result.rindex("\n[Cut: ")
        assert f"[Cut: {len(said) - kept} of {len(said)} characters are left out.]" in result


async def test_a_thread_that_nobody_waits_for_any_more_ends_quietly() -> None:
    release, ended = threading.Event(), threading.Event()

    def work() -> None:
        release.wait()
        ended.set()

    with anyio.move_on_after(0):
        await in_thread(work)
    release.set()
    assert await in_thread(lambda: ended.wait(5))


def test_a_thread_may_outlive_its_event_loop() -> None:
    release, begun = threading.Event(), list[threading.Thread]()

    def work() -> None:
        begun.append(threading.current_thread())
        release.wait(5)

    async def main() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(in_thread, work)
            while not begun:
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()

    anyio.run(main)
    assert begun[0].is_alive()
    assert begun[0].daemon
    release.set()
    begun[0].join(5)
