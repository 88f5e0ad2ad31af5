"""A real server on loopback: who may come in, both eras, progress on the way, and hanging up."""

from __future__ import annotations

import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import httpx2
import pytest
from anyio.abc import TaskStatus
from lembas_core import Invalid, Lembas
from lembas_core.testing import Script, pause, serve_script, text
from lembas_mcp import create_server, http_app, serve_http
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

LISTING: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPT = {"Accept": "application/json, text/event-stream"}
TOKEN = "a token that nobody guesses"


@asynccontextmanager
async def served(instance: Lembas, host: str = "127.0.0.1", **options: Any) -> AsyncGenerator[str]:
    """The address of a server that runs in this process."""

    async def serve(*, task_status: TaskStatus[str]) -> None:
        await serve_http(instance, host, 0, listening=task_status.started, **options)

    async with anyio.create_task_group() as tasks:
        yield await tasks.start(serve)
        tasks.cancel_scope.cancel()


async def status(url: str, method: str = "POST", **headers: str) -> int:
    """What a plain request is answered with."""
    async with httpx2.AsyncClient() as http:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        body = LISTING if method == "POST" else None
        return (await http.request(method, url, json=body, headers={**ACCEPT, **named})).status_code


@pytest.mark.parametrize("mode", ["2026-07-28", "auto", "legacy"])
async def test_a_client_of_either_era_reads_a_chat_back(instance: Lembas, mode: str) -> None:
    async with Script([text("Slowly, in mallorn leaves.")]) as script:
        await instance.chat(model=script, titled=False).say("How is waybread baked?")
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with (
        served(instance, token=TOKEN) as url,
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        (chat,) = structured(await client.call_tool("recent", {}))["results"]
        transcript = structured(await client.call_tool("read_chat", {"id": chat["id"]}))
    assert transcript["messages"][1]["text"] == "Slowly, in mallorn leaves."


async def test_only_who_bears_the_token_comes_in(instance: Lembas) -> None:
    async with served(instance, token=TOKEN) as url:
        async with httpx2.AsyncClient() as http:
            refused = await http.post(url, json=LISTING, headers=ACCEPT)
        assert (refused.status_code, refused.headers["WWW-Authenticate"]) == (401, "Bearer")
        assert refused.json() == {"error": "A bearer token is needed here."}
        for wrong in ("Bearer", f"Basic {TOKEN}", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", TOKEN):
            assert await status(url, Authorization=wrong) == 401
        assert await status(url, "GET") == 401
        assert await status(url, Authorization=f"bearer {TOKEN}") == 200
        assert await status(url, Authorization=f"Bearer {TOKEN}", Host="lembas.example") == 200
        assert await status(url, Authorization=f"Bearer {TOKEN}", Origin="https://evil.example") == 403


async def test_without_a_token_only_pages_of_this_machine_come_in(instance: Lembas) -> None:
    async with served(instance) as url:
        assert await status(url) == 200
        assert await status(url, Origin="http://localhost:3000") == 200
        assert await status(url, Origin="https://evil.example") == 403
        assert await status(url, Host="evil.example") == 421


async def test_only_post_is_served_with_and_without_a_slash(instance: Lembas) -> None:
    async with served(instance) as url, httpx2.AsyncClient() as http:
        for method in ("GET", "DELETE", "PUT"):
            refused = await http.request(method, url, headers={"Accept": "text/event-stream"})
            assert (refused.status_code, refused.headers["Allow"]) == (405, "POST")
        assert await status(url + "/") == 200
        assert await status(url + "/elsewhere") == 404


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "lembas.example"])
async def test_an_address_others_can_reach_needs_a_token(instance: Lembas, host: str) -> None:
    with pytest.raises(Invalid, match="give a token"):
        await serve_http(instance, host, 0)
    with pytest.raises(Invalid, match="give a token"):
        http_app(create_server(instance), host=host, token="")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "localhost", "::1", "[::1]"])
async def test_loopback_needs_none(instance: Lembas, host: str) -> None:
    async with served(instance, host) as url:
        assert await status(url) == 200


async def test_a_taken_port_is_told_in_one_sentence(instance: Lembas) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Invalid, match=rf"^Cannot listen on 127.0.0.1:{port}: Address already in use\.$"):
            await serve_http(instance, port=port)


async def test_a_server_can_be_made_and_run_again(instance: Lembas) -> None:
    for _ in range(2):
        async with served(instance) as url:
            assert await status(url) == 200


async def test_discover_can_be_refused_for_clients_that_stumble(instance: Lembas) -> None:
    async with served(instance, legacy=True) as url, Client(url) as client:
        assert client.protocol_version == "2025-11-25"
        assert (await client.list_tools()).tools


@pytest.mark.parametrize("mode", ["2026-07-28", "legacy"])
async def test_progress_comes_while_the_model_writes_and_hanging_up_stops_it(
    instance: Lembas, mode: str
) -> None:
    never, heard = anyio.Event(), anyio.Event()

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        assert (progress > 0, total, message) == (True, None, "Half an ")
        heard.set()

    async with serve_script([text("Half an "), pause(never)]) as server, served(instance) as url:
        await instance.settings.set("titles", False)
        await instance.connections.add(server.url, name="fake", kind="openai")
        async with Client(url, mode=mode) as client, anyio.create_task_group() as tasks:
            asking = partial(client.call_tool, "ask", {"prompt": "Go on."}, progress_callback=hear)
            tasks.start_soon(asking)
            with anyio.fail_after(20):
                await heard.wait()
            tasks.cancel_scope.cancel()
        (chat,) = (await instance.chats.list()).items
        with anyio.fail_after(20):
            reply = await instance.wait((await instance.chats.messages(chat.id))[-1].id)
        with anyio.fail_after(20):
            while server.streaming:
                await anyio.lowlevel.checkpoint()
    assert (reply.outcome, reply.text, server.left) == ("stopped", "Half an ", 1)


def structured(result: Any) -> dict[str, Any]:
    """The structured answer of a call."""
    assert not result.is_error, result.content
    return result.structured_content
