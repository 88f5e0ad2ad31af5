from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal

import pytest
from lembas_core.tools.decorator import tool
from lembas_core.tools.running import run_tool
from lembas_core.tools.values import Tool, ToolResult, Toolset
from pydantic import Field


@tool(risk="write", family="notes", timeout=5)
async def add_note(  # noqa: D417  # some arguments need no description
    title: str, tags: list[str] | None = None, pinned: bool = False, schema: Literal["a", "b"] = "a"
) -> str:  # some arguments need no description
    """Save a note for later.

    It can be found again by its title.

    Args:
        title: What it is called,
            in a few words.
        tags (list): What it is about.

    Returns:
        Where it is.
    """
    return f"{title}/{tags}/{pinned}/{schema}"


def test_a_function_becomes_a_tool() -> None:
    assert (add_note.name, add_note.risk, add_note.family, add_note.timeout) == (
        "add_note",
        "write",
        "notes",
        5,
    )
    assert add_note.description == "Save a note for later.\n\nIt can be found again by its title."
    properties = add_note.parameters["properties"]
    assert properties["title"] == {"description": "What it is called, in a few words.", "type": "string"}
    assert properties["tags"]["description"] == "What it is about."
    assert properties["pinned"] == {"default": False, "type": "boolean"}
    assert properties["schema"] == {"default": "a", "enum": ["a", "b"], "type": "string"}
    assert add_note.parameters["required"] == ["title"]
    assert "title" not in add_note.parameters


async def test_a_tool_is_still_the_function() -> None:
    assert await add_note("Gate", pinned=True) == "Gate/None/True/a"


async def test_a_bare_decorator_reads_by_default() -> None:
    @tool
    def look() -> str:
        """Look."""
        return "seen"

    assert (look.name, look.risk, look.family, look.timeout) == ("look", "read", "custom", 60)
    assert look.parameters == {"additionalProperties": False, "type": "object", "properties": {}}
    assert look() == "seen"
    assert await run_tool(look, {}) == ToolResult("seen")


async def test_name_and_description_can_be_given() -> None:
    @tool(name="find", description="Find it.")
    async def f(what: str) -> str:
        return what

    assert (f.name, f.description) == ("find", "Find it.")


REFUSED = {
    "rest": "def rest(*args: int) -> None: ...",
    "untyped": "def untyped(what) -> None: ...",
    "unspeakable": "def unspeakable(what: Callable[[], None]) -> None: ...",
    "foreign": "def foreign(what: threading.Thread) -> None: ...",
    "unknown": "def unknown(what: 'Missing') -> None: ...",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_model_cannot_send_is_refused_when_the_tool_is_made(name: str) -> None:
    names: dict[str, Any] = {"Callable": Callable, "threading": threading}
    exec(REFUSED[name], names)
    with pytest.raises(TypeError, match=name):
        tool(description="Do.")(names[name])


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("unspeakable", "the parameter 'what' cannot be collections.abc.Callable[[], None], which no"),
        ("foreign", "the parameter 'what' cannot be threading.Thread, which no model can send: take"),
    ],
)
def test_a_type_that_no_model_can_send_is_told_with_its_parameter(name: str, told: str) -> None:
    names: dict[str, Any] = {"Callable": Callable, "threading": threading}
    exec(REFUSED[name], names)
    with pytest.raises(TypeError) as caught:
        tool(description="Do.")(names[name])
    assert str(caught.value).startswith(f"{name}: {told}")
    assert caught.value.__suppress_context__
    assert "pydantic" not in str(caught.value).lower()


def test_a_tool_needs_a_description() -> None:
    with pytest.raises(ValueError, match="needs a docstring"):
        tool(lambda: None)


@pytest.mark.parametrize("name", ["two words", "x" * 65, "naïve", "a.b", ""])
def test_a_name_that_endpoints_refuse_is_refused_here(name: str) -> None:
    with pytest.raises(ValueError, match="A tool cannot be called"):
        tool(description="Do.", name=name or None)(lambda: None)


@dataclass
class Place:
    city: str
    zip: int


