"""HTTP/1.1 in bytes: the answers of servers, cut anywhere, and the requests that may leave."""

from __future__ import annotations

from itertools import pairwise

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lembas_core.endpoints.http1 import Response, encode

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
TWO = b"2\r\nhi\r\n"
PLACES = st.lists(st.integers(0, 500), max_size=6)


def answered(stream: bytes, places: list[int] | None = None) -> tuple[bytes, Response]:
    """The body of an answer that arrives cut at `places`, after which the server closes."""
    response, body = Response(), b""
    edges = [0, *sorted(place % (len(stream) + 1) for place in places or ()), len(stream)]
    for start, end in pairwise(edges):
        if not (response.fault or response.done):
            body += response.feed(stream[start:end])
    if not response.fault:
        response.close()
    return body, response


def told(stream: bytes, places: list[int]) -> tuple[int, bytes, bool, bool]:
    body, response = answered(stream, places)
    return response.status, body, response.done, not response.done


def told_by_h11(stream: bytes) -> tuple[int, bytes, bool, bool]:
    http = h11.Connection(h11.CLIENT)
    http.send(h11.Request(method="GET", target="/", headers=[("host", "x")]))
    http.send(h11.EndOfMessage())
    for data in (stream, b"") if stream else (b"",):
        http.receive_data(data)
    status, body = 0, b""
    try:
        while not isinstance(event := http.next_event(), h11.EndOfMessage | h11.ConnectionClosed):
            status = event.status_code if isinstance(event, h11.Response) else status
            body += event.data if isinstance(event, h11.Data) else b""
    except h11.RemoteProtocolError:
        return status, body, False, True
    done = isinstance(event, h11.EndOfMessage)
    return status, body, done, not done


