"""Every recorded answer of a model server has its right outcome, over loopback, through `Endpoint`."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import anyio
import pytest
from lembas_core.endpoints import Endpoint, Timeouts
from lembas_core.endpoints.values import EndPart, Message, Part, Request, TextPart, ToolCall
from lembas_core.errors import (
    BadResponse,
    ContextExceeded,
    EndpointError,
    RateLimited,
    Unauthorised,
)
from support.replaying import Case, Folded, fold, load_cases, replay

CASES = load_cases(Path(__file__).with_name("cases.jsonl"))
KEY = "sk-never-to-be-seen-0123456789"
QUICK = Timeouts(connect=5, first=5, silence=0.2)
HELLO = Request("m", (Message("user", "hi"),))

CLASSES: dict[str, type[EndpointError]] = {
    "auth": Unauthorised,
    "context_length": ContextExceeded,
    "rate_limited": RateLimited,
}


def cases(*outcomes: str) -> Any:
    chosen = [case for case in CASES if case.expect["outcome"] in outcomes]
    return pytest.mark.parametrize("case", chosen, ids=[case.id for case in chosen])


async def streamed(case: Case) -> tuple[list[Part], list[tuple[bytes, bytes]]]:
    """The parts of a case's reply, and what its server was asked."""
    async with replay(case.answer) as server:
        endpoint = Endpoint(server.url, key=KEY, kind="openai", timeouts=QUICK)
        async with endpoint.model("m").stream(HELLO) as stream:
            return [part async for part in stream], server.requests


def ended(folded: Folded) -> EndPart:
    assert folded.end is not None
    return folded.end


def test_every_kind_of_outcome_is_known() -> None:
    known = {"reply", "error", "tool_calls", "tool_error", "capped", "models"}
    either = {"tool_error_or_last_wins", "tool_calls_or_error", "reply_or_error"}
    assert {case.expect["outcome"] for case in CASES} == known | either


@cases("reply", "reply_or_error")
async def test_a_reply_is_kept_whole(case: Case) -> None:
    expect = case.expect
    parts, _ = await streamed(case)
    folded = fold(parts)
    if "content_length" in expect:
        assert len(folded.text) == expect["content_length"]
    elif "content" in expect and "content_has" not in expect:
        assert folded.text == expect["content"]
    for piece in expect.get("content_has", ()):
        assert piece in folded.text
    for piece in expect.get("not_contains", ()):
        assert piece not in folded.text + folded.reasoning
    if "reasoning" in expect:
        assert folded.reasoning == expect["reasoning"]
    if "reasoning_any" in expect:
        assert folded.reasoning in expect["reasoning_any"]
    assert "\0" not in folded.text
    folded.text.encode()


@cases("reply")
async def test_a_reply_says_how_it_ended(case: Case) -> None:
    parts, _ = await streamed(case)
    end = ended(fold(parts))
    assert end.finish == case.expect["finish"]
    # Nothing that this layer hands to the engine runs: neither a call in words nor a call cut short.
    assert end.calls == ()
    if "usage" in case.expect:
        assert end.usage is not None
        assert end.usage.prompt_tokens == case.expect["usage"]["prompt_tokens"]
        assert end.usage.completion_tokens == case.expect["usage"]["completion_tokens"]
    if "error_contains" in case.expect:
        assert case.expect["error_contains"] in str(end.error)
    if end.finish in ("timeout", "error"):
        assert end.error is not None


@cases("reply")
async def test_no_letter_of_a_tagged_reply_is_lost(case: Case) -> None:
    if not case.expect.get("no_text_lost"):
        return
    parts, _ = await streamed(case)
    folded = fold(parts)
    sent = json.loads(case.body.split(b"\n")[0][6:])["choices"][0]["delta"]["content"]
    for word in sent.replace("<", " <").replace(">", "> ").split():
        if not word.endswith("think>") and not word.endswith("thinking>"):
            assert word in folded.text + folded.reasoning


@cases("error")
async def test_a_fault_is_a_typed_sentence(case: Case) -> None:
    async with replay(case.answer) as server:
        endpoint = Endpoint(server.url, key=KEY, kind="openai", timeouts=QUICK)
        with pytest.raises(EndpointError) as caught:
            if case.request == "models":
                await endpoint.models()
            async with endpoint.model("m").stream(HELLO) as stream:
                assert [part async for part in stream] == []
        assert len(server.requests) == 1
    kind, error = case.expect["error_kind"], caught.value
    assert type(error) is CLASSES.get(kind, BadResponse)
    if isinstance(error, BadResponse):
        assert error.reason == kind
    check_sentence(str(error), server.url, case.expect)
    if isinstance(error, RateLimited):
        assert error.retry_after == case.expect.get("retry_after_s", 300)


def check_sentence(sentence: str, url: str, expect: Any) -> None:
    assert url in sentence
    assert "\n" not in sentence
    assert "<" not in sentence
    assert KEY not in sentence
    assert expect.get("error_contains", "") in sentence
    assert expect.get("hint_contains", "") in sentence


@cases("tool_calls", "tool_calls_or_error")
async def test_tool_calls_are_put_together(case: Case) -> None:
    parts, _ = await streamed(case)
    end = ended(fold(parts))
    assert end.finish == "tool_calls"
    expected = case.expect.get("calls", [{"name": "one", "arguments": {}}])
    assert [{"name": c.name, "arguments": json.loads(c.arguments)} for c in end.calls] == expected
    assert [call.problem for call in end.calls] == [""] * len(end.calls)
    assert all(call.id for call in end.calls)
    assert len({call.id for call in end.calls}) == len(end.calls)


@cases("tool_error", "tool_error_or_last_wins")
async def test_a_call_that_cannot_be_run_says_why(case: Case) -> None:
    # The engine answers the model with `problem` and runs nothing.
    parts, _ = await streamed(case)
    (call,) = ended(fold(parts)).calls
    assert call.problem


@cases("capped")
async def test_too_many_calls_are_cut_and_the_last_one_says_so(case: Case) -> None:
    parts, _ = await streamed(case)
    calls: tuple[ToolCall, ...] = ended(fold(parts)).calls
    assert len(calls) == case.expect["max_calls"]
    assert [bool(call.problem) for call in calls] == [False] * 63 + [True]
    assert "136" in calls[-1].problem


@cases("models")
async def test_models_are_listed_in_order_each_once(case: Case) -> None:
    async with replay(case.answer) as server:
        models = await Endpoint(server.url, kind="openai").models()
        assert len(server.requests) == 1
    allowed = set(case.expect.get("allow_extra", ()))
    assert [model.name for model in models if model.name not in allowed] == case.expect["ids"]


def by_id(name: str) -> Case:
    return next(case for case in CASES if case.id == name)


async def test_a_line_without_end_takes_little_memory() -> None:
    case = by_id("EP-023")
    async with replay(case.answer) as server:
        tracemalloc.start()
        endpoint = Endpoint(server.url, kind="openai", timeouts=QUICK)
        with pytest.raises(BadResponse, match="longer than"):
            async with endpoint.model("m").stream(HELLO) as stream:
                assert [part async for part in stream] == []
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < case.expect["max_memory_mb"] << 20


async def test_stop_ends_a_silent_stream_at_once() -> None:
    case = by_id("EP-026")
    async with replay(case.answer) as server:
        with anyio.CancelScope() as scope:
            async with Endpoint(server.url, kind="openai").model("m").stream(HELLO) as stream:
                async for part in stream:
                    if isinstance(part, TextPart):
                        scope.cancel()
        assert scope.cancelled_caught
        with anyio.fail_after(5):
            await server.left.wait()
