"""LLeMbas as an MCP server, over stdio and streamable HTTP.

    async with Lembas.open(origin="mcp") as lembas:
        await serve_stdio(lembas)

The SDK takes most of a second to import, so nothing is imported before it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lembas_mcp.http import http_app, serve_http
    from lembas_mcp.server import create_server
    from lembas_mcp.stdio import serve_stdio

__all__ = ("create_server", "http_app", "serve_http", "serve_stdio")

_HOMES = {
    "create_server": "lembas_mcp.server",
    "http_app": "lembas_mcp.http",
    "serve_http": "lembas_mcp.http",
    "serve_stdio": "lembas_mcp.stdio",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
