"""What a server refuses becomes a typed error, one sentence that a person can act on."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lembas_core.endpoints.faults import Faults
from lembas_core.endpoints.waits import LONGEST_WAIT, retry_after
from lembas_core.errors import (
    BadResponse,
    ContentFiltered,
    ContextExceeded,
    EndpointError,
    ModelMissing,
    RateLimited,
    Unauthorised,
)

KEY = "sk-do-not-tell-0123456789"
WHERE = "http://host:8080/v1"
FAULTS = Faults(WHERE, [KEY])


def fault(status: int, body: Any = b"", **headers: str) -> EndpointError:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return FAULTS.status(status, headers, raw, model="m", path="/v1/chat/completions")


OVERFLOWS = {
    "OpenAI": (
        400,
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        (8192, 9000),
    ),
    "OpenAI, new": (400, "Your input exceeds the context window of this model.", (None, None)),
    "OpenAI, minute": (
        429,
        "Request too large for gpt-x in organization o on tokens per min (TPM): Limit 30000, Requested 43000."
        " The input or output tokens must be reduced in order to run successfully.",
        (None, 43000),
    ),
    "vLLM": (
        400,
        "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens.",
        (16384, 122946),
    ),
    "vLLM, prompt": (
        400,
        "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
        (4096, 5000),
    ),
    "llama.cpp": (
        400,
        "the request exceeds the available context size. try increasing the context size",
        (None, None),
    ),
    "llama.cpp, new": (
        400,
        "request (9000 tokens) exceeds the available context size (8192 tokens)",
        (8192, 9000),
    ),
    "SGLang": (
        400,
        "The input (70000 tokens) is longer than the model's context length (32768 tokens).",
        (32768, 70000),
    ),
    "TGI": (
        422,
        "Input validation: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens",
        (4096, 5000),
    ),
    "TGI, inputs": (422, "`inputs` must have less than 1024 tokens. Given: 2000", (1024, 2000)),
    "Anthropic": (400, "prompt is too long: 200001 tokens > 200000 maximum", (200000, 200001)),
    "Anthropic, limit": (
        400,
        "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length",
        (200000, None),
    ),
    "Groq": (
        413,
        "Request too large for model: Limit 6000, Requested 9000, please reduce your message size.",
        (None, 9000),
    ),
    "Mistral": (
        400,
        "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
        (32768, 40000),
    ),
    "Gemini": (
        400,
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048575).",
        (1048575, 1200000),
    ),
    "Cohere": (
        400,
        "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5072.",
        (4081, 5072),
    ),
    "Bedrock": (400, "Input is too long for requested model.", (None, None)),
    "xAI": (
        400,
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        (131072, 537812),
    ),
    "OpenRouter": (
        400,
        "This endpoint's maximum context length is 32768 tokens. However, you requested about 40321 tokens",
        (32768, 40321),
    ),
    "GitHub": (413, "Request body too large for gpt-x model. Max size: 8000 tokens.", (8000, None)),
    "Copilot": (400, "prompt token count of 134378 exceeds the limit of 128000", (128000, 134378)),
    "Cerebras": (
        400,
        "Please reduce the length of the messages or completion. Current length is 10000 while limit is 8192",
        (8192, 10000),
    ),
    "Moonshot": (400, "Invalid request: Your request exceeded model token limit: 8192", (8192, None)),
    "DashScope": (400, "Range of input length should be [1, 30720]", (30720, None)),
    "LM Studio": (
        400,
        "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with"
        " context length of only 4096 tokens, which is not enough.",
        (4096, None),
    ),
    "Ollama": (400, "the input length exceeds the context length", (None, None)),
    "Ollama, new": (500, "prompt too long; exceeded max context length by 12 tokens", (None, None)),
    "ExLlama": (400, "Prompt length 5000 is greater than max_seq_len 4096", (4096, 5000)),
    "MiniMax": (400, "invalid params, context window exceeds limit (2013)", (None, None)),
    "LiteLLM": (400, "litellm.ContextWindowExceededError: too much", (None, None)),
    "a proxy": (413, "", (None, None)),
}


@pytest.mark.parametrize("server", OVERFLOWS)
def test_a_request_that_is_too_long_is_recognised(server: str) -> None:
    status, message, (window, asked) = OVERFLOWS[server]
    error = fault(status, {"error": {"message": message}})
    assert isinstance(error, ContextExceeded)
    assert (error.window, error.asked) == (window, asked)
    assert "shorten or compact" in str(error)


def test_numbers_of_an_overflow_are_taken_from_its_fields() -> None:
    said = {"error": {"type": "exceed_context_size_error", "n_prompt_tokens": 14429, "n_ctx": 8192}}
    error = fault(400, said)
    assert isinstance(error, ContextExceeded)
    assert (error.window, error.asked) == (8192, 14429)


@pytest.mark.parametrize(
    "message",
    [
        "max_tokens must be at least 1",
        "Invalid value for 'temperature'",
        "The image is too large, maximum 20 MB",
        "max_tokens is too large: 5000. This model supports at most 4096 completion tokens",
        "This model does not support tools",
        "unknown field context_options",
    ],
)
def test_other_refusals_are_no_overflow(message: str) -> None:
    error = fault(400, {"error": {"message": message}})
    assert isinstance(error, BadResponse)
    assert error.reason == "bad_request"
    assert message in str(error)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, {"error": {"message": "Incorrect API key"}}, Unauthorised),
        (403, b"", Unauthorised),
        (402, {"error": {"message": "Insufficient credits"}}, Unauthorised),
        (
            429,
            {"error": {"code": "insufficient_quota", "message": "You exceeded your current quota"}},
            Unauthorised,
        ),
        (429, b"slow down", RateLimited),
        (529, {"error": {"type": "overloaded_error", "message": "Overloaded"}}, RateLimited),
        (
            404,
            {"error": {"message": "The model `x` does not exist", "code": "model_not_found"}},
            ModelMissing,
        ),
        (404, {"error": "model 'x' not found"}, ModelMissing),
        (404, {"error": {"message": 'model "x" not found, try pulling it first'}}, ModelMissing),
        (400, {"error": {"message": "x is not a valid model ID", "code": 400}}, ModelMissing),
        (400, {"error": {"code": "content_filter", "message": "filtered"}}, ContentFiltered),
        (400, {"error": {"message": "triggering Azure OpenAI's content management policy"}}, ContentFiltered),
    ],
)
def test_the_class_tells_what_to_do(status: int, body: Any, kind: type[EndpointError]) -> None:
    assert type(fault(status, body)) is kind


@pytest.mark.parametrize(
    ("status", "body", "reason", "words"),
    [
        (404, b"<html>nginx</html>", "not_found", "/v1"),
        (405, b"", "not_found", "/v1"),
        (400, {"error": {"message": "no"}}, "bad_request", "no"),
        (409, b"", "bad_request", "409"),
        (500, b"<html><h1>oops</h1></html>", "upstream", "500 Internal Server Error"),
        (502, b"<!DOCTYPE html>...", "upstream", "502 Bad Gateway"),
        (503, {"error": {"message": "Loading model", "code": 503}}, "upstream", "Loading model"),
        (504, b"", "upstream", "504"),
        (520, b"", "upstream", "520"),
        (302, b"", "redirect", "302"),
    ],
)
def test_the_reason_tells_how_an_answer_is_bad(status: int, body: Any, reason: str, words: str) -> None:
    error = fault(status, body)
    assert isinstance(error, BadResponse)
    assert (error.reason, error.status) == (reason, status)
    assert words in str(error)
    assert WHERE in str(error)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"error": {"message": "boom"}}, "boom"),
        ({"error": "boom"}, "boom"),
        ({"message": "boom"}, "boom"),
        ({"detail": "boom"}, "boom"),
        ({"detail": [{"loc": ["body", "tools"], "msg": "boom"}]}, "body.tools: boom"),
        ({"detail": {"error": {"message": "boom"}}}, "boom"),
        ({"errors": [{"message": "boom"}, {"message": "bang"}]}, "boom; bang"),
        ([{"error": {"message": "boom"}}], "boom"),
        ({"object": "error", "message": "boom", "code": 40001}, "boom"),
        ({"error": {"message": "Provider returned error", "metadata": {"raw": "boom"}}}, "error (boom)"),
        ({"title": "boom", "status": 400}, "boom"),
        (b"boom", "boom"),
        (b"\x1b[31mboom\x1b[0m\r\n\r\n\tbang", "boom [0m bang"),
    ],
)
def test_the_message_is_found_whatever_its_shape(body: Any, message: str) -> None:
    assert message in str(fault(400, body))


def test_an_error_in_a_stream_needs_no_status() -> None:
    assert type(FAULTS.told({"error": "model 'm' not found"}, model="m")) is ModelMissing
    assert type(FAULTS.told({"error": "prompt is too long: 9 tokens > 8 maximum"})) is ContextExceeded
    assert type(FAULTS.told({"error": {"type": "authentication_error"}})) is Unauthorised


def test_a_sentence_never_holds_the_key_nor_markup() -> None:
    said = (
        f"Incorrect key {KEY} and Bearer {KEY}x or sk-proj-abcdefghijklmnop <script>alert(1)</script>\n\u202e"
    )
    sentence = str(fault(401, {"error": {"message": said}}))
    assert KEY not in sentence
    assert "abcdefghijklmnop" not in sentence
    assert "<script>" not in sentence
    assert "\u202e" not in sentence
    assert "\n" not in sentence


def test_a_prompt_that_an_error_repeats_decides_nothing() -> None:
    echo = "my maximum context length is 5 tokens, model not found, insufficient_quota"
    error = fault(422, {"detail": [{"loc": ["body"], "msg": "no such field", "input": echo}]})
    assert isinstance(error, BadResponse)
    assert error.reason == "bad_request"


def test_a_long_message_is_cut() -> None:
    assert len(str(fault(400, {"error": {"message": "x" * 100_000}}))) < 600


def test_without_a_key_a_401_asks_for_one() -> None:
    error = Faults(WHERE, keyed=False).status(401, {}, b"")
    assert "wants a key" in str(error)


def test_a_redirect_says_where_to_without_what_is_secret() -> None:
    error = fault(301, location="https://user:pass@other/v1/chat/completions?token=1")
    assert "https://other/v1/chat/completions" in str(error)
    assert "pass" not in str(error)
    assert "token" not in str(error)


@pytest.mark.parametrize(
    ("headers", "said", "wait"),
    [
        ({}, "", None),
        ({"retry-after": "7"}, "", 7),
        ({"retry-after": "1.5"}, "", 1.5),
        ({"retry-after": "0"}, "", 0),
        ({"retry-after": "-5"}, "", 0),
        ({"retry-after": "99999999999"}, "", LONGEST_WAIT),
        ({"retry-after": "1e400"}, "", LONGEST_WAIT),
        ({"retry-after": "nan"}, "", None),
        ({"retry-after": "soon"}, "", None),
        ({"retry-after-ms": "250"}, "", 0.25),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:20 GMT", "date": "Mon, 30 Nov 2026 12:00:00 GMT"}, "", 20),
        ({"retry-after": "Mon, 30 Nov 2026 11:00:00 GMT", "date": "Mon, 30 Nov 2026 12:00:00 GMT"}, "", 0),
        ({"retry-after": "Mon, 30 Nov 2998 12:00:00 GMT"}, "", LONGEST_WAIT),
        ({"retry-after": "Mon, 99 Nov 2026 12:00:00 GMT"}, "", None),
        ({}, "Please try again in 7.66s.", 7.66),
        ({}, "Please try again in 1m2.5s.", 62.5),
        ({}, "Please try again in 300ms.", 0.3),
        ({}, '{"retryDelay": "13s"}', 13),
    ],
)
def test_the_wait_is_understood_and_capped(headers: dict[str, str], said: str, wait: float | None) -> None:
    assert retry_after(headers, said) == wait


def test_a_busy_server_that_names_a_wait_is_waited_for() -> None:
    error = fault(503, b"<html>maintenance</html>", **{"retry-after": "20"})
    assert isinstance(error, RateLimited)
    assert error.retry_after == 20


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["error", "message", "detail", "code", "type", "loc"]), inner)
    ),
    max_leaves=10,
)


@given(
    status=st.integers(300, 599),
    said=JSON,
    headers=st.dictionaries(st.sampled_from(["retry-after"]), st.text()),
)
def test_no_refusal_breaks_us(status: int, said: Any, headers: dict[str, str]) -> None:
    raw = json.dumps(said).encode()
    assert WHERE in str(FAULTS.status(status, headers, raw, model="m", path="/v1/models"))
    assert WHERE in str(FAULTS.told(said))


@pytest.mark.parametrize(
    ("where", "hinted"), [("http://x/v1", False), ("http://x/v1/", False), ("http://x", True)]
)
def test_an_address_that_ends_in_v1_is_not_told_to(where: str, hinted: bool) -> None:
    faults = Faults(where)
    for path in ("/v1/chat/completions", "/v1/models"):
        assert ("/v1)" in str(faults.status(404, {}, b"", path=path))) == hinted
    assert ("/v1)" in str(faults.not_an_api())) == hinted
