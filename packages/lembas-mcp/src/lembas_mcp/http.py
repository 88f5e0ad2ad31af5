"""Serving over streamable HTTP at `/mcp`: on loopback for anybody, elsewhere with a token."""

from __future__ import annotations

import os
import secrets
import signal
import socket
from collections.abc import AsyncIterable, Callable, Generator, Mapping
from contextlib import contextmanager
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import uvicorn
from anyio import CancelScope, create_task_group, get_cancelled_exc_class, open_signal_receiver
from lembas_core import Invalid
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.responses import JSONResponse, Response

from lembas_mcp.server import Server, create_server

if TYPE_CHECKING:
    from lembas_core import Lembas
    from starlette.applications import Starlette
    from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ("Gate", "http_app", "serve_http")

PORT = 8421

PATH = "/mcp"

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")

GRACE = 3
"""Seconds that running calls get when the server is told to stop."""


async def serve_http(
    lembas: Lembas,
    host: str = "127.0.0.1",
    port: int = PORT,
    *,
    token: str | None = None,
    legacy: bool = False,
    listening: Callable[[str], object] | None = None,
) -> None:
    """Serve `lembas` at `http://host:port/mcp` until it is cancelled, or SIGTERM comes.

    Calls that run get three seconds then. Call it in the main thread.

    Args:
        lembas: An open instance, acting as the person who is served.
        host: The address to listen on.
        port: The port to listen on; 0 takes a free one.
        token: What callers must send as `Authorization: Bearer …`. Needed unless the address is loopback.
        legacy: Answer `server/discover` as servers did before 2026-07-28.
        listening: Called with the address once it can be reached.

    Raises:
        Invalid: When the address is taken, or can be reached from elsewhere and there is no token.
    """
    app = http_app(create_server(lembas, legacy=legacy), host=host, token=token)
    bound = _listen(host, port)
    url = f"http://{_bracketed(host)}:{bound.getsockname()[1]}{PATH}"
    # h11, since it bounds the head of a request; uvicorn's choice, httptools, does not.
    config = uvicorn.Config(
        app, http="h11", log_level="warning", timeout_graceful_shutdown=GRACE, server_header=False
    )
    with open_signal_receiver(signal.SIGTERM) as signals:
        if listening is not None:
            listening(url)
        async with create_task_group() as tasks:
            tasks.start_soon(_cancel_at, signals, tasks.cancel_scope)
            await _Uvicorn(config).serve(sockets=[bound])
            tasks.cancel_scope.cancel()


def http_app(server: Server, *, host: str = "127.0.0.1", token: str | None = None) -> Starlette:
    """An application that serves `server` at `/mcp`. It can be started once.

    Raises:
        Invalid: When `host` can be reached from elsewhere and there is no token.
    """
    if not token and not _is_loopback(host):
        raise Invalid(f"Listening on {host} lets others in: give a token, or listen on 127.0.0.1.")
    # Never json_response: it drops progress and leaves a call running when its caller has hung up.
    app = server.streamable_http_app(
        streamable_http_path=PATH, stateless_http=True, transport_security=_security(host, token)
    )
    app.user_middleware.append(Middleware(Gate, token=token))
    return app


class _Uvicorn(uvicorn.Server):
    """Ends in order when it is cancelled, and leaves signals to others.

    Its own way with them, which ends by raising them again, would leave an instance unclosed.
    """

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until told to stop."""
        try:
            await super().serve(sockets)
        except get_cancelled_exc_class():
            with CancelScope(shield=True):
                await self.shutdown(sockets)
            raise

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start whole or not at all, since only what has started can be shut down."""
        with CancelScope(shield=True):
            await super().startup(sockets)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Capture none."""
        yield


class Gate:
    """Lets in who may come in: the bearer of the token, with POST, from no foreign page."""

    def __init__(self, app: ASGIApp, token: str | None = None) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what is refused; pass on the rest."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        # Some clients follow no redirect, so the address with a slash is served where it is asked for.
        if scope["path"] == f"{PATH}/":
            scope["path"] = PATH
        await (self._refusal(scope) or self._app)(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if self._token and not _bears(headers, self._token):
            return _refused(401, "A bearer token is needed here.", {"WWW-Authenticate": "Bearer"})
        if self._token and not _is_own_page(headers):
            return _refused(403, "Pages of other sites may not call this server.")
        if scope["path"] == PATH and scope["method"] != "POST":
            # A stateless server has nothing to say on a stream of its own, nor a session to end.
            return _refused(405, "Only POST is served here.", {"Allow": "POST"})
        return None


async def _cancel_at(signals: AsyncIterable[object], scope: CancelScope) -> None:
    async for _ in signals:
        scope.cancel()


def _refused(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse({"error": sentence}, status, headers)


def _bears(headers: Headers, token: str) -> bool:
    scheme, _, given = headers.get("authorization", "").partition(" ")
    return scheme.lower() == "bearer" and secrets.compare_digest(given.strip().encode(), token.encode())


def _is_own_page(headers: Headers) -> bool:
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc == headers.get("host")


def _security(host: str, token: str | None) -> TransportSecuritySettings:
    if token:
        # Whoever bears the token is no rebound page, and nobody can list the names a machine is called by.
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    names = [f"{name}{port}" for name in (*LOOPBACK, _bracketed(host)) for port in ("", ":*")]
    return TransportSecuritySettings(
        allowed_hosts=names, allowed_origins=[f"http://{name}" for name in names]
    )


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host.strip("[]"), port), family=family)
    except OSError as error:
        # What `socket` adds to the system's words names the address a second time.
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        raise Invalid(f"Cannot listen on {host}:{port}: {why}.") from error


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
