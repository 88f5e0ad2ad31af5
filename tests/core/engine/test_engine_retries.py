from __future__ import annotations

import pytest
from lembas_core.engine.events import Status
from lembas_core.engine.limits import Limits
from lembas_core.errors import BadResponse, EndpointError, RateLimited, Unauthorised, Unreachable
from lembas_core.testing import FakeClock, Script, call, fault, text
from lembas_core.tools.decorator import tool
from support.replies import watch


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def test_a_dropped_connection_is_tried_again_with_growing_waits_that_are_shown() -> None:
    clock = FakeClock(instant=True)
    drops = [[fault(Unreachable("Connection lost."))] for _ in range(2)]
    async with Script(*drops, [text("Here.")]) as script:
        watched = await watch(script, clock=clock)
    assert clock.slept == [0.5, 1.0]
    assert watched.view.text == "Here."
    assert [event.text for event in watched.events if isinstance(event, Status)] == [
        "No connection to the endpoint; trying again in 0.5 s (1 of 3)",
        "No connection to the endpoint; trying again in 1 s (2 of 3)",
        "",
    ]


async def test_the_line_about_waiting_is_cleared_when_the_answer_begins() -> None:
    clock = FakeClock(instant=True)
    async with Script([fault(Unreachable("Connection lost."))], [text("Here.")]) as script:
        watched = await watch(script, clock=clock)
    assert watched.kinds == ["round_started", "status", "status", "usage", "text", "usage"]


async def test_the_wait_an_endpoint_asks_for_is_honoured() -> None:
    clock = FakeClock(instant=True)
    async with Script([fault(RateLimited("Slow down.", retry_after=12))], [text("Now.")]) as script:
        watched = await watch(script, clock=clock)
    assert clock.slept == [12]
    assert watched.view.text == "Now."


async def test_a_wait_beyond_the_bound_is_an_error_at_once() -> None:
    clock = FakeClock(instant=True)
    error = RateLimited("Slow down.", retry_after=31)
    async with Script([fault(error)]) as script:
        watched = await watch(script, clock=clock)
    assert clock.slept == []
    assert watched.finished is not None
    assert watched.finished.error is error


async def test_retries_end() -> None:
    clock = FakeClock(instant=True)
    async with Script(*[[fault(Unreachable("Connection lost."))]] * 4) as script:
        watched = await watch(script, clock=clock)
    assert clock.slept == [0.5, 1.0, 2.0]
    assert (watched.view.outcome, watched.view.error) == ("error", "Connection lost.")
    assert watched.view.status == ""


@pytest.mark.parametrize(
    "error",
    [
        Unreachable("It took too long.", timed_out=True),
        Unauthorised("The key is wrong."),
        BadResponse("Not an API.", reason="not_an_api"),
        BadResponse("Broken inside.", reason="upstream", status=500),
    ],
)
async def test_what_cannot_pass_is_not_tried_again(error: EndpointError) -> None:
    clock = FakeClock(instant=True)
    async with Script([fault(error)]) as script:
        watched = await watch(script, clock=clock)
    assert clock.slept == []
    assert watched.view.error == str(error)


async def test_a_server_that_is_still_loading_its_model_is_tried_again() -> None:
    clock = FakeClock(instant=True)
    loading = BadResponse("Loading model.", reason="upstream", status=503)
    async with Script([fault(loading)], [text("Ready.")]) as script:
        watched = await watch(script, clock=clock)
    assert watched.view.text == "Ready."


async def test_after_the_first_token_nothing_is_tried_again() -> None:
    clock = FakeClock(instant=True)
    async with Script([text("Half"), fault(Unreachable("Connection lost."))]) as script:
        watched = await watch(script, clock=clock)
    assert clock.slept == []
    assert (watched.view.text, watched.view.outcome) == ("Half", "error")


async def test_a_later_round_is_tried_again_without_running_its_tools_twice() -> None:
    clock = FakeClock(instant=True)
    async with Script(
        [call("add", a=1, b=2)], [fault(Unreachable("Connection lost."))], [text("Three.")]
    ) as script:
        watched = await watch(script, add, clock=clock)
    assert script.requests[1] == script.requests[2]
    assert watched.results == [("3", False)]
    assert watched.view.text == "Three."


async def test_no_retries_can_be_asked_for() -> None:
    async with Script([fault(Unreachable("Connection lost."))]) as script:
        watched = await watch(script, limits=Limits(retries=0))
    assert watched.view.outcome == "error"
