from __future__ import annotations

import socket
import struct
import threading
from typing import Any

import anyio
import httpx2
import orjson
import pytest
from anyio.abc import SocketAttribute
from lembas_core.errors import BadResponse, ContextExceeded, RateLimited, Unreachable
from lembas_core.testing import (
    call,
    fault,
    finish,
    pause,
    raw,
    reasoning,
    recast,
    serve_script,
    text,
    usage,
)

CHAT = "/chat/completions"


def events(body: str) -> list[dict[str, Any]]:
    lines = [line.removeprefix("data: ") for line in body.split("\n\n") if line]
    return [orjson.loads(line) for line in lines if line != "[DONE]"]


def post(url: str, **body: Any) -> httpx2.Response:
    with httpx2.Client(trust_env=False) as client:
        return client.post(url + CHAT, json={"model": "script", **body})


def test_a_script_is_served_in_the_wire_format() -> None:
    step = [reasoning("hm"), text("Hello", cuts=[3]), call("look", at=1), usage(3, 4, cached=1)]
    with serve_script(step) as server:
        answer = post(server.url, stream=True, messages=[])
    assert answer.headers["content-type"] == "text/event-stream"
    assert answer.text.endswith("data: [DONE]\n\n")
    told = events(answer.text)
    deltas = [event["choices"][0]["delta"] for event in told if event["choices"]]
    assert deltas[:3] == [{"reasoning_content": "hm"}, {"content": "Hel"}, {"content": "lo"}]
    assert deltas[3]["tool_calls"][0]["function"] == {"name": "look", "arguments": '{"at": 1}'}
    assert told[-2]["choices"][0]["finish_reason"] == "tool_calls"
    assert told[-1]["usage"]["prompt_tokens_details"] == {"cached_tokens": 1}
    assert server.requests == [{"model": "script", "stream": True, "messages": []}]


def test_a_request_without_stream_is_answered_whole() -> None:
    with serve_script([reasoning("hm"), text("Hello"), finish("length"), usage(1, 2)]) as server:
        answer = post(server.url).json()
    assert answer["choices"][0] == {
        "index": 0,
        "message": {"role": "assistant", "content": "Hello", "reasoning_content": "hm"},
        "finish_reason": "length",
    }
    assert answer["usage"] == {"prompt_tokens": 1, "completion_tokens": 2}


async def test_models_are_listed_and_other_paths_are_not_there() -> None:
    async with serve_script(name="tiny") as server, httpx2.AsyncClient(trust_env=False) as client:
        models = (await client.get(server.url + "/models")).json()
        assert [model["id"] for model in models["data"]] == ["tiny"]
        assert (await client.get(server.url + "/api/tags")).status_code == 404
    assert [request.path for request in server.received] == ["/v1/models", "/v1/api/tags"]


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (RateLimited("Slow down.", retry_after=7), 429, "rate_limit_exceeded"),
        (ContextExceeded("Too long."), 400, "context_length_exceeded"),
        (BadResponse("Loading.", reason="upstream", status=503), 503, "upstream_error"),
    ],
)
def test_a_fault_is_a_status(error: Any, status: int, code: str) -> None:
    with serve_script([fault(error)]) as server:
        answer = post(server.url, stream=True)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert answer.headers.get("retry-after") == ("7" if status == 429 else None)


def test_a_fault_in_the_middle_is_told_and_a_drop_is_a_drop() -> None:
    with serve_script(
        [text("a"), fault(BadResponse("Broken."))],
        [text("b"), fault(Unreachable("Gone."))],
        [fault(Unreachable("Gone."))],
        [text("c"), finish("incomplete")],
    ) as server:
        assert events(post(server.url, stream=True).text)[-1]["error"]["message"] == "Broken."
        for _ in range(2):
            with pytest.raises(httpx2.RemoteProtocolError):
                post(server.url, stream=True)
        assert "[DONE]" not in post(server.url, stream=True).text
    assert server.left == 0


def test_raw_bytes_are_sent_as_they_are() -> None:
    with serve_script([raw(b"<html>", b"</html>", status=502, content_type="text/html")]) as server:
        answer = post(server.url)
    assert (answer.status_code, answer.text) == (502, "<html></html>")
    assert answer.headers["content-type"] == "text/html"


def test_a_lone_closing_tag_looks_like_one() -> None:
    with serve_script([text("why"), recast(), text("Hello")]) as server:
        answer = events(post(server.url, stream=True).text)
    assert [e["choices"][0]["delta"].get("content") for e in answer] == ["why", "</think>", "Hello", None]


def test_a_request_too_many_fails_the_test() -> None:
    with pytest.raises(AssertionError, match="request 1 was not expected"), serve_script() as server:
        assert post(server.url).status_code == 500


def test_a_step_that_was_not_used_fails_the_test() -> None:
    with pytest.raises(AssertionError, match="1 of 1 steps"), serve_script([text("a")]):
        pass


def test_a_pause_can_be_ended_from_the_test_that_blocks() -> None:
    go, reached = threading.Event(), threading.Event()
    answers: list[str] = []
    with serve_script([text("a"), pause(go, reached=reached), text("b")]) as server:
        asking = threading.Thread(target=lambda: answers.append(post(server.url, stream=True).text))
        asking.start()
        assert reached.wait(5)
        assert server.streaming == 1
        go.set()
        asking.join(5)
    assert len(answers) == 1
    assert (server.streaming, server.left) == (0, 0)


async def test_a_client_that_leaves_is_noticed_at_once() -> None:
    go, reached = anyio.Event(), anyio.Event()
    async with serve_script([text("a"), pause(go, reached=reached)]) as server:
        async with (
            httpx2.AsyncClient(trust_env=False) as client,
            client.stream("POST", server.url + CHAT, json={"stream": True}),
        ):
            await reached.wait()
        with anyio.fail_after(5):
            while server.streaming:
                await anyio.lowlevel.checkpoint()
    assert server.left == 1


async def test_a_client_that_resets_its_connection_does_no_harm() -> None:
    endless = [text("word " * 200_000, cuts=5)]
    async with serve_script(endless, [text("still here")]) as server:
        port = int(server.url.split(":")[2].split("/")[0])
        stream = await anyio.connect_tcp("127.0.0.1", port)
        await stream.send(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 15\r\n\r\n")
        await stream.send(b'{"stream":true}')
        await stream.receive(10)
        raw_socket = stream.extra(SocketAttribute.raw_socket)
        raw_socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        await stream.aclose()
        async with httpx2.AsyncClient(trust_env=False) as client:
            answer = await client.post(server.url + CHAT, json={})
    assert answer.json()["choices"][0]["message"]["content"] == "still here"
    assert server.left == 1
