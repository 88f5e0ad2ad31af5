"""However the bytes of a reply are cut into reads, the same comes out."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lembas_core.endpoints.decoding import ReplyDecoder
from lembas_core.endpoints.faults import Faults
from lembas_core.endpoints.ollama import OllamaDecoder
from lembas_core.endpoints.openai import OpenAIDecoder
from lembas_core.endpoints.values import Part
from lembas_core.errors import EndpointError
from support.replaying import Case, chunk, done, fold, load_cases, sse

CASES = [
    case
    for case in load_cases(Path(__file__).with_name("cases.jsonl"))
    if case.request == "chat_stream"
    and case.answer.status == 200
    and len(case.body) < 100_000
    and "Content-Encoding" not in case.answer.headers
]
FAULTS = Faults("http://host/v1")


def outcome(decoder: ReplyDecoder, pieces: Iterable[bytes]) -> Any:
    """What a reply comes to, as `PartStream` drives a decoder."""
    parts: list[Part] = []
    try:
        for piece in pieces:
            parts += decoder.feed(piece)
            if decoder.done:
                break
        parts += decoder.finish()
    except EndpointError as error:
        assert parts == []
        return type(error), str(error)
    return fold(parts).summary


def cut(body: bytes, places: Iterable[int]) -> list[bytes]:
    edges = [0, *sorted({place % (len(body) + 1) for place in places}), len(body)]
    return [body[start:end] for start, end in pairwise(edges)]


CUTS = st.lists(st.integers(min_value=0, max_value=1 << 20), max_size=12)


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(places=CUTS)
def test_a_recorded_reply_is_the_same_however_it_is_cut(case: Case, places: list[int]) -> None:
    body = case.body
    whole = outcome(OpenAIDecoder(FAULTS), [body])
    assert outcome(OpenAIDecoder(FAULTS), cut(body, places)) == whole


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_a_recorded_reply_is_the_same_byte_by_byte(case: Case) -> None:
    body = case.body
    whole = outcome(OpenAIDecoder(FAULTS), [body])
    assert outcome(OpenAIDecoder(FAULTS), (body[i : i + 1] for i in range(len(body)))) == whole


WORDS = st.lists(
    st.sampled_from(
        [
            "<think>",
            "</think>",
            "<thinking>",
            "</thinking>",
            "```",
            "`",
            "\n",
            "\n\n",
            " ",
            "~~~py",
            "why",
            "é🧝",
            "<",
            ">",
        ]
    ),
    max_size=12,
)


@settings(max_examples=200)
@given(words=WORDS, thoughts=st.booleans(), places=CUTS, eol=st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_thinking_and_answer_are_told_apart_however_a_stream_is_cut(
    words: list[str], thoughts: bool, places: list[int], eol: bytes
) -> None:
    chunks = [chunk(word) for word in words]
    if thoughts:
        chunks.insert(len(chunks) // 2, chunk(reasoning_content="hm"))
    body = (sse(*chunks) + done()).replace(b"\n", eol)
    whole = outcome(OpenAIDecoder(FAULTS), [body])
    assert outcome(OpenAIDecoder(FAULTS), cut(body, places)) == whole


LINE = st.sampled_from(
    [
        b'{"message":{"role":"assistant","content":"Hel"},"done":false}\n',
        b'{"message":{"role":"assistant","thinking":"why"},"done":false}\n',
        b'{"message":{"content":"\xc3\xa9\xf0\x9f\xa7\x9d"},"done":false}\r\n',
        b'{"message":{"tool_calls":[{"function":{"name":"one","arguments":{"t":1}}}]}}\n',
        b'{"error":"boom"}\n',
        b"\n",
        b"not json\n",
        b'{"message":{"content":""},"done":true,"done_reason":"stop","eval_count":3}\n',
    ]
)


@settings(max_examples=200)
@given(lines=st.lists(LINE, max_size=8), places=CUTS)
def test_a_reply_of_ollama_is_the_same_however_it_is_cut(lines: list[bytes], places: list[int]) -> None:
    body = b"".join(lines)
    whole = outcome(OllamaDecoder(FAULTS), [body])
    assert outcome(OllamaDecoder(FAULTS), cut(body, places)) == whole


@settings(max_examples=300)
@given(pieces=st.lists(st.binary(max_size=40), max_size=8))
def test_no_bytes_break_a_decoder(pieces: list[bytes]) -> None:
    outcome(OpenAIDecoder(FAULTS), pieces)
    outcome(OllamaDecoder(FAULTS), pieces)


CHUNK_KEYS = ["choices", "delta", "content", "index", "tool_calls", "function", "name", "arguments", "id"]
OTHER_KEYS = ["error", "message", "finish_reason", "usage", "prompt_tokens", "reasoning", "text", "done"]
KEYS = st.sampled_from([*CHUNK_KEYS, *OTHER_KEYS, "object", "thinking"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=300)
@given(events=st.lists(st.dictionaries(KEYS, JSON, max_size=5), max_size=4))
def test_no_shape_of_json_breaks_a_decoder(events: list[Any]) -> None:
    body = sse(*events)
    outcome(OpenAIDecoder(FAULTS), [body, done()])
    outcome(OllamaDecoder(FAULTS), [body.replace(b"data: ", b"").replace(b"\n\n", b"\n")])
