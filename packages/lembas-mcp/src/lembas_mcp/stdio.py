"""Serving over standard input and output, in whichever protocol era the client speaks."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, cast

import anyio
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCRequest

from lembas_mcp.server import Server, create_server

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectSendStream
    from lembas_core import Lembas

    from lembas_mcp.server import Incoming, Item, Outgoing

__all__ = ("serve_connection", "serve_server", "serve_stdio")


async def serve_stdio(lembas: Lembas, *, legacy: bool = False) -> None:
    """Serve `lembas` to the client that started this process, until it closes our standard input.

    SIGTERM ends it too; calls that run are stopped first. While this runs, standard output carries the
    protocol and a stray `print` goes to standard error.

    Args:
        lembas: An open instance, acting as the person who is served.
        legacy: Answer `server/discover` as servers did before 2026-07-28.
    """
    await serve_server(create_server(lembas, legacy=legacy))


async def serve_server(server: Server) -> None:
    """Serve `server` on this process's standard input and output. Call it in the main thread."""
    with _claimed_stdin() as wire:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_until_terminated, tasks.cancel_scope)
            lines = cast("anyio.AsyncFile[str]", _lines(wire))
            async with stdio_server(stdin=lines) as (read, write):
                try:
                    await serve_connection(server, read, write)
                finally:
                    # What was printed waits in a buffer, and would reach the wire once that is given back.
                    sys.stdout.flush()
            tasks.cancel_scope.cancel()


async def serve_connection(server: Server, read: Incoming, write: Outgoing) -> None:
    """Serve one client until it leaves.

    The SDK fixes the era by the first request, but some clients send `server/discover` and then `initialize`
    nevertheless. So an opening `server/discover` is answered apart and decides nothing.
    """
    opening = await _opening(server, read, write)
    send, receive = anyio.create_memory_object_stream["Item"]()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_relay, opening, read, send)
        await server.serve(receive, write)
        tasks.cancel_scope.cancel()


async def _opening(server: Server, read: Incoming, write: Outgoing) -> list[Item]:
    """What came up to the first request that decides the era; only up to the end when none did."""
    before: list[Item] = []
    async for item in read:
        message = item.message if isinstance(item, SessionMessage) else None
        if not isinstance(message, JSONRPCRequest):
            before.append(item)
        elif message.method == "server/discover":
            await _answer_apart(server, item, write)
        else:
            return [*before, item]
    return before


async def _answer_apart(server: Server, request: Item, write: Outgoing) -> None:
    """Answer one request as if it had come on a connection of its own."""
    send, receive = anyio.create_memory_object_stream["Item"]()
    answered, answers = anyio.create_memory_object_stream[SessionMessage]()
    async with send, answers, anyio.create_task_group() as tasks:
        tasks.start_soon(server.serve, receive, answered)
        await send.send(request)
        await write.send(await answers.receive())
        tasks.cancel_scope.cancel()


async def _relay(opening: list[Item], read: Incoming, send: MemoryObjectSendStream[Item]) -> None:
    async with send:
        for item in opening:
            await send.send(item)
        async for item in read:
            await send.send(item)


async def _until_terminated(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM) as signals:
        async for _ in signals:
            scope.cancel()


@contextmanager
def _claimed_stdin() -> Generator[int]:
    """The wire as a descriptor of its own; meanwhile 0 is empty, also for child processes."""
    wire, empty = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    try:
        yield wire
    finally:
        os.dup2(wire, 0)
        os.close(wire)


async def _lines(descriptor: int) -> AsyncIterator[str]:
    """The lines of a pipe, terminal or file. Waiting for one can be cancelled; a read in a thread cannot."""
    rest = b""
    while chunk := await _chunk(descriptor):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line.decode("utf-8", "replace")


async def _chunk(descriptor: int) -> bytes:
    with suppress(PermissionError):  # a regular file cannot be waited for; it is always readable
        await anyio.wait_readable(descriptor)
    return os.read(descriptor, 65536)
