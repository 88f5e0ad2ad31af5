"""Connections: how long is waited, what ends them, what is kept and what is sent again."""

from __future__ import annotations

import gzip
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest
from lembas_core.endpoints import Endpoint, Model, Timeouts
from lembas_core.endpoints.values import EndPart, Message, Parameters, Part, Request, TextPart
from lembas_core.errors import BadResponse, EndpointError, Unreachable
from support.replaying import Answer, Replay, chunk, done, fold, replay, sse

HELLO = Request("m", (Message("user", "hi"),))
HEL = sse(chunk("Hel"))
WHOLE = sse(chunk("Hello")) + done()
SSE = {"Content-Type": "text/event-stream"}
SHORT = Timeouts(connect=5, first=0.2, silence=0.2)


def model(server: Replay, timeouts: Timeouts = Timeouts(connect=5, first=5, silence=5)) -> Model:  # noqa: B008
    return Endpoint(server.url, kind="openai", timeouts=timeouts).model("m")


async def read(model: Model, request: Request = HELLO) -> list[Part]:
    async with model.stream(request) as stream:
        return [part async for part in stream]


def end_of(parts: list[Part]) -> EndPart:
    assert isinstance(parts[-1], EndPart)
    return parts[-1]


def sized(body: bytes, **headers: str) -> Answer:
    return Answer((body,), headers={**SSE, "Content-Length": str(len(body)), **headers})


def chunked(*pieces: bytes, last: bytes = b"0\r\n\r\n") -> Answer:
    framed = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return Answer((framed + last,), headers={**SSE, "Transfer-Encoding": "chunked"})


@asynccontextmanager
async def running(server: Replay) -> AsyncGenerator[AsyncIterator[Part]]:
    """A reply of which the first words have come."""
    async with model(server).stream(HELLO) as stream:
        assert await anext(stream) == TextPart("Hel")
        yield stream


async def test_silence_before_the_first_byte_is_a_time_out() -> None:
    async with replay(Answer(end="hang")) as server:
        with pytest.raises(Unreachable, match=r"sent nothing for 0\.\d+ seconds") as caught:
            await read(model(server, SHORT))
    assert caught.value.timed_out


async def test_silence_before_the_head_is_a_time_out() -> None:
    async with replay(Answer(end="hang", raw=True)) as server:
        with pytest.raises(Unreachable) as caught:
            await read(model(server, SHORT))
    assert caught.value.timed_out


async def test_a_cold_model_may_take_longer_than_a_silence() -> None:
    async with replay(Answer((b": loading\n\n", WHOLE), headers=SSE)) as server:
        timeouts = Timeouts(connect=5, first=5, silence=0.5)
        assert fold(await read(model(server, timeouts))).text == "Hello"


async def test_a_server_that_hangs_after_its_last_event_delays_nothing() -> None:
    async with replay(Answer((WHOLE,), headers=SSE, end="hang")) as server:
        with anyio.fail_after(4):
            assert fold(await read(model(server))).text == "Hello"


async def test_a_server_that_hangs_after_the_reason_is_waited_for_only_shortly() -> None:
    body = sse(chunk("Hello"), chunk(finish="stop"))
    async with replay(Answer((body,), headers=SSE, end="hang")) as server:
        end = end_of(await read(model(server, SHORT)))
    assert (end.finish, end.error) == ("stop", None)


async def test_leaving_a_reply_closes_its_connection_at_once() -> None:
    async with replay(Answer((HEL,), headers=SSE, end="hang")) as server:
        async with running(server):
            pass
        with anyio.fail_after(5):
            await server.left.wait()


async def test_leaving_by_an_exception_closes_the_connection() -> None:
    async with replay(Answer((HEL,), headers=SSE, end="hang")) as server:
        with pytest.raises(ZeroDivisionError):
            async with running(server):
                raise ZeroDivisionError
        with anyio.fail_after(5):
            await server.left.wait()


async def test_a_cancelled_wait_for_the_head_closes_the_connection() -> None:
    async with replay(Answer(end="hang", raw=True)) as server:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read, model(server))
            with anyio.fail_after(5):
                while not server.requests:
                    await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
        with anyio.fail_after(5):
            await server.left.wait()


