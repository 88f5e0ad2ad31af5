from __future__ import annotations

import json

import anyio
import pytest
from lembas_core.endpoints.values import Message, Request, ToolSpec
from lembas_core.engine.events import Status, Text
from lembas_core.engine.limits import Limits
from lembas_core.engine.state import ReasoningBlock, ReplyView, TextBlock, ToolBlock, fold
from lembas_core.errors import BadResponse
from lembas_core.testing import Script, call, fault, finish, raw_call, reasoning, recast, text
from lembas_core.tools.decorator import tool
from lembas_core.tools.values import ToolResult
from support.replies import told, watch


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
async def fail() -> str:
    """Fail."""
    raise RuntimeError("out of bread")


async def test_a_plain_answer_is_told_and_folded() -> None:
    async with Script([text("Hello there", cuts=[5])]) as script:
        watched = await watch(script)
    assert [event.added for event in watched.events if isinstance(event, Text)] == ["Hello", " there"]
    assert watched.view.text == "Hello there"
    assert watched.view.outcome == "done"
    assert watched.view.finish == "stop"


async def test_numbers_rise_by_one_and_the_last_event_is_returned_not_emitted() -> None:
    async with Script([reasoning("hm"), text("a", cuts=1), call("add", a=1, b=2)], [text("3")]) as script:
        watched = await watch(script, add)
    numbers = [event.number for event in watched.events]
    assert numbers == list(range(1, len(numbers) + 1))
    assert watched.finished is not None
    assert watched.finished.number == len(numbers) + 1
    assert "finished" not in watched.kinds


async def test_text_before_a_call_is_kept_and_parted_by_a_blank_line() -> None:
    async with Script([text("Let me see."), call("add", a=1, b=2)], [text("It is 3.")]) as script:
        watched = await watch(script, add)
    assert watched.view.text == "Let me see.\n\nIt is 3."
    assert [block.text for block in watched.view.blocks if isinstance(block, TextBlock)] == [
        "Let me see.",
        "It is 3.",
    ]


async def test_a_round_carries_text_calls_and_results_but_no_thinking() -> None:
    async with Script(
        [reasoning("secret"), text("Adding."), call("add", a=1, b=2), call("add", a=3, b=4)], [text("Done")]
    ) as script:
        await watch(script, add)
    _, said, first, second = script.requests[1].messages
    assert (said.role, said.text, len(said.calls)) == ("assistant", "Adding.", 2)
    assert [(m.text, m.call_id, m.tool_name) for m in (first, second)] == [
        ("3", said.calls[0].id, "add"),
        ("7", said.calls[1].id, "add"),
    ]
    assert "secret" not in str(script.requests[1])


async def test_the_tools_offered_are_the_toolset_whatever_the_request_held() -> None:
    async with Script([text("ok")]) as script:
        request = Request("script", (Message("user", "?"),), tools=(ToolSpec("other", "", {}),))
        await watch(script, add, request=request)
    assert [spec.name for spec in script.requests[0].tools] == ["add"]


async def test_the_last_round_goes_out_without_tools_and_the_model_is_told_before() -> None:
    rounds = [[call("add", a=1, b=1)]] * 2
    async with Script(*rounds, [text("Two.")]) as script:
        watched = await watch(script, add, limits=Limits(rounds=3))
    assert [len(request.tools) for request in script.requests] == [1, 1, 0]
    assert "No more tools" in told(script)[-1]
    assert "No more tools" not in told(script, 1)[-1]
    assert watched.view.text == "Two."


async def test_calls_in_the_last_round_run_nothing_and_end_the_reply() -> None:
    ran: list[int] = []

    @tool
    async def note() -> None:
        """Note."""
        ran.append(1)

    async with Script([text("I would."), call("note")]) as script:
        watched = await watch(script, note, limits=Limits(rounds=1))
    assert ran == []
    assert watched.view.text == "I would."
    assert watched.view.finish == "tool_calls"


async def test_a_name_that_was_not_offered_is_an_error_result() -> None:
    async with Script([call("shell_run", command="ls")], [text("Sorry.")]) as script:
        watched = await watch(script, add)
    assert told(script) == ["There is no tool called 'shell_run'. The tools are: add."]
    assert watched.results[0][1] is True


async def test_without_tools_a_call_is_answered_with_that() -> None:
    async with Script([call("add", a=1, b=2)], [text("3")]) as script:
        watched = await watch(script)
    assert told(script) == ["There is no tool called 'add'. No tool can be called now; answer in words."]
    assert watched.view.text == "3"