@tool
async def move(
    to: Place, on: date, by: Annotated[int, Field(ge=1, description="Days.")] = 1
) -> dict[str, Any]:
    """Move."""
    return {"to": to, "on": on, "by": by}


async def test_arguments_arrive_as_what_the_hints_say() -> None:
    result = await run_tool(move, {"to": {"city": "Bree", "zip": "12"}, "on": "2026-11-30"})
    assert result.text == '{"to":{"city":"Bree","zip":12},"on":"2026-11-30","by":1}'
    assert move.parameters["properties"]["by"]["minimum"] == 1


@pytest.mark.parametrize("packed", ['{"city": "Bree", "zip": 12}', ' {"city":"Bree","zip":"12"}'])
async def test_an_object_in_a_string_is_understood(packed: str) -> None:
    result = await run_tool(move, {"to": packed, "on": "2026-11-30"})
    assert result.text == '{"to":{"city":"Bree","zip":12},"on":"2026-11-30","by":1}'


async def test_a_list_in_a_string_is_understood_but_text_stays_text() -> None:
    assert (await run_tool(add_note, {"title": "[1]", "tags": '["a"]'})).text == "[1]/['a']/False/a"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "`title` is required."),
        ({"title": "a", "tags": 3}, "`tags`: Input should be a valid list (got 3)."),
        ({"title": "a", "schema": "c"}, "`schema`: Input should be 'a' or 'b' (got 'c')."),
        ({"title": "a", "x": 1}, "There is no argument `x`."),
        ({"title": "a", "tags": '["a"'}, "`tags`: Input should be a valid list"),
    ],
)
async def test_mistakes_are_told_in_words_a_model_can_act_on(arguments: dict[str, Any], said: str) -> None:
    result = await run_tool(add_note, arguments)
    assert result.is_error
    assert said in result.text
    assert add_note.check(arguments) == result.text


async def test_many_mistakes_and_long_values_stay_short() -> None:
    result = await run_tool(add_note, {f"x{at}": "y" * 10_000 for at in range(100)})
    assert len(result.text) < 400
    assert "and 96 more." in result.text


async def test_a_plain_function_runs_in_a_thread_with_the_callers_context() -> None:
    person = contextvars.ContextVar("person", default="nobody")
    person.set("Sam")

    @tool
    def who() -> list[str | bool]:
        """Say who."""
        return [person.get(), threading.current_thread() is threading.main_thread()]

    assert (await run_tool(who, {})).text == '["Sam",false]'


@pytest.mark.parametrize(
    ("returned", "text"),
    [
        ("as it is", "as it is"),
        (None, "Done."),
        (3, "3"),
        ({"a": {1}}, '{"a":[1]}'),
        (object, "<class 'object'>"),
    ],
)
async def test_what_a_function_returns_is_told_as_text(returned: Any, text: str) -> None:
    @tool
    async def give() -> Any:
        """Give."""
        return returned

    assert (await run_tool(give, {})).text.strip('"') == text


def test_tools_offered_together_have_unique_names() -> None:
    with pytest.raises(ValueError, match="Two tools are called 'add_note'"):
        Toolset(add_note, move, add_note)


def test_a_toolset_keeps_its_order() -> None:
    tools: list[Tool] = [move, add_note]
    toolset = Toolset(*tools)
    assert [spec.name for spec in toolset.specs] == ["move", "add_note"]
    assert list(toolset) == tools
    assert len(toolset) == 2
    assert toolset.get("move") is move
    assert toolset.get("look") is None


@pytest.mark.parametrize("risk", ["Write", "exec", "", None])
def test_a_risk_that_is_none_is_refused(risk: Any) -> None:
    def remove(path: str) -> str:
        """Remove a file."""
        return path

    with pytest.raises(ValueError, match="'remove' cannot have the risk"):
        tool(risk=risk)(remove)


@pytest.mark.parametrize("given", ["clock", print, lambda: None])
def test_what_is_no_tool_is_told_as_such(given: Any) -> None:
    with pytest.raises(TypeError, match=r"is no tool: decorate a function with @tool\."):
        Toolset(add_note, given)