async def test_stopping_in_the_middle_closes_the_connection() -> None:
    async with replay(Answer((HEL,), headers=SSE, end="hang")) as server:
        with anyio.CancelScope() as scope:
            async with running(server) as stream:
                scope.cancel()
                await anext(stream)
        assert scope.cancelled_caught
        with anyio.fail_after(5):
            await server.left.wait()


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(chunked(HEL, last=b""), id="chunked"),
        pytest.param(sized(HEL, **{"Content-Length": "999"}), id="sized"),
        pytest.param(Answer((HEL,), headers={**SSE, "Content-Length": "999"}, end="reset"), id="reset"),
    ],
)
async def test_a_dropped_connection_keeps_what_came_and_says_so(broken: Answer) -> None:
    # The server's own end of the connection is what `end="close"` leaves open for a next request.
    ended = Answer(broken.chunks, headers=broken.headers, end="reset")
    async with replay(ended) as server:
        parts = await read(model(server))
    end = end_of(parts)
    assert (fold(parts).text, end.finish) == ("Hel", "incomplete")
    assert isinstance(end.error, Unreachable)
    assert "closed the connection" in str(end.error)


async def test_a_drop_before_the_first_word_is_raised() -> None:
    async with replay(Answer((b"",), headers={**SSE, "Content-Length": "999"}, end="reset")) as server:
        with pytest.raises(Unreachable, match="closed the connection"):
            await read(model(server))


async def test_a_drop_after_the_reason_is_no_fault() -> None:
    body = sse(chunk("Hello"), chunk(finish="stop"))
    async with replay(Answer((body,), headers={**SSE, "Content-Length": "999"}, end="reset")) as server:
        end = end_of(await read(model(server)))
    assert (end.finish, end.error) == ("stop", None)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "cannot be read"),
        (b"\x16\x03\x01\x02\x00\x01" * 20 + b"\r\n\r\n", "cannot be read"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 300_000 + b"\r\n\r\n", "cannot be read"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 7\r\n\r\n", "cannot be read"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "cannot be read"),
        (b"HTTP/1.1 200 OK", "closed the connection"),
        (b"", "closed the connection"),
    ],
)
async def test_what_is_no_http_is_a_fault(raw: bytes, words: str) -> None:
    async with replay(Answer((raw,), raw=True)) as server:
        with pytest.raises(EndpointError, match=words) as caught:
            await read(model(server))
    assert server.url in str(caught.value)


async def test_early_hints_are_passed_over() -> None:
    raw = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + WHOLE
    async with replay(Answer((raw,), raw=True)) as server:
        assert fold(await read(model(server))).text == "Hello"


async def test_http_1_0_is_understood() -> None:
    async with replay(Answer((b"HTTP/1.0 200 OK\r\n\r\n" + WHOLE,), raw=True)) as server:
        assert fold(await read(model(server))).text == "Hello"


async def test_a_reply_that_is_packed_unasked_is_unpacked() -> None:
    async with replay(sized(gzip.compress(WHOLE), **{"Content-Encoding": "gzip"})) as server:
        assert fold(await read(model(server))).text == "Hello"
        assert b"accept-encoding: identity" in server.requests[0][0].lower()


@pytest.mark.parametrize(("encoding", "body"), [("gzip", b"no gzip"), ("br", b"x"), ("zstd", b"x")])
async def test_a_packing_that_cannot_be_undone_is_a_fault(encoding: str, body: bytes) -> None:
    async with replay(sized(body, **{"Content-Encoding": encoding})) as server:
        with pytest.raises(BadResponse, match="cannot be read") as caught:
            await read(model(server))
    assert caught.value.reason == "protocol"


async def test_a_packing_that_breaks_off_keeps_what_came() -> None:
    packed = gzip.compress(sse(*(chunk(str(n)) for n in range(9))))[:-9]
    async with replay(sized(packed, **{"Content-Encoding": "gzip"})) as server:
        parts = await read(model(server))
    assert end_of(parts).finish == "incomplete"
    assert fold(parts).text.startswith("01")


async def test_connections_are_kept_within_the_context_only() -> None:
    async with replay(chunked(WHOLE)) as server:
        endpoint = Endpoint(server.url, kind="openai")
        for _ in range(3):
            await read(endpoint.model("m"))
        assert server.connections == 3
        async with endpoint:
            for _ in range(3):
                await read(endpoint.model("m"))
            assert server.connections == 4
        with anyio.fail_after(5):
            await server.left.wait()


async def test_a_connection_in_use_when_its_endpoint_closes_is_closed_after_its_answer() -> None:
    async with replay(chunked(WHOLE)) as server, Endpoint(server.url, kind="openai") as endpoint:
        stream = endpoint.model("m").stream(HELLO)
        async with stream as parts:
            assert await anext(parts) == TextPart("Hello")
            await endpoint.aclose()
            assert [part.finish async for part in parts if isinstance(part, EndPart)] == ["stop"]
        with anyio.fail_after(5):
            await server.left.wait()


async def test_a_kept_connection_that_the_server_closed_is_replaced_silently() -> None:
    async with replay(chunked(WHOLE), Answer(raw=True), chunked(WHOLE)) as server:
        async with Endpoint(server.url, kind="openai") as endpoint:
            await read(endpoint.model("m"))
            assert fold(await read(endpoint.model("m"))).text == "Hello"
        assert len(server.requests) == 3


