from __future__ import annotations

import anyio
import pytest
from lembas_core.endpoints.values import CallsPart, EndPart, Message, Part, Request, TextPart, ToolCall, Usage
from lembas_core.engine.ask import ask
from lembas_core.engine.limits import Verdict
from lembas_core.errors import Unreachable
from lembas_core.testing import Script, call, fault, pause, raw_call, reasoning, text, usage
from lembas_core.tools.decorator import tool
from lembas_core.tools.values import Tool

HELLO = Request("script", (Message("user", "Hello"),))


async def parts(script: Script, request: Request = HELLO) -> list[Part]:
    async with script.stream(request) as stream:
        return [part async for part in stream]


async def test_steps_are_answered_in_order() -> None:
    async with Script([text("a")], [text("b"), usage(1, 2)]) as script:
        assert await parts(script) == [TextPart("a"), EndPart("stop")]
        assert await parts(script) == [TextPart("b"), EndPart("stop", usage=Usage(1, 2))]
    assert script.requests == [HELLO, HELLO]


async def test_text_is_cut_where_it_is_told() -> None:
    script = Script([text("abcdef", cuts=[1, 4, 99])], [text("abcde", cuts=2)])
    assert [part.text for part in await parts(script) if isinstance(part, TextPart)] == ["a", "bcd", "ef"]
    assert [part.text for part in await parts(script) if isinstance(part, TextPart)] == ["ab", "cd", "e"]


async def test_calls_come_at_the_end_with_ids_of_their_own() -> None:
    script = Script([call("look", at=1), raw_call("look", "{", id="mine", problem="Cut.")])
    told = await parts(script)
    assert told[:2] == [CallsPart(("look",)), CallsPart(("look", "look"))]
    assert told[2] == EndPart(
        "tool_calls",
        (ToolCall("call_1_1", "look", '{"at": 1}'), ToolCall("mine", "look", "{", "Cut.")),
    )


async def test_a_fault_is_raised_first_and_told_later() -> None:
    error = Unreachable("Gone.")
    with pytest.raises(Unreachable):
        await parts(Script([fault(error)]))
    assert (await parts(Script([text("a"), fault(error), text("never")])))[1:] == [
        EndPart("error", error=error)
    ]


async def test_a_step_that_was_not_used_fails() -> None:
    with pytest.raises(AssertionError, match="1 of 2 steps"):
        async with Script([text("a")], [text("b")]) as script:
            await parts(script)


async def test_an_error_in_the_test_is_not_hidden_by_unused_steps() -> None:
    with pytest.raises(ZeroDivisionError):
        async with Script([text("a")]):
            raise ZeroDivisionError


async def test_a_request_too_many_fails_even_when_it_was_swallowed() -> None:
    script = Script()
    with pytest.raises(AssertionError):
        await parts(script)
    with pytest.raises(AssertionError, match="request 1 was not expected"):
        script.assert_spent()


@pytest.mark.parametrize(
    "messages",
    [
        (Message("user", "?"), Message("assistant", calls=(ToolCall("a", "look"),))),
        (Message("assistant", calls=(ToolCall("a", "look"),)), Message("user", "?")),
        (Message("user", "?"), Message("tool", "seen", call_id="a")),
        (
            Message("assistant", calls=(ToolCall("a", "look"),)),
            Message("tool", "seen", call_id="a"),
            Message("tool", "seen", call_id="a"),
        ),
    ],
)
async def test_a_request_whose_calls_and_results_do_not_match_fails(messages: tuple[Message, ...]) -> None:
    with pytest.raises(AssertionError, match="call"):
        await parts(Script([text("a")]), Request("script", messages))


async def test_a_pause_waits_and_open_streams_are_counted() -> None:
    go, reached = anyio.Event(), anyio.Event()
    script = Script([pause(go, reached=reached), text("a")])
    async with anyio.create_task_group() as group:
        group.start_soon(parts, script)
        await reached.wait()
        assert script.streaming == 1
        go.set()
    assert script.streaming == 0


def allowed(_tool: Tool, _call: ToolCall) -> Verdict:
    return "allow"


async def test_a_users_own_test_is_short() -> None:
    saved: list[str] = []

    @tool(risk="write")
    async def add_note(title: str) -> None:
        """Save a note."""
        saved.append(title)

    async with Script([reasoning("hm"), call("add_note", title="Gate")], [text("Noted.")]) as script:
        reply = await ask("Note the gate.", model=script.model(), tools=[add_note], permit=allowed)
    assert (reply.text, reply.reasoning, saved) == ("Noted.", "hm", ["Gate"])
    assert [message.role for message in script.requests[1].messages][-2:] == ["assistant", "tool"]
