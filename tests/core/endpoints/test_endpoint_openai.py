"""What goes out to OpenAI-compatible servers, and the odd shapes that come back."""

from __future__ import annotations

from typing import Any

import pytest
from lembas_core.endpoints.faults import Faults
from lembas_core.endpoints.openai import OpenAIDecoder, encode, refused
from lembas_core.endpoints.values import (
    CallsPart,
    Finish,
    Image,
    Message,
    Parameters,
    Part,
    Request,
    TextPart,
    ToolCall,
    ToolSpec,
    Usage,
)
from lembas_core.errors import (
    BadResponse,
    ContentFiltered,
    ContextExceeded,
    EndpointError,
    RateLimited,
    Unreachable,
)
from support.replaying import Folded, chunk, done, fold, sse

FAULTS = Faults("http://host/v1")
HELLO = (Message("user", "hi"),)


def decoded(*pieces: bytes) -> list[Part]:
    decoder = OpenAIDecoder(FAULTS)
    parts = [part for piece in pieces for part in decoder.feed(piece)]
    return [*parts, *decoder.finish()]


def reply(*pieces: bytes) -> Folded:
    return fold(decoded(*pieces))


def finish(*pieces: bytes) -> Finish:
    end = reply(*pieces).end
    assert end is not None
    return end.finish


def test_a_plain_turn_stays_a_plain_string() -> None:
    messages = (Message("system", "be brief"), *HELLO, Message("assistant", "yes?"), Message("user", "why"))
    assert encode(Request("m", messages)) == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "yes?"},
            {"role": "user", "content": "why"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_an_image_goes_along_as_a_data_url() -> None:
    body = encode(Request("m", (Message("user", "what?", images=(Image("image/png", b"\x89PNG"),)),)))
    assert body["messages"][0]["content"] == [
        {"type": "text", "text": "what?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
    ]


def test_an_image_needs_no_words() -> None:
    body = encode(Request("m", (Message("user", images=(Image("image/png", b"x"),)),)))
    assert [part["type"] for part in body["messages"][0]["content"]] == ["image_url"]


def test_calls_and_results_go_back() -> None:
    calls = (ToolCall("a", "one", '{"t":1}'), ToolCall("b", "no such tool!", "{", problem="broken"))
    messages = (Message("assistant", "", calls=calls), Message("tool", "done", call_id="a", tool_name="one"))
    body = encode(Request("m", messages))
    assert body["messages"] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "one", "arguments": '{"t":1}'}},
                {"id": "b", "type": "function", "function": {"name": "no_such_tool_", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "done"},
    ]


def test_tools_are_offered_in_their_order() -> None:
    tools = tuple(ToolSpec(name, "Does it.", {"type": "object"}) for name in ("b", "a"))
    body = encode(Request("m", HELLO, tools))
    assert [tool["function"]["name"] for tool in body["tools"]] == ["b", "a"]
    assert "tools" not in encode(Request("m", HELLO))


def test_only_what_is_set_is_sent() -> None:
    parameters = Parameters(temperature=0.0, top_p=0.9, max_tokens=5, seed=1, stop=("x",), extra={"top_k": 3})
    body = encode(Request("m", HELLO, parameters=parameters))
    sent = {key: body[key] for key in ("temperature", "top_p", "max_tokens", "seed", "stop", "top_k")}
    assert sent == {"temperature": 0.0, "top_p": 0.9, "max_tokens": 5, "seed": 1, "stop": ["x"], "top_k": 3}
    assert "reasoning_effort" not in body


def test_effort_is_sent_in_both_places() -> None:
    extra = {"chat_template_kwargs": {"enable_thinking": True}}
    body = encode(Request("m", HELLO, parameters=Parameters(effort="high", extra=extra)))
    assert body["reasoning_effort"] == "high"
    assert body["chat_template_kwargs"] == {"reasoning_effort": "high", "enable_thinking": True}


@pytest.mark.parametrize("closed", [True, False])
def test_a_schema_is_strict_where_it_can_be(closed: bool) -> None:
    schema = {"type": "object", **({"additionalProperties": False} if closed else {})}
    wanted = encode(Request("m", HELLO, parameters=Parameters(schema=schema)))["response_format"]
    assert wanted["json_schema"]["schema"] == schema
    assert ("strict" in wanted["json_schema"]) is closed


