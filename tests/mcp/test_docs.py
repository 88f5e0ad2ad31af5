"""The reference tells the truth about every tool: this test writes what it must say."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lembas_core import Lembas
from lembas_mcp import create_server
from lembas_mcp.http import PORT
from lembas_mcp.results import CHARACTERS
from mcp import Client
from mcp.types import Tool, ToolAnnotations

DOCS = Path(__file__).parents[2] / "docs"
REFERENCE = (DOCS / "reference" / "mcp.md").read_text("utf-8")
HOW_TO = (DOCS / "how-to" / "mcp.md").read_text("utf-8")


async def test_the_reference_describes_every_tool_as_it_is(instance: Lembas) -> None:
    async with Client(create_server(instance)) as client:
        tools = (await client.list_tools()).tools
    told = REFERENCE.partition("## Tools\n")[2]
    assert told == "".join(f"\n{section(tool)}" for tool in tools)


def test_figures_and_addresses_in_the_documentation_are_the_real_ones() -> None:
    assert f"at most {CHARACTERS:,} characters" in REFERENCE
    assert f"http://127.0.0.1:{PORT}/mcp" in HOW_TO


def test_the_example_in_the_how_to_is_whole() -> None:
    example = HOW_TO.partition("```python\n")[2].partition("```")[0]
    names: dict[str, object] = {}
    exec(example.replace("anyio.run(main)\n", ""), names)
    assert callable(names["main"]) and "anyio.run(main)" in example


def section(tool: Tool) -> str:
    """What the reference says of a tool."""
    lines = [f"### `{tool.name}`", "", f"**{tool.title}.** {tool.description} {_hints(tool.annotations)}", ""]
    if tool.input_schema["properties"]:
        lines += ["| argument | type | default | |", "|---|---|---|---|", *_arguments(tool.input_schema), ""]
    lines += ["| answer | type | |", "|---|---|---|", *_answers(tool.output_schema or {}), ""]
    return "\n".join(lines)


def _hints(hints: ToolAnnotations | None) -> str:
    assert hints is not None
    return "Reads only." if hints.read_only_hint else "Writes, destroys nothing, and reaches a model."


def _arguments(schema: Mapping[str, Any]) -> Iterator[str]:
    for name, field in schema["properties"].items():
        default = f"`{json.dumps(field['default'])}`" if "default" in field else "needed"
        yield f"| `{name}` | {_type(field)} | {default} | {field['description']} |"


def _answers(schema: Mapping[str, Any], inside: str = "") -> Iterator[str]:
    for name, field in schema["properties"].items():
        yield f"| `{inside}{name}` | {_type(field)} | {field.get('description', '')} |"
        deeper = field.get("items", field)
        if "properties" in deeper:
            yield from _answers(deeper, f"{inside}{name}{'[]' if deeper is not field else ''}.")


def _type(field: Mapping[str, Any]) -> str:
    return f"list of {field['items']['type']}s" if field["type"] == "array" else str(field["type"])
