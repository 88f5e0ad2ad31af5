"""A real model calls a real tool through the whole loop: bytes, grammar, call, result, words."""

from __future__ import annotations

import pytest
from lembas_core.endpoints import Endpoint
from lembas_core.endpoints.values import Parameters
from lembas_core.engine.ask import ask
from lembas_core.engine.blocks import TextBlock, ToolBlock
from lembas_core.tools.decorator import tool
from support.real_model import CallsFirst, Served

pytestmark = pytest.mark.slow


async def test_the_model_calls_the_tool_and_goes_on_in_words(tool_model: Served) -> None:
    seen: list[tuple[int, int]] = []

    @tool
    def add(a: int, b: int) -> int:
        """Add two whole numbers."""
        seen.append((a, b))
        return a + b

    async with Endpoint(tool_model.url, key=tool_model.key, kind="openai") as endpoint:
        reply = await ask(
            "Use the add tool: how much is 17 plus 25?",
            model=CallsFirst(endpoint.model(tool_model.name)),
            tools=[add],
            parameters=Parameters(temperature=0, max_tokens=200),
        )
    assert set(seen) == {(17, 25)}
    calls = [block for block in reply.blocks if isinstance(block, ToolBlock)]
    assert {block.result for block in calls} == {"42"}
    assert isinstance(reply.blocks[-1], TextBlock)
    assert reply.text.strip()
    await tool_model.idle()