async def test_a_call_with_a_problem_runs_nothing_and_the_model_is_told() -> None:
    cut = raw_call("add", '{"a": 1', problem="The arguments are cut off.")
    async with Script([cut], [text("Again.")]) as script:
        await watch(script, add)
    assert told(script) == ['The arguments are cut off. You wrote: {"a": 1']


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ('{"a": 1', "not valid JSON"),
        ("[1, 2]", "must be one JSON object"),
        ('{"a": 1}{"a": 2}', "not valid JSON"),
        ('{"a": 1, "a": 2, "b": 3}', "'a' is given twice"),
        ('{"a": {"x": 1, "x": 2}, "b": 3}', "'x' is given twice"),
        ('{"a": NaN, "b": 1}', "NaN is no JSON number"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
        ('{"a": 1}', "`b` is required."),
        ('{"a": "one", "b": 2}', "`a`: Input should be a valid integer"),
        ('{"a": 1, "b": 2, "c": 3}', "There is no argument `c`."),
    ],
)
async def test_wrong_arguments_go_back_to_the_model_and_are_never_replayed(arguments: str, said: str) -> None:
    async with Script([raw_call("add", arguments)], [text("I see.")]) as script:
        watched = await watch(script, add)
    assert said in told(script)[0]
    assert watched.results[0][1] is True
    replayed = script.requests[1].messages[1].calls[0].arguments
    assert isinstance(json.loads(replayed), dict)


async def test_arguments_are_coerced_as_the_schema_says() -> None:
    async with Script([call("add", a="1", b=2.0)], [text("3")]) as script:
        await watch(script, add)
    assert told(script) == ["3"]


async def test_what_a_tool_raises_becomes_its_result() -> None:
    async with Script([call("fail"), call("add", a=1, b=2)], [text("Half of it.")]) as script:
        watched = await watch(script, fail, add)
    assert told(script) == ["The tool failed: RuntimeError: out of bread", "3"]
    assert [is_error for _, is_error in watched.results] == [True, False]