def test_progress_is_asked_for_only_where_it_is_known() -> None:
    assert "return_progress" not in encode(Request("m", HELLO))
    assert encode(Request("m", HELLO), progress=True)["return_progress"] is True


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ("Unrecognized request argument supplied: chat_template_kwargs", "chat_template_kwargs"),
        ("body.stream_options: extra fields not permitted", "stream_options"),
        ("'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "max_tokens"),
        ("'max_tokens' or 'max_completion_tokens' is too large: 4096.", None),
        ("body.tools: extra fields not permitted", None),
    ],
)
def test_a_field_that_is_refused_can_be_left_out(said: str, field: str | None) -> None:
    request = Request("m", HELLO, parameters=Parameters(max_tokens=9, effort="low"))
    assert refused(said, encode(request)) == field
    if field is not None:
        body = encode(request, without=[field])
        assert field not in body
        assert body.get("max_completion_tokens") == (9 if field == "max_tokens" else None)


def test_one_read_gives_one_part() -> None:
    parts = decoded(sse(*map(chunk, "Hello")), done())
    assert parts[0] == TextPart("Hello")
    assert len(parts) == 2


@pytest.mark.parametrize(
    "ending",
    [
        "data: [DONE]\n\n",
        "data:[DONE]\n\n",
        'data: "[DONE]"\n\n',
        "data: [done]\n\n",
        "data: DONE\n\n",
        "data: '[DONE]'\n",
    ],
)
def test_the_sentinel_has_many_spellings(ending: str) -> None:
    assert finish(sse(chunk("Hello")), ending.encode(), sse(chunk("GHOST"))) == "stop"


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("stop", "stop"),
        ("STOP", "stop"),
        ("end_turn", "stop"),
        ("length", "length"),
        ("max_tokens", "length"),
        ("MAX_TOKENS", "length"),
        ("content_filter", "content_filter"),
        ("SAFETY", "content_filter"),
        ("tool_calls", "stop"),
        (None, "incomplete"),
        ("", "incomplete"),
        ("null", "incomplete"),
        (1, "incomplete"),
    ],
)
def test_the_reason_of_the_end_is_understood(reason: Any, expected: str) -> None:
    assert finish(sse(chunk("Hello", finish=reason))) == expected


CALL = {"index": 0, "id": "a", "function": {"name": "one", "arguments": "{}"}}


@pytest.mark.parametrize("reason", ["stop", "tool_calls", "function_call"])
def test_calls_count_whatever_the_reason(reason: str) -> None:
    end = reply(sse(chunk("Text before.", tool_calls=[CALL])), done(reason)).end
    assert end is not None
    assert (end.finish, [call.name for call in end.calls]) == ("tool_calls", ["one"])


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_calls_that_were_cut_short_are_not_given(reason: Finish) -> None:
    end = reply(sse(chunk("Text before.", tool_calls=[CALL])), done(reason)).end
    assert end is not None
    assert (end.finish, end.calls) == (reason, ())


def test_calls_show_as_soon_as_their_name_is_known() -> None:
    parts = decoded(
        sse(chunk(tool_calls=[CALL])), sse(chunk(tool_calls=[{"index": 0, "function": {"arguments": ""}}]))
    )
    assert parts[0] == CallsPart(("one",))
    assert len(parts) == 2


@pytest.mark.parametrize(
    ("body", "text", "reasoning"),
    [
        (b'{"choices":[{"message":{"content":"Hello"},"finish_reason":"stop"}]}', "Hello", ""),
        (
            b'{\n "choices": [\n  {"message": {"content": "Hello"},\n "finish_reason": "stop"}\n ]\n}\n',
            "Hello",
            "",
        ),
        (sse({"choices": [{"message": {"content": "Hello"}}]}), "Hello", ""),
        (sse({"choices": [{"delta": None, "message": None, "text": "Hello"}]}), "Hello", ""),
        (sse(chunk(content=None, refusal="I will not.")), "I will not.", ""),
        (sse({"choices": [{"delta": {"content": [{"type": "text", "text": "Hello"}]}}]}), "Hello", ""),
        (
            sse(
                {
                    "choices": [
                        {
                            "delta": {
                                "content": [
                                    {"type": "thinking", "thinking": [{"type": "text", "text": "why"}]},
                                    {"type": "text", "text": "Hello"},
                                ]
                            }
                        }
                    ]
                }
            ),
            "Hello",
            "why",
        ),
        (sse(chunk(reasoning="why"), chunk("Hello")), "Hello", "why"),
        (sse(chunk(thinking="why"), chunk("Hello")), "Hello", "why"),
        (sse(chunk(reasoning_content={"a": 1}), chunk("Hello")), "Hello", ""),
        (sse(chunk(reasoning_details=[{"summary": "why"}, 1]), chunk("\n\nHello")), "Hello", "why"),
        (sse({"choices": None}, {"choices": {}}, {"choices": ["x", 1]}, chunk("Hello")), "Hello", ""),
        (b"data: " + b"\ndata: ".join(sse(chunk(c)).strip()[6:] for c in "Hello") + b"\n", "Hello", ""),
        (sse(chunk("Hel\u2028l\u0085o")), "Hel\u2028l\u0085o", ""),
        (
            sse(
                '{"choices":[{"delta":{"content":"\\ud83e"}}]}',
                '{"choices":[{"delta":{"content":"\\udddd"}}]}',
            ),
            "🧝",
            "",
        ),
        (sse({**chunk("Hello"), "error": None}), "Hello", ""),
        (sse({**chunk("Hello"), "usage": None}), "Hello", ""),
    ],
)
def test_a_reply_is_read_in_every_shape(body: bytes, text: str, reasoning: str) -> None:
    folded = reply(body)
    assert (folded.text, folded.reasoning) == (text, reasoning)


