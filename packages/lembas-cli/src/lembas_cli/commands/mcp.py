"""`lembas mcp`: chats and models for MCP clients."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import click

from lembas_cli.session import Session, pass_session

if TYPE_CHECKING:
    from lembas_core import Lembas

__all__ = ("mcp",)


@click.command()
@click.option("--http", "over_http", is_flag=True, help="Serve streamable HTTP instead of stdio.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on, with --http.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8421,
    show_default=True,
    help="The port to listen on, with --http.",
)
@click.option("--legacy", is_flag=True, help="Refuse server/discover, for clients that stumble over it.")
@pass_session
def mcp(session: Session, over_http: bool, host: str, port: int, legacy: bool) -> int:
    """Serve chats and models to MCP clients, over stdio or HTTP.

    Over stdio a client starts this command itself; nothing but the protocol is written to stdout. Over HTTP
    clients send the token in LEMBAS_MCP_TOKEN, without which only this machine can be served.
    """
    import anyio

    # Here the loop runs in the main thread: a server listens for signals itself.
    return anyio.run(_until_interrupted, session, (host, port) if over_http else None, legacy)


async def _until_interrupted(session: Session, address: tuple[str, int] | None, legacy: bool) -> int:
    import asyncio

    import anyio

    with anyio.CancelScope() as scope:
        # For as long as the loop lives, so that a second Ctrl-C does not fall into what is being closed.
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, scope.cancel)
        await _serve(session, address, legacy)
    return 128 + signal.SIGINT if scope.cancelled_caught else 0


async def _serve(session: Session, address: tuple[str, int] | None, legacy: bool) -> None:
    from lembas_core import Lembas

    async with Lembas.open(config=session.config(), origin="mcp") as lembas:
        if address is None:
            from lembas_mcp import serve_stdio

            await serve_stdio(lembas, legacy=legacy)
        else:
            await _serve_http(session, lembas, address, legacy)


async def _serve_http(session: Session, lembas: Lembas, address: tuple[str, int], legacy: bool) -> None:
    from lembas_mcp import serve_http

    host, port = address
    token = os.environ.get("LEMBAS_MCP_TOKEN") or None

    def listening(url: str) -> None:
        session.out.note(f"Serving MCP at {url}")

    await serve_http(lembas, host, port, token=token, legacy=legacy, listening=listening)
