"""What every test shares."""

from __future__ import annotations

import hypothesis
import pytest
from support.command import lembas
from support.databases import lasting, postgresql_server, postgresql_url, store, where
from support.leftovers import mark_this_run, pytest_sessionfinish
from support.real_model import real_model, tool_model

__all__ = (
    "anyio_backend",
    "lasting",
    "lembas",
    "postgresql_server",
    "postgresql_url",
    "pytest_sessionfinish",
    "real_model",
    "store",
    "tool_model",
    "where",
)

mark_this_run()

# How long an example takes says how busy the machine is.
hypothesis.settings.register_profile("lembas", deadline=None)
hypothesis.settings.load_profile("lembas")


@pytest.fixture
def anyio_backend() -> str:
    """The library runs on asyncio."""
    return "asyncio"