FIRST = st.sampled_from(
    [b"", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Hints\r\nLink: x\r\nContent-Length: 3\r\n\r\n"]
)
STATUS = st.sampled_from([b"200 OK", b"200", b"204 N", b"304 N", b"404 Not Found", b"503 \xfc"])
FIELDS = st.sampled_from(
    [
        b"",
        b"Transfer-Encoding: chunked\r\n",
        b"transfer-encoding:\tCHUNKED \r\nContent-Length: 1\r\n",
        b"Transfer-Encoding: gzip\r\n",
        b"Content-Length: 0\r\n",
        b"Content-Length: 7\r\nConnection: close\r\n",
        b"Content-Length: 7\r\nContent-Length: 8\r\n",
        b"Content-Length: x\r\n",
        b"X : y\r\n",
    ]
)
CHUNK = st.sampled_from(
    [
        b"3\r\nabc\r\n",
        b"A;x=y\r\n0123456789\r\n",
        b"001 \r\n\n\r\n",
        b"4\r\n\r\n\r\n\r\n",
        b"zz\r\n",
        b"0\r\n\r\n",
        b"0;x\r\nA: b\r\n\r\n",
    ]
)


@given(
    st.tuples(FIRST, STATUS, FIELDS, st.lists(CHUNK, max_size=5).map(b"".join)), st.integers(0, 300), PLACES
)
def test_answers_are_read_as_h11_reads_them_however_they_are_cut(
    parts: tuple[bytes, bytes, bytes, bytes], end: int, places: list[int]
) -> None:
    first, status, fields, body = parts
    stream = (first + b"HTTP/1.1 " + status + b"\r\n" + fields + b"\r\n" + body)[: end or None]
    assert told(stream, places) == told_by_h11(stream)


@pytest.mark.parametrize(
    "broken",
    [b"zz\r\n", b"\r\n", b"-1\r\n", b"0x3\r\nabc\r\n", b"1_0\r\n", b"f" * 40 + b"\r\n", b"3\r\nabcd\r\n"],
)
def test_chunks_that_are_broken_are_refused_after_the_data_before(broken: bytes) -> None:
    body, response = answered(CHUNKED + TWO + broken)
    assert (body[:2], response.done, bool(response.fault)) == (b"hi", False, True)


@pytest.mark.parametrize(
    ("start", "endless"),
    [
        (OK, b"a: b\r\n"),
        (OK + b"a: ", b"x"),
        (b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
        (CHUNKED, b"0"),
        (CHUNKED + b"1;", b"x"),
        (CHUNKED + b"0\r\n", b"a: b\r\n"),
    ],
)
def test_what_has_no_end_is_refused(start: bytes, endless: bytes) -> None:
    stream = start + endless * (300_000 // len(endless))
    _, response = answered(stream, [*range(0, len(stream), 60_000)])
    assert (response.done, bool(response.fault)) == (False, True)


def test_a_long_body_is_no_head_without_end() -> None:
    body, response = answered(CHUNKED + TWO * 100_000 + b"0\r\n\r\n", [*range(0, 700_000, 60_000)])
    assert (len(body), response.done) == (200_000, True)


@pytest.mark.parametrize(
    ("head", "keeps"),
    [
        (OK, True),
        (OK + b"Connection: keep-alive\r\n", True),
        (OK + b"Connection: Close\r\n", False),
        (b"HTTP/1.0 200 OK\r\n", False),
    ],
)
def test_a_connection_is_kept_as_the_server_says(head: bytes, keeps: bool) -> None:
    body, response = answered(head + b"Content-Length: 2\r\n\r\nhi")
    assert (body, response.done, response.keeps) == (b"hi", True, keeps)


@pytest.mark.parametrize("more", [b"H", b"garbage", OK + b"Content-Length: 4\r\n\r\nevil"])
def test_what_follows_an_answer_is_not_of_it_and_ends_the_connection(more: bytes) -> None:
    for answer in (OK + b"Content-Length: 2\r\n\r\nhi", CHUNKED + TWO + b"0\r\n\r\n"):
        body, response = answered(answer + more)
        assert (response.status, body, response.done, response.keeps) == (200, b"hi", True, False)
    assert response.headers == {"transfer-encoding": "chunked"}


def test_trailers_are_no_headers() -> None:
    _, response = answered(CHUNKED + TWO + b"0\r\nRetry-After: 9\r\n\r\n")
    assert (response.headers, response.keeps) == ({"transfer-encoding": "chunked"}, True)


@pytest.mark.parametrize("upgrade", [b"", b"Connection: upgrade\r\nUpgrade: h2c\r\n"])
def test_a_change_of_protocol_is_refused(upgrade: bytes) -> None:
    _, response = answered(b"HTTP/1.1 101 Switching\r\n" + upgrade + b"\r\nabc")
    assert "101" in response.fault


def test_lines_without_a_carriage_return_are_understood() -> None:
    body, response = answered(b"HTTP/1.1 200 OK\nServer: llama.cpp\nContent-Length: 2\n\nhi")
    assert (body, response.headers["server"], response.done) == (b"hi", "llama.cpp", True)


def test_a_request_is_what_it_says() -> None:
    sent = encode("POST", "/v1/x%20y", [("host", "a:1"), ("x-empty", "")], b"{}")
    assert sent == b"POST /v1/x%20y HTTP/1.1\r\nhost: a:1\r\nx-empty: \r\ncontent-length: 2\r\n\r\n{}"
    assert encode("GET", "/", [("host", "a")], None) == b"GET / HTTP/1.1\r\nhost: a\r\n\r\n"


@pytest.mark.parametrize(
    ("target", "name", "value"),
    [
        ("/ HTTP/1.1\r\nx: y", "a", "b"),
        ("/a b", "a", "b"),
        ("", "a", "b"),
        ("/\xfc", "a", "b"),
        ("/", "a", "b\r\nx: y"),
        ("/", "a", "b\n"),
        ("/", "a", "b\0"),
        ("/", "a", "\xfc"),
        ("/", "a: x\r\nb", "c"),
        ("/", "a b", "c"),
        ("/", "", "c"),
    ],
)
def test_nothing_can_be_slipped_into_a_request(target: str, name: str, value: str) -> None:
    with pytest.raises(ValueError):
        encode("GET", target, [(name, value)], None)