async def test_a_request_that_a_server_worked_on_is_not_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lembas_core.endpoints.connections._AT_ONCE_SECONDS", -1.0)
    async with replay(chunked(WHOLE), Answer(raw=True)) as server:
        async with Endpoint(server.url, kind="openai") as endpoint:
            await read(endpoint.model("m"))
            with pytest.raises(Unreachable, match="closed the connection"):
                await read(endpoint.model("m"))
        assert len(server.requests) == 2


async def test_a_new_connection_that_is_closed_without_an_answer_is_a_fault() -> None:
    async with replay(Answer(raw=True)) as server:
        with pytest.raises(Unreachable, match="closed the connection"):
            await read(model(server))
        assert len(server.requests) == 1


async def test_many_replies_stream_side_by_side() -> None:
    async with replay(chunked(WHOLE)) as server, Endpoint(server.url, kind="openai") as endpoint:
        texts: list[str] = []

        async def one() -> None:
            texts.append(fold(await read(endpoint.model("m"))).text)

        async with anyio.create_task_group() as tasks:
            for _ in range(120):
                tasks.start_soon(one)
    assert texts == ["Hello"] * 120


async def test_nobody_there_is_one_sentence() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(Unreachable, match="is the server running") as caught:
            await read(Endpoint(url).model("m"))
    assert url in str(caught.value)
    assert not caught.value.timed_out


async def test_tls_to_a_server_without_it_is_one_sentence() -> None:
    async with replay(Answer((b"HTTP/1.1 400 Bad Request\r\n\r\n",), raw=True)) as server:
        url = server.url.replace("http:", "https:")
        with pytest.raises(Unreachable, match="Cannot reach https:"):
            await read(Endpoint(url, kind="openai", timeouts=Timeouts(connect=1)).model("m"))


def refusal(field: str) -> Answer:
    body = b'{"error":{"message":"Unrecognized request argument supplied: %s"}}' % field.encode()
    return Answer((body,), 400, {"Content-Type": "application/json", "Content-Length": str(len(body))})


async def test_a_field_that_a_server_refuses_is_left_out_from_then_on() -> None:
    request = Request("m", HELLO.messages, parameters=Parameters(effort="low"))
    answers = (refusal("chat_template_kwargs"), refusal("stream_options"), chunked(WHOLE))
    async with replay(*answers) as server:
        endpoint = Endpoint(server.url, kind="openai")
        for _ in range(2):
            assert fold(await read(endpoint.model("m"), request)).text == "Hello"
        assert len(server.requests) == 4
        assert set(server.body()) == {"model", "messages", "stream", "reasoning_effort"}


async def test_two_replies_that_learn_of_a_refused_field_at_once_are_both_answered() -> None:
    refusals = (refusal("stream_options"), refusal("stream_options"))
    async with replay(*refusals, chunked(WHOLE)) as server:
        endpoint = Endpoint(server.url, kind="openai")
        texts: list[str] = []

        async def one() -> None:
            texts.append(fold(await read(endpoint.model("m"))).text)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one)
            tasks.start_soon(one)
    assert texts == ["Hello", "Hello"]


async def test_a_field_that_a_person_set_is_not_left_out() -> None:
    extra = {"chat_template_kwargs": {"enable_thinking": False}}
    request = Request("m", HELLO.messages, parameters=Parameters(extra=extra))
    async with replay(refusal("chat_template_kwargs")) as server:
        with pytest.raises(BadResponse, match="chat_template_kwargs"):
            await read(model(server), request)
        assert len(server.requests) <= 2


async def test_llama_cpp_is_asked_for_progress_once_it_is_known() -> None:
    llama = Answer(chunked(WHOLE).chunks, headers={**chunked().headers, "Server": "llama.cpp"})
    async with replay(llama) as server:
        endpoint = Endpoint(server.url, kind="openai")
        for _ in range(2):
            await read(endpoint.model("m"))
        assert "return_progress" not in server.body(0)
        assert server.body(1)["return_progress"] is True


async def test_a_server_behind_a_proxy_can_be_named_by_a_header() -> None:
    async with replay(chunked(WHOLE)) as server:
        endpoint = Endpoint(server.url, kind="openai", headers={"Host": "models.example"})
        assert fold(await read(endpoint.model("m"))).text == "Hello"
        head = server.requests[0][0].lower()
        assert b"host: models.example\r\n" in head and head.count(b"host:") == 1


async def test_text_that_no_json_can_hold_is_scrubbed_before_it_is_sent() -> None:
    async with replay(chunked(WHOLE)) as server:
        await read(model(server), Request("m", (Message("user", "a\ud800b"),)))
        assert server.body()["messages"][0]["content"] == "a\ufffdb"
