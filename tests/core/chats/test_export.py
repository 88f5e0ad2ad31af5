"""A chat as Markdown and as JSON."""

from __future__ import annotations

import json
from typing import Any, cast

import anyio
from lembas_core.chats import SCHEMA, ChatSetup, RunWith, chat_schema
from lembas_core.endpoints.values import Image, Parameters
from lembas_core.errors import Unauthorised
from lembas_core.testing import call, fault, pause, reasoning, text, usage
from lembas_core.tools.decorator import tool
from lembas_core.tools.values import Toolset
from support.talking import House, talk


@tool
async def clock() -> str:
    """Tell the time."""
    return "noon"


STEPS = (
    [reasoning("hm"), text("Let me see."), call("clock"), usage(9, 4)],
    [text("It is noon."), usage(20, 5)],
    [text("Noon, I said.")],
    [fault(Unauthorised("The key is wrong."))],
    [text("Half"), pause(anyio.Event())],
)


async def eventful(house: House) -> str:
    """A chat in which much has happened; its id."""
    setup = ChatSetup(
        title="Time", system="Be brief.", parameters=Parameters(seed=1, stop=("\n",)), effort="low"
    )
    sent, _ = await house.said("What time is it?", setup=setup, run=RunWith(tools=Toolset(clock)))
    await house.wait(await house.chats.regenerate(sent.reply_id))
    await house.chats.switch(sent.reply_id)
    await house.said("", chat_id=sent.chat_id, images=[Image("image/png", b"\x89PNG")])
    last = await house.chats.send("And now?", chat_id=sent.chat_id)
    await house.settle()
    await house.replies.stop(last.reply_id)
    return sent.chat_id


async def test_markdown_tells_who_said_what_and_how_it_ended() -> None:
    async with talk(*STEPS) as house:
        exported = await house.chats.export(await eventful(house))
    assert exported == (
        "# Time\n\n*2026-01-01*\n\n"
        "## You\n\nWhat time is it?\n\n"
        "## script\n\n*Tools: `clock`*\n\nLet me see.\n\nIt is noon.\n\n"
        "## You\n\n*1 picture*\n\n"
        "## script\n\n*The key is wrong.*\n\n"
        "## You\n\nAnd now?\n\n"
        "## script\n\nHalf\n\n*Stopped.*\n"
    )


async def test_json_holds_the_conversation_and_every_version() -> None:
    async with talk(*STEPS) as house:
        chat_id = await eventful(house)
        document = json.loads(await house.chats.export(chat_id, "json"))
    assert document["schema"] == SCHEMA == "lembas.chat/1"
    assert document["chat"]["id"] == chat_id
    assert document["chat"]["parameters"] == {"seed": 1, "stop": ["\n"]}
    said = [message["text"] for message in document["messages"]]
    assert said == ["What time is it?", "Let me see.\n\nIt is noon.", "", "", "And now?", "Half"]
    assert [message["text"] for message in document["versions"]] == ["Noon, I said."]
    reply, failed = document["messages"][1], document["messages"][3]
    assert [block["kind"] for block in reply["blocks"]] == ["reasoning", "text", "tool", "text"]
    assert (reply["metrics"]["completion_tokens"], reply["metrics"]["cached_tokens"]) == (9, None)
    assert failed["error"] == {"kind": "Unauthorised", "message": "The key is wrong."}
    assert document["messages"][2]["images"] == [{"media_type": "image/png", "data": "iVBORw=="}]


async def test_an_exchange_is_a_turn_and_its_reply_and_nothing_else() -> None:
    async with talk(*STEPS) as house:
        chat_id = await eventful(house)
        whole = json.loads(await house.chats.export(chat_id, "json"))
        shown, hidden = whole["messages"][3], whole["versions"][0]
        failed = json.loads(await house.chats.export_exchange(shown["id"]))
        version = json.loads(await house.chats.export_exchange(hidden["id"]))
    assert failed == whole | {"messages": whole["messages"][2:4], "versions": []}
    # A version that is no longer shown is printed all the same.
    assert version == whole | {"messages": [whole["messages"][0], hidden], "versions": []}


async def test_exports_follow_their_schema() -> None:
    async with talk(*STEPS) as house:
        document = json.loads(await house.chats.export(await eventful(house), "json"))
    assert problems(document, chat_schema()) == []


def problems(value: Any, schema: dict[str, Any], at: str = "$") -> list[str]:
    """What in `value` breaks `schema`, for the part of JSON Schema that ours is written in."""
    found = list[str]()
    for branches in (schema.get("anyOf"), schema.get("oneOf")):
        if branches is not None and all(problems(value, branch, at) for branch in branches):
            found.append(f"{at}: no branch fits")
    kinds: dict[str, type | tuple[type, ...]] = {
        "object": dict,
        "array": list,
        "string": str,
        "boolean": bool,
        "integer": int,
        "number": (int, float),
        "null": type(None),
    }
    if "type" in schema and not isinstance(value, kinds[schema["type"]]):
        found.append(f"{at}: {value!r} is no {schema['type']}")
    if ("const" in schema and value != schema["const"]) or ("enum" in schema and value not in schema["enum"]):
        found.append(f"{at}: {value!r} is not allowed")
    if isinstance(value, dict):
        found += [f"{at}.{name}: missing" for name in schema.get("required", ()) if name not in value]
        for name, below in schema.get("properties", {}).items():
            if name in value:
                found += problems(value[name], below, f"{at}.{name}")
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(cast("list[Any]", value)):
            found += problems(item, schema["items"], f"{at}[{index}]")
    return found
