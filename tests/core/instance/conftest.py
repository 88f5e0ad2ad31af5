from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from lembas_core.config import Config
from lembas_core.instance import Lembas


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config.load(data_dir=tmp_path, environ={})


@pytest.fixture
async def lembas(config: Config) -> AsyncGenerator[Lembas]:
    async with Lembas.open(":memory:", config=config) as opened:
        yield opened
