"""A scripted model behind a real HTTP server on loopback, for tests of other processes."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import ExitStack, asynccontextmanager, suppress
from typing import Any, Self

import anyio
from anyio.abc import SocketAttribute, SocketStream
from anyio.from_thread import start_blocking_portal

from lembas_core.endpoints.values import EndPart, Part
from lembas_core.errors import EndpointError, Unreachable
from lembas_core.testing.http import Incoming, Outgoing, receive
from lembas_core.testing.script import ending
from lembas_core.testing.steps import Fault, Parts, Pause, Raw, Step, Steps
from lembas_core.testing.wire import completion, ended, failure, piece

__all__ = ("ScriptServer", "serve_script")


def serve_script(*steps: Step, name: str = "script") -> ScriptServer:
    """Serve a script in the wire format of OpenAI; enter the result with `with` or `async with`.

    It answers `GET /v1/models` and `POST /v1/chat/completions`, the latter with the next step. With `with` it
    runs in a thread of its own, so that the test may block; pauses then need a `threading.Event`.
    """
    return ScriptServer(steps, name)


class ScriptServer:
    """A script that is served.

    Attributes:
        url: Where it is served, with `/v1`; set while it is entered.
        name: The one model it lists.
        requests: The bodies of the chat requests so far.
        received: Every request so far, whole.
        streaming: How many chat requests are being answered now.
        left: How many of them the client left before their end.
    """

    def __init__(self, steps: tuple[Step, ...], name: str) -> None:
        self._steps = Steps(steps)
        self._entered = ExitStack()
        self._serving = self._serve()
        self.url: str = ""
        self.name = name
        self.requests: list[dict[str, Any]] = []
        self.received: list[Incoming] = []
        self.streaming: int = 0
        self.left: int = 0

    def assert_spent(self) -> None:
        """Fail when a step was not used, or when a request came that was not expected."""
        self._steps.assert_spent()

    async def __aenter__(self) -> Self:
        await self._serving.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *rest: Any) -> None:
        await self._serving.__aexit__(None, None, None)
        if kind is None:
            self.assert_spent()

    def __enter__(self) -> Self:
        portal = self._entered.enter_context(start_blocking_portal())
        self._entered.enter_context(portal.wrap_async_context_manager(self._serving))
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: Any) -> None:
        self._entered.close()
        if kind is None:
            self.assert_spent()

    @asynccontextmanager
    async def _serve(self) -> AsyncGenerator[None]:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        self.url = f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}/v1"
        async with listener, anyio.create_task_group() as group:
            group.start_soon(listener.serve, self._connected)
            yield
            group.cancel_scope.cancel()

    async def _connected(self, stream: SocketStream) -> None:
        async with stream:
            request = await receive(stream)
            if request is None:
                return
            self.received.append(request)
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                await self._answer(request, stream)

    async def _answer(self, request: Incoming, stream: SocketStream) -> None:
        out = Outgoing(stream)
        path = request.path.partition("?")[0].rstrip("/")
        if request.method == "GET" and path.endswith("/models"):
            models = [{"id": self.name, "object": "model", "created": 1, "owned_by": "script"}]
            await _json(out, 200, {"object": "list", "data": models})
        elif request.method == "POST" and path.endswith("/chat/completions"):
            await self._chat(json.loads(request.body), out, stream)
        else:
            await _json(out, 404, {"error": {"message": f"There is no {request.path}."}})

    async def _chat(self, body: dict[str, Any], out: Outgoing, stream: SocketStream) -> None:
        self.requests.append(body)
        try:
            step = self._steps.next()
        except AssertionError as error:
            await _json(out, 500, {"error": {"message": str(error)}})
            return
        end = ending(step, f"call_{len(self.requests)}")
        self.streaming += 1
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(_watch, stream, group.cancel_scope)
                with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                    await self._play(step, end, bool(body.get("stream")), out)
                group.cancel_scope.cancel()
            self.left += not out.ended
        finally:
            self.streaming -= 1

    async def _play(self, step: Step, end: EndPart, streamed: bool, out: Outgoing) -> None:
        first = step[0] if step else None
        if isinstance(first, Raw):
            await _raw(first, out)
        elif isinstance(first, Fault):
            await _fail(first.error, out)
        elif streamed:
            await self._stream(step, end, out)
        else:
            parts = [part for item in step if isinstance(item, Parts) for part in item.parts]
            await _json(out, 200, completion(self.name, parts, end))

    async def _stream(self, step: Step, end: EndPart, out: Outgoing) -> None:
        await out.begin(200, "text/event-stream", {})
        for item in step:
            if isinstance(item, Fault):
                break
            for part in await _parts(item):
                await out.write(piece(self.name, part))
        if isinstance(end.error, Unreachable):
            out.drop()
            return
        for event in ended(self.name, end):
            await out.write(event)
        await out.end()


async def _watch(stream: SocketStream, scope: anyio.CancelScope) -> None:
    """Whatever the client sends while it is answered can only be that it leaves."""
    with suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
        await stream.receive()
    scope.cancel()


async def _parts(item: object) -> tuple[Part, ...]:
    if isinstance(item, Pause):
        await item.wait()
    return item.parts if isinstance(item, Parts) else ()


async def _fail(error: EndpointError, out: Outgoing) -> None:
    if isinstance(error, Unreachable):
        out.drop()
        return
    status, body, headers = failure(error)
    await _json(out, status, body, headers)


async def _raw(raw: Raw, out: Outgoing) -> None:
    await out.begin(raw.status, raw.content_type, raw.headers)
    for part in raw.pieces:
        await out.write(part)
    await out.end()


async def _json(out: Outgoing, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
    await out.whole(status, "application/json", json.dumps(body).encode(), headers or {})
