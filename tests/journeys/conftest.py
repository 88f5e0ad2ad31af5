"""An instance whose model is the real one."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from lembas_core import Lembas
from support.journeys import at_home
from support.real_model import Served


@pytest.fixture
async def here(tmp_path: Path, real_model: Served) -> AsyncGenerator[Lembas]:
    """An instance of its own that knows the real model."""
    async with at_home(tmp_path / "data", real_model) as lembas:
        yield lembas
