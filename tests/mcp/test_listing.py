"""What clients are told of the tools: everything that some client is known to stumble over."""

from __future__ import annotations

import logging

import pytest
from lembas_core import Lembas
from lembas_mcp import create_server
from lembas_mcp.server import INSTRUCTIONS
from mcp import Client
from mcp.types import Tool
from support.schemas import nodes

NAMES = ["search", "recent", "read_chat", "list_models", "ask"]
READERS = NAMES[:-1]


@pytest.fixture
async def tools(client: Client) -> list[Tool]:
    """The tools of the first page."""
    return (await client.list_tools()).tools


async def test_all_tools_are_on_one_page_in_one_order(client: Client) -> None:
    page = await client.list_tools()
    assert [tool.name for tool in page.tools] == NAMES
    assert page.next_cursor is None


async def test_the_whole_list_is_small(client: Client) -> None:
    page = await client.list_tools()
    assert len(page.model_dump_json(by_alias=True, exclude_none=True)) < 12_000
    assert len(INSTRUCTIONS) < 1_500


async def test_every_tool_says_what_it_does_to_the_world(tools: list[Tool]) -> None:
    for tool in tools:
        hints = tool.annotations
        assert hints is not None and tool.title
        assert hints.read_only_hint is (tool.name in READERS)
        assert hints.idempotent_hint is (tool.name in READERS)
        assert hints.open_world_hint is (tool.name == "ask")
        assert hints.destructive_hint is False


async def test_descriptions_are_short(tools: list[Tool]) -> None:
    assert all(0 < len(tool.description or "") < 400 for tool in tools)


async def test_arguments_are_flat_and_schemas_use_nothing_that_clients_drop(tools: list[Tool]) -> None:
    for tool in tools:
        for schema in (tool.input_schema, tool.output_schema):
            assert schema is not None and schema["type"] == "object"
            words = {keyword for node in nodes(schema) for keyword in node}
            assert not {"$ref", "$defs", "anyOf", "oneOf", "allOf", "const"} & words
        arguments = tool.input_schema["properties"].values()
        assert {argument["type"] for argument in arguments} <= {"string", "integer", "array"}


async def test_making_a_server_leaves_the_programs_logging_alone(
    instance: Lembas, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.root, "handlers", [])
    level = logging.root.level
    create_server(instance)
    assert (logging.root.handlers, logging.root.level) == ([], level)