@pytest.mark.parametrize(
    ("said", "usage"),
    [
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 4,
                "prompt_tokens_details": {"cached_tokens": 8},
                "completion_tokens_details": {"reasoning_tokens": 3},
            },
            Usage(9, 4, 8, 3),
        ),
        ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 8}, Usage(9, None, 8, None)),
        ({"prompt_tokens": 9.0, "completion_tokens": 0}, Usage(9, 0)),
        ({"prompt_tokens": "9", "completion_tokens": True}, None),
        ({"prompt_tokens": -1, "completion_tokens": 2**31}, None),
        ({"prompt_tokens": 9, "prompt_tokens_details": None}, Usage(9)),
        ({}, None),
        ([], None),
    ],
)
def test_usage_is_what_was_told_and_nothing_else(said: Any, usage: Usage | None) -> None:
    end = reply(sse({**chunk("Hello"), "usage": said}), done()).end
    assert end is not None
    assert end.usage == usage


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ({"error": "boom"}, BadResponse),
        ({"error": {"message": "boom", "code": 429}}, RateLimited),
        ({"error": {"message": "boom", "type": "overloaded_error"}}, RateLimited),
        ({"error": {"message": "boom", "type": "exceed_context_size_error", "n_ctx": 5}}, ContextExceeded),
        ({"type": "error", "error": {"type": "api_error", "message": "boom"}}, BadResponse),
        ([{"error": {"message": "boom"}}], BadResponse),
        ({"choices": [{"delta": {}, "finish_reason": "error", "error": {"message": "boom"}}]}, BadResponse),
        ({"error": {"message": "boom"}, "choices": [{"delta": {"content": ""}}]}, BadResponse),
    ],
)
def test_an_error_within_the_stream_ends_it_and_keeps_what_came(
    event: Any, kind: type[EndpointError]
) -> None:
    folded = reply(sse(chunk("Hello"), event, chunk("GHOST")))
    assert folded.end is not None
    assert (folded.text, folded.end.finish) == ("Hello", "error")
    assert type(folded.end.error) is kind
    assert "boom" in str(folded.end.error)
    with pytest.raises(kind, match="boom"):
        reply(sse(event))


@pytest.mark.parametrize(
    ("body", "kind", "reason"),
    [
        (b"", BadResponse, "empty_reply"),
        (b"\n\n", BadResponse, "empty_reply"),
        (b": ping\n\n: ping\n\n", BadResponse, "empty_reply"),
        (b"data: [DONE]\n\n", BadResponse, "empty_reply"),
        (sse(chunk(role="assistant"), chunk(finish="stop"), "[DONE]"), BadResponse, "empty_reply"),
        (sse({"choices": [], "usage": {"prompt_tokens": 1}}, "[DONE]"), BadResponse, "empty_reply"),
        (sse(chunk(role="assistant")), Unreachable, None),
        (b"data: what\n\ndata: ever\n\n", BadResponse, "protocol"),
        (b"hello, world", BadResponse, "not_an_api"),
        (b'{"status": "ok"}', BadResponse, "not_an_api"),
        (b"<!doctype html><title>login</title>", BadResponse, "not_an_api"),
        (sse(chunk(finish="content_filter")), ContentFiltered, None),
    ],
)
def test_a_reply_of_nothing_is_a_fault(body: bytes, kind: type[EndpointError], reason: str | None) -> None:
    with pytest.raises(kind, match="http://host/v1") as caught:
        reply(body)
    assert getattr(caught.value, "reason", None) == reason


def test_a_budget_that_is_spent_before_the_first_word_is_no_fault() -> None:
    assert finish(sse(chunk(finish="length"), "[DONE]")) == "length"
