from __future__ import annotations

import anyio
import pytest
from lembas_core.engine.events import Metrics, UsageReported
from lembas_core.engine.state import ReplyView
from lembas_core.testing import FakeClock, Script, call, pause, reasoning, text, usage
from lembas_core.tools.decorator import tool
from support.replies import Watched, watch


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def test_tokens_of_the_last_prompt_and_completions_of_all_rounds() -> None:
    async with Script(
        [call("add", a=1, b=2), usage(100, 10, cached=0, reasoning=4)],
        [text("3"), usage(120, 5, cached=100, reasoning=1)],
    ) as script:
        watched = await watch(script, add, context_window=1_000)
    metrics = watched.view.metrics
    assert (metrics.prompt_tokens, metrics.cached_tokens) == (120, 100)
    assert (metrics.completion_tokens, metrics.reasoning_tokens) == (15, 5)
    assert metrics.rounds == 2
    assert metrics.context_window == 1_000
    assert metrics.context_share == pytest.approx(0.12)  # the last prompt holds the rounds before it


async def test_what_was_not_reported_stays_unknown() -> None:
    async with Script([text("Hello")]) as script:
        watched = await watch(script)
    metrics = watched.view.metrics
    assert metrics.prompt_tokens is None
    assert metrics.completion_tokens is None
    assert metrics.tokens_per_second is None
    assert metrics.context_share is None


async def test_no_sum_is_more_than_a_database_holds() -> None:
    most = 2**31 - 1
    steps = [[call("add", a=1, b=2), usage(10, most)], [text("3"), usage(20, most)]]
    async with Script(*steps) as script:
        watched = await watch(script, add)
    assert watched.view.metrics.completion_tokens == most


@pytest.mark.parametrize("silent", [0, 1])
async def test_a_sum_with_an_unknown_part_is_unknown(silent: int) -> None:
    reports = [[usage(10, 5)], [usage(20, 5)]]
    reports[silent] = []
    async with Script([call("add", a=1, b=2), *reports[0]], [text("3"), *reports[1]]) as script:
        watched = await watch(script, add)
    assert watched.view.metrics.completion_tokens is None
    assert watched.view.metrics.prompt_tokens == (20 if silent == 0 else None)


async def test_seconds_to_the_first_token_of_writing_and_of_all() -> None:
    clock = FakeClock()
    before, after, asked_tool = anyio.Event(), anyio.Event(), anyio.Event()
    here = [anyio.Event() for _ in range(2)]

    @tool
    async def wait() -> str:
        """Wait."""
        clock.advance(100)
        asked_tool.set()
        return "ok"

    script = Script(
        [
            pause(before, reached=here[0]),
            reasoning("hm"),
            pause(after, reached=here[1]),
            call("wait"),
            usage(1, 30),
        ],
        [text("Done."), usage(2, 10)],
    )
    watched = Watched()
    async with anyio.create_task_group() as group:

        async def run() -> None:
            done = await watch(script, wait, clock=clock)
            watched.events, watched.finished = done.events, done.finished

        group.start_soon(run)
        await here[0].wait()
        clock.advance(3)
        before.set()
        await here[1].wait()
        clock.advance(2)
        after.set()
    metrics = watched.view.metrics
    assert metrics.first_token_seconds == 3
    assert metrics.writing_seconds == 2
    assert metrics.seconds == 105
    assert metrics.tokens_per_second == 20


async def test_the_first_token_is_told_when_it_comes() -> None:
    async with Script([reasoning("hm"), text("Hello")]) as script:
        watched = await watch(script)
    assert watched.kinds[:3] == ["round_started", "usage", "reasoning"]


async def test_a_report_carries_what_the_endpoint_said() -> None:
    async with Script([text("Hello"), usage(7, 3)]) as script:
        watched = await watch(script)
    reported = [e.usage for e in watched.events if isinstance(e, UsageReported) and e.usage]
    assert [(u.prompt_tokens, u.completion_tokens) for u in reported] == [(7, 3)]


async def test_a_continued_reply_adds_to_what_it_had_cost() -> None:
    before = ReplyView(
        number=4,
        metrics=Metrics(
            prompt_tokens=50,
            completion_tokens=8,
            first_token_seconds=1.0,
            writing_seconds=2.0,
            seconds=5.0,
            rounds=2,
        ),
    )
    async with Script([text("more"), usage(60, 2)]) as script:
        watched = await watch(script, start=before, clock=FakeClock())
    metrics = watched.view.metrics
    assert (metrics.prompt_tokens, metrics.completion_tokens, metrics.rounds) == (60, 10, 3)
    assert (metrics.first_token_seconds, metrics.writing_seconds, metrics.seconds) == (1.0, 2.0, 5.0)
