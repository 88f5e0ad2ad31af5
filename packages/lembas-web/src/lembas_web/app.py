"""The application factory: opens an instance while the server runs, tells how it is, and words its faults."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from math import ceil
from typing import TYPE_CHECKING

from lembas_core import Config, Lembas, LembasError, RateLimited
from lembas_core.errors import http_status
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.routing import Route

if TYPE_CHECKING:
    from starlette.requests import Request

__all__ = ("create_app",)


def create_app(source: Lembas | Config | None = None) -> Starlette:
    """An ASGI application over one instance, which requests find at `app.state.lembas`.

    Args:
        source: An open instance, which stays the caller's to close; or a configuration (None: the one that is
            found), from which an instance is opened when the server starts and closed when it stops.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        async with _opened(source) as lembas:
            app.state.lembas = lembas
            yield

    return Starlette(
        routes=[Route("/health", _health), Route("/ready", _ready)],
        lifespan=lifespan,
        exception_handlers={
            LembasError: _tell_ours,
            HTTPException: _tell_http,
            Exception: _tell_nothing,
        },
    )


async def _health(_: Request) -> JSONResponse:
    """The process is alive; nothing else is asked."""
    return JSONResponse({"status": "ok"})


async def _ready(request: Request) -> JSONResponse:
    """The database answers; 503 and why when it does not."""
    lembas: Lembas = request.app.state.lembas
    try:
        await lembas.settings.values()
    except LembasError as error:
        return JSONResponse({"error": str(error)}, 503)
    return JSONResponse({"status": "ok"})


def _opened(source: Lembas | Config | None) -> AbstractAsyncContextManager[Lembas]:
    if isinstance(source, Lembas):
        return nullcontext(source)
    return Lembas.open(config=source, origin="web")


async def _tell_ours(_: Request, error: Exception) -> JSONResponse:
    wait = error.retry_after if isinstance(error, RateLimited) else None
    headers = {} if wait is None else {"Retry-After": str(ceil(wait))}
    return JSONResponse({"error": str(error)}, http_status(error), headers)


async def _tell_http(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": f"{error.detail}."}, error.status_code, error.headers)


async def _tell_nothing(request: Request, error: Exception) -> JSONResponse:
    """What is not ours is for the log alone."""
    return JSONResponse({"error": "Something went wrong here; the server's log says what."}, 500)
