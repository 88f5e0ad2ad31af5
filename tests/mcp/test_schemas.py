"""Schemas as every client accepts them."""

from __future__ import annotations

import json

from lembas_mcp.schemas import plain
from pydantic import BaseModel, Field
from support.schemas import nodes


class Inner(BaseModel):
    title: str = Field(description="A field that is called like a keyword.")
    size: int | None = None


class Outer(BaseModel):
    inner: Inner = Field(description="Said where it is used.")
    many: list[Inner] = []
    by_name: dict[str, Inner] = {}


def test_definitions_are_put_where_they_are_used() -> None:
    schema = plain(Outer.model_json_schema())
    inner = schema["properties"]["inner"]
    assert "$ref" not in json.dumps(schema) and "$defs" not in schema
    assert inner["properties"]["title"]["type"] == "string"
    assert inner == {**schema["properties"]["many"]["items"], "description": "Said where it is used."}
    assert schema["properties"]["by_name"]["additionalProperties"]["required"] == ["title"]


def test_fields_called_title_stay_and_titles_of_schemas_go() -> None:
    schema = plain(Inner.model_json_schema())
    assert list(schema["properties"]) == ["title", "size"]
    assert all("title" not in node for node in nodes(schema) if "type" in node)


def test_a_default_of_null_is_not_told() -> None:
    assert "default" not in plain(Inner.model_json_schema())["properties"]["size"]
