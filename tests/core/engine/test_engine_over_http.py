"""The loop over a real connection: what the script says in process and over HTTP must be the same reply."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest
from lembas_core.endpoints import Endpoint
from lembas_core.engine.ask import ask
from lembas_core.engine.blocks import Block, ReasoningBlock, ToolBlock
from lembas_core.engine.state import ReplyView
from lembas_core.errors import EndpointError, RateLimited, Unauthorised, Unreachable
from lembas_core.testing import (
    FakeClock,
    Script,
    call,
    fault,
    pause,
    raw_call,
    reasoning,
    recast,
    serve_script,
    text,
    usage,
)
from lembas_core.testing.steps import Step
from lembas_core.tools.decorator import tool
from support.replies import stop_when, watch


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


CONVERSATIONS: dict[str, list[Step]] = {
    "plain": [[text("Hello there", cuts=3), usage(5, 2, cached=1)]],
    "thinking": [[reasoning("hm, ", cuts=1), text("Hello"), usage(5, 2, reasoning=1)]],
    "tools": [
        [reasoning("sum"), text("Adding."), call("add", a=1, b=2), call("add", a="3", b=4)],
        [text("3 and 7")],
    ],
    "mistakes": [
        [
            call("nope"),
            call("add", a="x"),
            raw_call("add", '{"a": 1, "a": 2, "b": 1}'),
            raw_call("add", '{"a"'),
        ],
        [text("Sorry.")],
    ],
    "recast": [[text("First, "), recast(), text("Hello")]],
    "broken off": [[text("Half of"), fault(Unreachable("Gone."))]],
    "unauthorised": [[fault(Unauthorised("Wrong key."))]],
}


def _timeless(block: Block) -> Block:
    if isinstance(block, ToolBlock):
        # The sentence about broken JSON is the endpoint's in one case and the engine's in the other.
        return replace(block, seconds=0, call_id="", result=(block.result or "").split()[0])
    return replace(block, seconds=0) if isinstance(block, ReasoningBlock) else block


def _comparable(view: ReplyView) -> tuple[object, ...]:
    metrics = replace(view.metrics, seconds=None, first_token_seconds=None, writing_seconds=None)
    return view.text, view.reasoning, [_timeless(block) for block in view.blocks], metrics, view.outcome


@pytest.mark.parametrize("steps", CONVERSATIONS.values(), ids=CONVERSATIONS)
async def test_a_reply_over_http_is_the_reply_in_process(steps: list[Step]) -> None:
    async with Script(*steps) as script:
        here = await watch(script, add)
    async with serve_script(*steps) as server, Endpoint(server.url, kind="openai") as endpoint:
        there = await watch(endpoint.model("script"), add)
    assert _comparable(there.view) == _comparable(here.view)


async def test_results_are_sent_back_as_the_protocol_wants_them() -> None:
    async with (
        serve_script([text("Adding."), call("add", a=1, b=2)], [text("3")]) as server,
        Endpoint(server.url, kind="openai") as endpoint,
    ):
        reply = await ask("1 + 2?", model=endpoint.model("script"), tools=[add])
    assert reply.text == "Adding.\n\n3"
    _, said, result = server.requests[1]["messages"]
    assert said["tool_calls"][0]["function"] == {"name": "add", "arguments": '{"a": 1, "b": 2}'}
    assert (result["role"], result["content"]) == ("tool", "3")
    assert result["tool_call_id"] == said["tool_calls"][0]["id"]


async def test_a_limit_is_waited_for_over_http() -> None:
    clock = FakeClock(instant=True)
    async with (
        serve_script([fault(RateLimited("Slow down.", retry_after=7))], [text("Now.")]) as server,
        Endpoint(server.url, kind="openai") as endpoint,
    ):
        watched = await watch(endpoint.model("script"), clock=clock)
    assert (watched.view.text, clock.slept) == ("Now.", [7])


@pytest.mark.parametrize("before", [[], [text("Half")]], ids=["before the first token", "in the middle"])
async def test_stop_closes_the_upstream_connection(before: Step) -> None:
    reached = anyio.Event()
    steps = [[*before, pause(anyio.Event(), reached=reached)]]
    async with serve_script(*steps) as server, Endpoint(server.url, kind="openai") as endpoint:
        await stop_when(endpoint.model("script"), reached.wait)
        with anyio.fail_after(5):
            while server.streaming:
                await anyio.lowlevel.checkpoint()
    assert server.left == 1


async def test_nobody_listening_is_one_sentence() -> None:
    async with Endpoint("http://127.0.0.1:9", kind="openai") as endpoint:
        watched = await watch(endpoint.model("script"), clock=FakeClock(instant=True))
    assert watched.finished is not None
    assert isinstance(watched.finished.error, EndpointError)
    assert watched.view.error.count("\n") == 0
    assert "127.0.0.1:9" in watched.view.error
