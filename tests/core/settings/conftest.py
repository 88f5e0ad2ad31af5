from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from lembas_core.config import Config
from lembas_core.instance import Lembas


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config.load(data_dir=tmp_path, file=None, environ={})


@pytest.fixture(params=["memory", "postgresql"])
def database(request: pytest.FixtureRequest) -> str:
    return ":memory:" if request.param == "memory" else request.getfixturevalue("postgresql_url")


@pytest.fixture
async def lembas(config: Config, database: str) -> AsyncGenerator[Lembas]:
    async with Lembas.open(database, config=config) as opened:
        yield opened
