"""The application factory: alive, ready, faults in one sentence, and the instance's life."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx2
import pytest
from anyio.streams.text import TextReceiveStream
from lembas_core import (
    Config,
    Conflict,
    Forbidden,
    Invalid,
    Lembas,
    LembasError,
    NotFound,
    RateLimited,
    StoreError,
    Unreachable,
)
from lembas_web import create_app
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


@asynccontextmanager
async def running(app: Starlette) -> AsyncGenerator[httpx2.AsyncClient]:
    """A client of an application that has started."""
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://lembas.test") as client,
    ):
        yield client


def configured(folder: Path) -> Config:
    return Config.load(data_dir=folder, environ={})


def failing(folder: Path, error: Exception) -> Starlette:
    """An application with a page that fails."""

    async def fail(_: Request) -> Response:
        raise error

    app = create_app(configured(folder))
    app.router.routes.append(Route("/fail", fail))
    return app


async def test_a_configured_application_opens_an_instance_and_is_ready(tmp_path: Path) -> None:
    app = create_app(configured(tmp_path))
    async with running(app) as client:
        for path in ("/health", "/ready"):
            answer = await client.get(path)
            assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
        lembas: Lembas = app.state.lembas
        assert lembas.chats is not None
    with pytest.raises(LembasError):
        await lembas.chats.list()


async def test_an_instance_that_is_handed_over_stays_open(tmp_path: Path) -> None:
    async with Lembas.open(":memory:", config=configured(tmp_path)) as lembas:
        async with running(create_app(lembas)) as client:
            assert (await client.get("/ready")).status_code == 200
        assert (await lembas.chats.list()).items == ()


async def test_it_is_alive_but_not_ready_without_its_database(tmp_path: Path) -> None:
    async with (
        Lembas.open(":memory:", config=configured(tmp_path)) as lembas,
        running(create_app(lembas)) as client,
    ):
        await lembas.store.aclose()
        assert (await client.get("/health")).status_code == 200
        answer = await client.get("/ready")
    assert answer.status_code == 503
    assert answer.json()["error"].endswith(".")


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (NotFound("There is no such chat."), 404),
        (Forbidden("You may not do that."), 403),
        (Conflict("Somebody else changed it first."), 409),
        (Invalid("There is nothing to send."), 422),
        (Unreachable("The endpoint does not answer."), 504),
        (StoreError("The database is full."), 500),
    ],
)
async def test_our_errors_are_told_with_their_status(tmp_path: Path, error: LembasError, status: int) -> None:
    async with running(failing(tmp_path, error)) as client:
        answer = await client.get("/fail")
    assert (answer.status_code, answer.json()) == (status, {"error": str(error)})


@pytest.mark.parametrize(("wait", "told"), [(2.2, "3"), (0.0, "0"), (None, None)])
async def test_a_rate_limit_tells_how_long_to_wait(
    tmp_path: Path, wait: float | None, told: str | None
) -> None:
    async with running(failing(tmp_path, RateLimited("Too many requests.", retry_after=wait))) as client:
        answer = await client.get("/fail")
    assert (answer.status_code, answer.headers.get("Retry-After")) == (429, told)


async def test_what_is_not_ours_is_not_told(tmp_path: Path) -> None:
    async with running(failing(tmp_path, RuntimeError("the key is sk-12345"))) as client:
        answer = await client.get("/fail")
    assert answer.status_code == 500
    assert "sk-12345" not in answer.text and answer.json()["error"].endswith(".")


async def test_unknown_pages_and_methods_are_told_in_json(tmp_path: Path) -> None:
    async with running(create_app(configured(tmp_path))) as client:
        missing, wrong = await client.get("/nothing"), await client.post("/health")
    assert (missing.status_code, missing.json()) == (404, {"error": "Not Found."})
    assert (wrong.status_code, wrong.json()) == (405, {"error": "Method Not Allowed."})
    assert "GET" in wrong.headers["Allow"]


async def test_the_factory_runs_under_uvicorn_and_ends_in_order(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "uvicorn", "--factory", "lembas_web:create_app", "--port", "0"]
    environment = {**os.environ, "LEMBAS_DATA_DIR": str(tmp_path)}
    async with await anyio.open_process(command, env=environment) as process:
        assert process.stderr is not None
        log = ""
        async for words in TextReceiveStream(process.stderr):
            log += words
            if started := re.search(r"running on (http://\S+)", log):
                async with httpx2.AsyncClient() as client:
                    assert (await client.get(f"{started[1]}/ready")).json() == {"status": "ok"}
                process.send_signal(signal.SIGTERM)
                break
        async for words in TextReceiveStream(process.stderr):
            log += words
    assert "Application shutdown complete" in log and "Error" not in log, log
