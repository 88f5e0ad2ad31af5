"""An instance in memory, and clients of its MCP server in both protocol eras."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from lembas_core import Config, Lembas
from lembas_mcp import create_server
from mcp import Client


@pytest.fixture
async def instance(tmp_path: Path) -> AsyncGenerator[Lembas]:
    """An instance that nothing else uses."""
    config = Config.load(data_dir=tmp_path, environ={})
    async with Lembas.open(":memory:", config=config, origin="mcp") as opened:
        yield opened


@pytest.fixture(params=["2026-07-28", "legacy"])
async def client(instance: Lembas, request: pytest.FixtureRequest) -> AsyncGenerator[Client]:
    """A client of the instance's server, without a wire."""
    async with Client(create_server(instance), mode=request.param) as connected:
        yield connected
