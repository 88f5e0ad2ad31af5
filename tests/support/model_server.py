"""A server that lists models and can be told to misbehave; chats are `serve_script`'s business."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from anyio.abc import SocketAttribute, SocketStream
from lembas_core.testing.http import Incoming, Outgoing, receive


class ModelServer:
    """Lists `models`, as OpenAI's API or as Ollama's; `details` are what Ollama shows of one."""

    def __init__(self, *models: str, ollama: bool = False, key: str | None = None) -> None:
        self.url = ""
        self.models = list(models)
        self.details: dict[str, dict[str, Any]] = {}
        self.ollama = ollama
        self.key = key
        self.hanging: anyio.Event | None = None
        self.broken = False
        self.requests: list[Incoming] = []

    def asked(self, path: str) -> int:
        """How often a path was asked for."""
        return sum(request.path == path for request in self.requests)

    async def answer(self, stream: SocketStream) -> None:
        async with stream:
            request = await receive(stream)
            if request is None:
                return
            self.requests.append(request)
            if self.hanging is not None:
                await self.hanging.wait()
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                await self._reply(request, Outgoing(stream))

    async def _reply(self, request: Incoming, out: Outgoing) -> None:
        if self.broken:
            await out.whole(200, "text/html", b"<html>Welcome</html>", {})
        elif self.key is not None and request.headers.get("authorization") != f"Bearer {self.key}":
            await self._json(out, 401, {"error": {"message": "no"}})
        elif self.ollama:
            await self._ollama(request, out)
        elif request.path == "/v1/models":
            await self._json(out, 200, {"data": [{"id": name} for name in self.models]})
        else:
            await self._json(out, 404, {"error": {"message": "not found"}})

    async def _ollama(self, request: Incoming, out: Outgoing) -> None:
        match request.path:
            case "/api/version":
                await self._json(out, 200, {"version": "0.13.0"})
            case "/api/tags":
                await self._json(out, 200, {"models": [{"name": n, "model": n} for n in self.models]})
            case "/api/ps":
                await self._json(out, 200, {"models": []})
            case "/api/show":
                name = json.loads(request.body)["model"]
                await self._json(out, 200, self.details.get(name, {}))
            case _:
                await self._json(out, 404, {"error": "not found"})

    async def _json(self, out: Outgoing, status: int, body: Any) -> None:
        await out.whole(status, "application/json", json.dumps(body).encode(), {})


@asynccontextmanager
async def serving(server: ModelServer) -> AsyncGenerator[ModelServer]:
    """Serve it on loopback."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    server.url = f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}"
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, server.answer)
        try:
            yield server
        finally:
            tasks.cancel_scope.cancel()
