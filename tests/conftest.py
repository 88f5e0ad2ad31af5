"""What every test shares."""

from __future__ import annotations

import pytest
from support.command import lembas
from support.leftovers import mark_this_run, pytest_sessionfinish
from support.real_model import real_model, tool_model

__all__ = ("anyio_backend", "lembas", "pytest_sessionfinish", "real_model", "tool_model")

mark_this_run()


@pytest.fixture
def anyio_backend() -> str:
    """The library runs on asyncio."""
    return "asyncio"
