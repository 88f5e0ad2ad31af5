"""Bytes become events and lines, whatever the server calls them."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lembas_core.endpoints.framing import Framing
from lembas_core.endpoints.inflating import inflater_for
from lembas_core.endpoints.ndjson import LineDecoder
from lembas_core.endpoints.sse import ErrorEvent, SSEDecoder
from lembas_core.endpoints.wire import MAX_EVENT_BYTES, OutOfBounds, Scrubber, load, scrubbed


def events(*pieces: bytes) -> list[bytes]:
    decoder = SSEDecoder()
    return [event for piece in pieces for event in decoder.feed(piece)] + decoder.finish()


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
        (b"data: a\r\rdata: b\r\r", [b"a", b"b"]),
        (b"data: a\r\n\ndata: b\n\r\n", [b"a", b"b"]),
        (b"data:a\n\n", [b"a"]),
        (b"data:  a\n\n", [b" a"]),
        (b"data: a\ndata: b\n\n", [b"a\nb"]),
        (b"data: a\n\n\n\n\ndata: b\n\n", [b"a", b"b"]),
        (b"\n\n\ndata: a\n\n", [b"a"]),
        (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
        (b": ping\n\n: ping\ndata: a\n\n", [b"a"]),
        (b"event: message\nid: 1\nretry: 10\ndata: a\n\n", [b"a"]),
        (b"data\n\ndata:\n\ndata: \n\n", []),
        (b"data: a", [b"a"]),
        (b"data: a\n", [b"a"]),
        (b"datax: a\n\nxdata: b\n\n", []),
        ("data: a\u2028b\u0085c\n\n".encode(), ["a\u2028b\u0085c".encode()]),
        (b"", []),
    ],
)
def test_events_follow_the_standard(stream: bytes, expected: list[bytes]) -> None:
    assert events(stream) == expected
    assert events(*(stream[i : i + 1] for i in range(len(stream)))) == expected


@pytest.mark.parametrize(
    "stream", [b"event: error\ndata: boom\n\n", b"data: boom\nevent:error\n\n", b"error: boom\n\n"]
)
def test_an_event_named_error_is_known_as_one(stream: bytes) -> None:
    (event,) = events(stream)
    assert isinstance(event, ErrorEvent)
    assert event == b"boom"


def test_the_name_error_holds_for_one_event_only() -> None:
    first, second = events(b"event: error\ndata: boom\n\ndata: a\n\n")
    assert isinstance(first, ErrorEvent)
    assert not isinstance(second, ErrorEvent)


LINES = st.lists(
    st.sampled_from([b"data: a", b"data: bb", b": c", b"", b"", b"event: error", b"id", b"data:{}"]),
    max_size=12,
)


@given(lines=LINES, eol=st.sampled_from([b"\n", b"\r\n", b"\r"]), data=st.data())
def test_events_are_the_same_however_they_are_cut(
    lines: list[bytes], eol: bytes, data: st.DataObject
) -> None:
    stream = eol.join(lines)
    places = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    pieces = [stream[a:b] for a, b in zip([0, *places], [*places, len(stream)], strict=True)]
    assert events(*pieces) == events(stream)


@pytest.mark.parametrize("piece", [b"x" * 100_000, b"data: x\n" * 10_000])
def test_an_event_without_end_is_refused(piece: bytes) -> None:
    decoder = SSEDecoder()
    with pytest.raises(OutOfBounds):
        for _ in range(MAX_EVENT_BYTES // len(piece) + 2):
            decoder.feed(b"data: x" + piece)


def test_a_line_without_end_is_refused() -> None:
    decoder = LineDecoder(limit=10)
    assert decoder.feed(b"0123456789\n01234") == [b"0123456789"]
    with pytest.raises(OutOfBounds):
        decoder.feed(b"56789x")


def test_lines_are_whole_and_blank_ones_left_out() -> None:
    decoder = LineDecoder()
    assert decoder.feed(b'{"a"') == []
    assert decoder.feed(b':1}\r\n\n \n{"b":2}\n{"c"') == [b'{"a":1}', b'{"b":2}']
    assert decoder.feed(b":3}") == []
    assert decoder.finish() == [b'{"c":3}']


@pytest.mark.parametrize(
    ("body", "shape", "values"),
    [
        (b'data: {"a":1}\n\n', "sse", [{"a": 1}]),
        (b'\n\n  {"a":1}\n{"b":2}\n', "lines", [{"a": 1}, {"b": 2}]),
        (b'\xef\xbb\xbf{"a":1}', "lines", [{"a": 1}]),
        (b'{\n  "a": [\n    1\n  ]\n}\n', "document", [{"a": [1]}]),
        (b'{"a": "x \ny"}', "document", [None]),
        (b"[1,2]", "lines", [[1, 2]]),
        (b" <!DOCTYPE html><html>", "html", []),
        (b"", None, []),
        (b"   \n", None, []),
    ],
)
def test_the_first_character_tells_the_framing(body: bytes, shape: str | None, values: list[Any]) -> None:
    for size in (len(body) + 1, 1):
        framing = Framing()
        texts = [t for i in range(0, len(body), size) for t in framing.feed(body[i : i + size])]
        texts += framing.finish()
        assert framing.shape == shape
        assert [load(text) for text in texts] == values


def test_a_document_without_end_is_refused() -> None:
    framing = Framing()
    with pytest.raises(OutOfBounds):
        for _ in range(MAX_EVENT_BYTES // 100_000 + 2):
            framing.feed(b"{\n" + b" " * 10 + b"1," * 50_000 + b"\n")


@pytest.mark.parametrize("name", ["gzip", "deflate", "x-gzip", " GZIP "])
def test_what_was_compressed_unasked_is_unpacked(name: str) -> None:
    packed = zlib.compress(b"hello") if name == "deflate" else gzip.compress(b"hello")
    inflater = inflater_for(name)
    assert inflater is not None
    assert b"".join(step for i in range(len(packed)) for step in inflater.feed(packed[i : i + 1])) == b"hello"


def test_a_bomb_unpacks_in_small_steps() -> None:
    inflater = inflater_for("deflate")
    assert inflater is not None
    steps = inflater.feed(zlib.compress(bytes(100 << 20)))
    assert all(len(next(steps)) <= 256 << 10 for _ in range(20))


def test_what_cannot_be_unpacked_is_refused() -> None:
    assert inflater_for("") is None
    assert inflater_for("identity") is None
    with pytest.raises(ValueError, match="'br'"):
        inflater_for("br")
    inflater = inflater_for("gzip")
    assert inflater is not None
    with pytest.raises(ValueError, match="broken compression"):
        list(inflater.feed(b"this is no gzip"))


@given(st.text(alphabet=st.characters(), max_size=20), st.data())
def test_scrubbed_text_can_be_stored_and_is_the_same_however_it_is_cut(
    text: str, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(text)))
    scrubber = Scrubber()
    clean = scrubber.feed(text[:place]) + scrubber.feed(text[place:]) + scrubber.finish()
    assert clean == scrubbed(text)
    clean.encode()
    assert "\0" not in clean


@pytest.mark.parametrize(
    ("payload", "value"),
    [
        (b'{"a": "x\\ud800"}', {"a": "x\ud800"}),
        (b'{"a": "x\xff"}', {"a": "x\ufffd"}),
        (b'{"a": 1e999}', {"a": float("inf")}),
        (b"nope", None),
        (b"[" * 100_000, None),
        (b"", None),
    ],
)
def test_json_is_read_with_some_forgiveness(payload: bytes, value: Any) -> None:
    assert load(payload) == value
    assert json.dumps(load(payload)) == json.dumps(value)