async def test_calls_run_together_four_at_most_and_results_keep_their_order() -> None:
    running, most = 0, 0
    gates = [anyio.Event() for _ in range(6)]

    @tool
    async def wait(at: int) -> str:
        """Wait."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 4 or at >= 4:
            for gate in reversed(gates):
                gate.set()
        await gates[at].wait()
        running -= 1
        return f"number {at}"

    async with Script([call("wait", at=at) for at in range(6)], [text("ok")]) as script:
        watched = await watch(script, wait)
    assert most == 4
    assert told(script) == [f"number {at}" for at in range(6)]
    started = [event.arguments for event in watched.events if event.kind == "tool_started"]
    assert started == [f'{{"at": {at}}}' for at in range(6)]


async def test_more_calls_than_64_are_cut_off_and_the_model_is_told() -> None:
    async with Script([call("add", a=at, b=0) for at in range(200)], [text("Too many.")]) as script:
        watched = await watch(script, add)
    assert len(watched.results) == 64
    assert len(script.requests[1].messages[1].calls) == 64
    assert "Only the first 64 of your 200 calls" in told(script)[-1]


async def test_a_long_result_is_cut_with_a_statement() -> None:
    @tool
    async def long() -> str:
        """Long."""
        return "x" * 1_000

    async with Script([call("long")], [text("ok")]) as script:
        await watch(script, long, limits=Limits(result_characters=200))
    (result,) = told(script)
    assert len(result) <= 200
    kept = result.index("\n[Cut")
    assert f"{1_000 - kept} of 1000 characters are left out" in result


async def test_a_result_that_is_an_error_stays_one() -> None:
    @tool
    async def look() -> ToolResult:
        """Look."""
        return ToolResult("No such page.", is_error=True)

    async with Script([call("look")], [text("ok")]) as script:
        watched = await watch(script, look)
    assert watched.results == [("No such page.", True)]


async def test_a_fault_in_the_middle_keeps_what_arrived() -> None:
    error = BadResponse("The stream broke.", reason="upstream")
    async with Script([text("Half of"), fault(error)]) as script:
        watched = await watch(script)
    assert watched.finished is not None
    assert watched.finished.outcome == "error"
    assert watched.finished.error is error
    assert error.partial == "Half of"
    assert watched.view.text == "Half of"
    assert watched.view.error == "The stream broke."


async def test_a_fault_in_a_later_round_keeps_the_text_of_all() -> None:
    error = BadResponse("Broken.", reason="upstream")
    async with Script([text("One."), call("add", a=1, b=2)], [text("Two"), fault(error)]) as script:
        watched = await watch(script, add)
    assert error.partial == watched.view.text == "One.\n\nTwo"


async def test_nothing_left_to_say_after_a_tool_is_the_end_not_a_fault() -> None:
    empty = BadResponse("It sent nothing.", reason="empty_reply")
    async with Script([text("Noted."), call("add", a=1, b=2)], [fault(empty)]) as script:
        watched = await watch(script, add)
    assert watched.view.outcome == "done"
    assert watched.view.text == "Noted."


async def test_an_empty_first_answer_is_a_fault() -> None:
    empty = BadResponse("It sent nothing.", reason="empty_reply")
    async with Script([fault(empty)]) as script:
        watched = await watch(script)
    assert watched.view.outcome == "error"


async def test_an_unexpected_request_fails_the_test_and_is_no_endpoint_error() -> None:
    script = Script([call("add", a=1, b=2)])
    with pytest.raises(AssertionError, match="request 2 was not expected"):
        await watch(script, add)
    with pytest.raises(AssertionError, match="request 2 was not expected"):
        script.assert_spent()


async def test_the_models_reason_to_stop_is_kept() -> None:
    async with Script([text("And then"), finish("length")]) as script:
        watched = await watch(script)
    assert (watched.view.outcome, watched.view.finish) == ("done", "length")


async def test_white_space_alone_opens_no_block() -> None:
    async with Script(
        [reasoning("\n\n"), text("\n\n"), call("add", a=1, b=2)],
        [reasoning("\n"), text("\n"), text("\nThree.")],
    ) as script:
        watched = await watch(script, add)
    assert [block.kind for block in watched.view.blocks] == ["tool", "text"]
    assert watched.view.text.strip() == "Three."


async def test_text_around_thinking_within_a_round_is_not_parted() -> None:
    async with Script([text("Hel"), reasoning("hm"), text("lo")]) as script:
        watched = await watch(script)
    assert watched.view.text == "Hello"
    assert [block.kind for block in watched.view.blocks] == ["text", "reasoning", "text"]


async def test_an_answer_that_turns_out_to_be_thinking_becomes_thinking() -> None:
    async with Script(
        [text("First, "), text("call."), recast(), call("add", a=1, b=2)],
        [text("why"), recast(), text("Hello")],
    ) as script:
        watched = await watch(script, add)
    assert watched.view.text == "Hello"
    assert watched.view.reasoning == "First, call.\n\nwhy"
    assert script.requests[1].messages[1].text == ""


async def test_text_after_rethinking_is_parted_from_what_was_before_the_call() -> None:
    async with Script(
        [text("One."), call("add", a=1, b=2)],
        [text("why"), recast(), text("Two."), call("add", a=1, b=2)],
        [text("3")],
    ) as script:
        watched = await watch(script, add)
    assert watched.view.text == "One.\n\nTwo.\n\n3"
    assert script.requests[2].messages[3].text == "Two."


async def test_calls_being_written_are_a_status_that_is_cleared() -> None:
    calls = [call("add", a=1, b=2)] * 2 + [call(name) for name in "bcde"]
    async with Script(calls, [text("3")]) as script:
        watched = await watch(script, add)
    lines = [event.text for event in watched.events if isinstance(event, Status)]
    assert lines == [
        "Calling add",
        "Calling add, b",
        "Calling add, b, c",
        "Calling add, b, c and 1 more",
        "Calling add, b, c and 2 more",
        "",
    ]
    begun = watched.kinds.index("tool_started")
    assert "status" not in watched.kinds[begun:], "the line is cleared before the tools run"


async def test_only_what_came_since_the_last_thinking_is_recast() -> None:
    async with Script([text("a"), reasoning("b"), text("c"), recast(), text("d")]) as script:
        watched = await watch(script)
    assert watched.view.text == "ad"
    assert watched.view.reasoning == "b\n\nc"


async def test_a_continued_reply_goes_on_in_number_and_text() -> None:
    before = ReplyView(
        number=7,
        blocks=(ReasoningBlock("hm", 1.0), TextBlock("The quick bro", 0)),
        text="The quick bro",
    )
    request = Request("script", (Message("user", "?"), Message("assistant", "The quick bro")))
    async with Script([text("wn fox"), call("add", a=1, b=2)], [text("Three.")]) as script:
        watched = await watch(script, add, start=before, request=request)
    assert watched.events[0].number == 8
    assert watched.view.text == "The quick brown fox\n\nThree."
    assert [block.kind for block in watched.view.blocks] == ["reasoning", "text", "tool", "text"]
    assert [(m.role, m.text) for m in script.requests[1].messages[:2]] == [
        ("user", "?"),
        ("assistant", "The quick brown fox"),
    ]


async def test_a_continued_reply_that_rethinks_keeps_what_was_there_before() -> None:
    before = ReplyView(number=3, blocks=(TextBlock("Kept ", 0),), text="Kept ")
    async with Script([text("thought"), recast(), text("answer")]) as script:
        watched = await watch(script, start=before)
    assert watched.view.text == "Kept answer"
    assert watched.view.reasoning == "thought"


@pytest.mark.parametrize("bound", ["rounds", "calls_at_once", "result_characters"])
def test_limits_leave_room_for_a_reply(bound: str) -> None:
    with pytest.raises(ValueError, match=f"{bound} must be at least 1"):
        Limits(**{bound: 0})


async def test_unfinished_blocks_of_a_view_are_those_that_run() -> None:
    async with Script([call("add", a=1, b=2)], [text("3")]) as script:
        watched = await watch(script, add)
    at = watched.kinds.index("tool_started")
    block = fold(watched.events[: at + 1]).blocks[-1]
    assert isinstance(block, ToolBlock)
    assert block.result is None
