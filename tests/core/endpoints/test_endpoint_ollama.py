"""Ollama is spoken to in its own words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lembas_core.endpoints import Endpoint
from lembas_core.endpoints.faults import Faults
from lembas_core.endpoints.ollama import OllamaDecoder, encode
from lembas_core.endpoints.values import (
    EndPart,
    Image,
    Message,
    Parameters,
    Request,
    ToolCall,
    ToolSpec,
    Usage,
)
from lembas_core.errors import BadResponse, ContextExceeded, EndpointError, ModelMissing, Unreachable
from support.replaying import Answer, Folded, fold, replay

HELLO = (Message("user", "hi"),)


def lines(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def said(content: str = "", **more: Any) -> dict[str, Any]:
    return {"model": "m", "message": {"role": "assistant", "content": content, **more}, "done": False}


def ending(reason: str = "stop", **counts: int) -> dict[str, Any]:
    return {**said(), "done": True, "done_reason": reason, **counts}


def answer(value: Any, status: int = 200) -> Answer:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return Answer((body,), status, {"Content-Type": "application/json", "Content-Length": str(len(body))})


def decoded(*pieces: bytes) -> Folded:
    decoder = OllamaDecoder(Faults("http://host"), model="m")
    parts = [part for piece in pieces for part in decoder.feed(piece)]
    return fold([*parts, *decoder.finish()])


def end_of(folded: Folded) -> EndPart:
    assert folded.end is not None
    return folded.end


def test_a_turn_goes_out_whole_and_is_never_cut_silently() -> None:
    assert encode(Request("m", HELLO)) == {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "stream": True,
        "truncate": False,
    }


def test_parameters_become_options() -> None:
    extra = {"num_ctx": 8192, "top_k": 5, "keep_alive": "10m", "options": {"min_p": 0.1}}
    parameters = Parameters(temperature=0.5, top_p=0.9, max_tokens=7, seed=1, stop=("x",), extra=extra)
    body = encode(Request("m", HELLO, parameters=parameters))
    assert body["options"] == {
        "temperature": 0.5,
        "top_p": 0.9,
        "num_predict": 7,
        "seed": 1,
        "stop": ["x"],
        "num_ctx": 8192,
        "top_k": 5,
        "min_p": 0.1,
    }
    assert body["keep_alive"] == "10m"


@pytest.mark.parametrize(
    ("effort", "think"), [(None, None), ("high", "high"), ("none", False), ("on", True), ("minimal", True)]
)
def test_effort_is_what_it_calls_think(effort: str | None, think: Any) -> None:
    assert encode(Request("m", HELLO, parameters=Parameters(effort=effort))).get("think") == think


def test_a_schema_is_its_format() -> None:
    body = encode(Request("m", HELLO, parameters=Parameters(schema={"type": "object"})))
    assert body["format"] == {"type": "object"}


def test_images_calls_and_results_take_its_shape() -> None:
    messages = (
        Message("user", "what?", images=(Image("image/png", b"\x89PNG"),)),
        Message(
            "assistant", "", calls=(ToolCall("a", "one", '{"t":1}'), ToolCall("b", "two", "{", problem="x"))
        ),
        Message("tool", "done", call_id="a", tool_name="one"),
    )
    body = encode(Request("m", messages, (ToolSpec("one", "Does it.", {"type": "object"}),)))
    assert body["messages"] == [
        {"role": "user", "content": "what?", "images": ["iVBORw=="]},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"id": "a", "function": {"name": "one", "arguments": {"t": 1}}},
                {"id": "b", "function": {"name": "two", "arguments": {}}},
            ],
        },
        {"role": "tool", "content": "done", "tool_name": "one", "tool_call_id": "a"},
    ]
    assert body["tools"][0]["function"]["name"] == "one"


def test_a_reply_comes_with_thinking_and_usage() -> None:
    body = lines(said(thinking="wh"), said(thinking="y"), said("Hel"), said("lo"))
    folded = decoded(body, lines(ending(prompt_eval_count=9, eval_count=4)))
    end = end_of(folded)
    assert (folded.text, folded.reasoning) == ("Hello", "why")
    assert (end.finish, end.usage) == ("stop", Usage(9, 4))


def test_counts_that_are_missing_are_unknown() -> None:
    assert end_of(decoded(lines(said("Hello"), ending()))).usage is None


def test_a_model_that_thinks_in_its_answer_is_understood() -> None:
    folded = decoded(lines(said("<think>why</think>Hello"), ending()))
    assert (folded.text, folded.reasoning) == ("Hello", "why")


def test_calls_come_whole_and_get_ids() -> None:
    calls = [{"function": {"index": i, "name": "one", "arguments": {"t": i}}} for i in range(2)]
    end = end_of(decoded(lines(said(tool_calls=calls[:1]), said(tool_calls=calls[1:]), ending())))
    assert end.finish == "tool_calls"
    assert [(call.name, json.loads(call.arguments)) for call in end.calls] == [
        ("one", {"t": 0}),
        ("one", {"t": 1}),
    ]
    assert len({call.id for call in end.calls} - {""}) == 2


@pytest.mark.parametrize(("reason", "finish"), [("length", "length"), ("load", "stop"), ("stop", "stop")])
def test_the_reason_of_the_end_is_understood(reason: str, finish: str) -> None:
    assert end_of(decoded(lines(said("Hello"), ending(reason)))).finish == finish


def test_an_error_in_the_middle_keeps_what_came() -> None:
    folded = decoded(lines(said("Hello"), {"error": "model runner has unexpectedly stopped"}))
    assert folded.text == "Hello"
    assert end_of(folded).finish == "error"
    assert "unexpectedly stopped" in str(end_of(folded).error)


def test_a_stream_that_breaks_off_is_incomplete() -> None:
    folded = decoded(lines(said("Hello")) + b'{"message":{"con')
    assert (folded.text, end_of(folded).finish) == ("Hello", "incomplete")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", BadResponse),
        (b"<html>", BadResponse),
        (lines(ending()), BadResponse),
        (lines(said()), Unreachable),
        (lines({"error": "boom"}), BadResponse),
    ],
)
def test_a_reply_of_nothing_is_a_fault(body: bytes, kind: type[EndpointError]) -> None:
    with pytest.raises(kind):
        decoded(body)


VERSION = answer({"version": "0.12.0"})


async def test_it_is_detected_once_and_spoken_to_below_api() -> None:
    stream = Answer((lines(said("Hello"), ending()),), headers={"Content-Type": "application/x-ndjson"})
    async with replay(VERSION, stream) as server:
        endpoint = Endpoint(server.url)
        for _ in range(2):
            async with endpoint.model("m").stream(Request("m", HELLO)) as parts:
                assert fold([part async for part in parts]).text == "Hello"
        paths = [server.path(index) for index in range(len(server.requests))]
    assert paths == ["GET /api/version", "POST /api/chat", "POST /api/chat"]
    assert endpoint.kind == "ollama"
    assert endpoint.url == f"http://127.0.0.1:{server.port}"


@pytest.mark.parametrize(
    "probe",
    [
        answer({"detail": "Not Found"}, 404),
        answer(b"<html>", 200),
        answer({"version": "0.6", "deployment_id": ""}),
        answer({"error": "Unexpected endpoint"}),
        answer([]),
    ],
)
async def test_every_other_server_is_spoken_to_as_openai(probe: Answer) -> None:
    async with replay(probe, answer({"data": [{"id": "a"}]})) as server:
        endpoint = Endpoint(server.url)
        assert [model.name for model in await endpoint.models()] == ["a"]
        assert [model.name for model in await endpoint.models()] == ["a"]
    assert endpoint.kind == "openai"
    assert len(server.requests) == 3


async def test_a_server_that_is_still_starting_is_asked_again() -> None:
    async with replay(answer(b"", 503), answer({"data": []}), VERSION, answer({"models": []})) as server:
        endpoint = Endpoint(server.url)
        assert await endpoint.models() == ()
        assert endpoint.kind == "auto"
        assert await endpoint.models() == ()
    assert endpoint.kind == "ollama"


async def test_its_models_are_listed_with_what_it_tells() -> None:
    tags = {
        "models": [
            {
                "name": "a:7b",
                "model": "a:7b",
                "details": {"family": "qwen3"},
                "capabilities": ["completion", "tools"],
            },
            {"name": "b:latest", "model": "b:latest"},
        ]
    }
    async with replay(answer(tags)) as server:
        first, second = await Endpoint(server.url, kind="ollama").models()
    assert (first.name, first.tools, first.vision, first.details["family"]) == ("a:7b", True, False, "qwen3")
    assert (second.name, second.tools, second.context_window) == ("b:latest", None, None)


SHOW: dict[str, Any] = {
    "capabilities": ["completion", "tools", "thinking"],
    "parameters": 'stop "x"\nnum_ctx                        16384\n',
    "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40960},
    "details": {"family": "qwen3", "parameter_size": "8B"},
}


@pytest.mark.parametrize(
    ("show", "state", "window", "source"),
    [
        (SHOW, {"models": [{"name": "m", "model": "m", "context_length": 4096}]}, 4096, "loaded"),
        (SHOW, {"models": [{"name": "other", "model": "other", "context_length": 4096}]}, 16384, "modelfile"),
        ({**SHOW, "parameters": ""}, {"models": []}, 40960, "trained"),
        ({**SHOW, "parameters": None}, b"<html>", 40960, "trained"),
        ({"model_info": {}}, {"models": None}, None, None),
    ],
)
async def test_the_window_is_what_is_loaded_then_set_then_trained(
    show: Any, state: Any, window: int | None, source: str | None
) -> None:
    async with replay(answer(show), answer(state)) as server:
        info = await Endpoint(server.url, kind="ollama").describe("m")
        assert server.body(0) == {"model": "m"}
    assert info.context_window == window
    assert info.details.get("window_source") == source


async def test_what_a_model_can_do_is_told() -> None:
    async with replay(answer(SHOW), answer({"models": []})) as server:
        info = await Endpoint(server.url, kind="ollama").describe("m")
    assert (info.tools, info.vision, info.reasoning) == (True, False, True)
    assert info.details["trained_window"] == 40960


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (404, "model 'm' not found", ModelMissing),
        (400, '"m" does not support thinking', BadResponse),
        (400, "m does not support tools", BadResponse),
        (400, "the input length exceeds the context length", ContextExceeded),
        (500, "llama runner process has terminated", BadResponse),
    ],
)
async def test_its_refusals_become_typed_errors(status: int, message: str, kind: type[EndpointError]) -> None:
    async with replay(answer({"error": message}, status)) as server:
        model = Endpoint(server.url, kind="ollama").model("m")
        with pytest.raises(kind) as caught:
            async with model.stream(Request("m", HELLO)):
                pass
    assert type(caught.value) is kind
    assert message in str(caught.value)
