"""What a client can do with a person's chats: find, list, read, and ask models."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from anyio.abc import TaskStatus
from lembas_core import Answer, Lembas, Unreachable, tool
from lembas_core.testing import Script, ScriptServer, call, fault, pause, reasoning, serve_script, text, usage
from lembas_mcp import create_server
from lembas_mcp.asking import DEPTH_KEY
from lembas_mcp.results import CHARACTERS
from lembas_mcp.server import Server
from mcp import Client
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, TextContent


def said(result: CallToolResult) -> str:
    """The text of a result."""
    return "".join(block.text for block in result.content if isinstance(block, TextContent))


async def facts(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    """The structured answer of a tool that succeeds; the text must hold its words too."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, said(result)
    assert result.structured_content is not None
    return result.structured_content


async def refusal(client: Client, name: str, **arguments: Any) -> str:
    """The sentence of a tool that refuses."""
    result = await client.call_tool(name, arguments)
    assert result.is_error and result.structured_content is None
    return said(result)


async def keep(instance: Lembas, question: str, *answers: str) -> str:
    """A chat made through the library, one reply to the same question after the other; its id."""
    async with Script(*([text(answer)] for answer in answers)) as script:
        chat = instance.chat(model=script, titled=False)
        for _ in answers:
            await chat.say(question)
    assert chat.id is not None
    return chat.id


async def connect(instance: Lembas, server: ScriptServer) -> None:
    """Make the scripted model the one that is asked."""
    await instance.settings.set("titles", False)
    await instance.connections.add(server.url, name="fake", kind="openai")
    await instance.models.refresh()


async def half_an_answer(
    client: Client, answers: list[CallToolResult] | None = None, *, task_status: TaskStatus[None]
) -> None:
    """Ask; started once "Half an " has come through."""

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        assert (progress > 0, total, message) == (True, None, "Half an ")
        task_status.started()

    answer = await client.call_tool("ask", {"prompt": "Go on."}, progress_callback=hear)
    if answers is not None:
        answers.append(answer)


async def test_a_chat_made_through_the_library_is_found_listed_and_read(
    instance: Lembas, client: Client
) -> None:
    chat_id = await keep(instance, "How is waybread baked?", "Slowly, in mallorn leaves.")
    (found,) = [
        hit for hit in (await facts(client, "search", query="mallorn"))["results"] if hit["where"] != "title"
    ]
    (listed,) = (await facts(client, "recent"))["results"]
    transcript = await facts(client, "read_chat", id=found["id"])
    assert found["kind"] == "chat" and "**mallorn**" in found["text"] and found["where"] == "assistant"
    assert listed["id"] == transcript["id"] == chat_id
    assert listed["title"] == transcript["title"] == found["title"] == "How is waybread baked?"
    assert [(m["role"], m["text"]) for m in transcript["messages"]] == [
        ("user", "How is waybread baked?"),
        ("assistant", "Slowly, in mallorn leaves."),
    ]
    assert transcript["previous"] == "" and transcript["model"] == "script"


async def test_the_text_holds_what_the_structured_answer_holds(instance: Lembas, client: Client) -> None:
    chat_id = await keep(instance, "How is waybread baked?", "Slowly, in mallorn leaves.")
    for name, arguments in (
        ("recent", {}),
        ("search", {"query": "waybread"}),
        ("read_chat", {"id": chat_id}),
    ):
        words = said(await client.call_tool(name, arguments))
        assert "How is waybread baked?" in words and chat_id in words
    assert "Slowly, in mallorn leaves." in words  # pyright: ignore[reportPossiblyUnbound]


async def test_arguments_go_by_the_names_that_models_guess(instance: Lembas, client: Client) -> None:
    chat_id = await keep(instance, "How is waybread baked?", "Slowly.")
    for guess in ({"q": "waybread"}, {"text": "waybread", "max_results": "3", "kinds": "chats, chat"}):
        assert (await facts(client, "search", **guess))["results"]
    for guess in ({"page_size": 1.0}, {"kinds": '["chats"]'}, {"limit": None, "kinds": None}):
        assert len((await facts(client, "recent", **guess))["results"]) == 1
    for guess in ({"chat": chat_id}, {"url": f"lembas://chat/{chat_id}"}):
        assert (await facts(client, "read_chat", **guess))["id"] == chat_id


async def test_too_large_a_page_is_cut_and_next_goes_on(instance: Lembas, client: Client) -> None:
    made = [await keep(instance, f"Question {number}", "Answer.") for number in range(5)]
    listed: list[str] = []
    cursor = ""
    while True:
        page = await facts(client, "recent", limit=2, cursor=cursor)
        listed += [hit["id"] for hit in page["results"]]
        if not (cursor := page["next"]):
            break
    assert listed == made[::-1]
    assert len((await facts(client, "recent", limit=100_000))["results"]) == 5
    assert len((await facts(client, "search", query="question", limit=-1))["results"]) == 1


async def test_a_long_message_is_read_in_parts_that_join_to_the_whole(
    instance: Lembas, client: Client
) -> None:
    long = " ".join(f"word{number}" for number in range(8_000))
    chat_id = await keep(instance, "Count.", long)
    page = await facts(client, "read_chat", id=chat_id)
    parts: list[str] = []
    while True:
        assert sum(len(message["text"]) for message in page["messages"]) <= CHARACTERS
        parts += [message["text"] for message in reversed(page["messages"])]
        if not page["previous"]:
            break
        page = await facts(client, "read_chat", id=chat_id, before=page["previous"])
    assert "".join(reversed(parts)) == "Count." + long


async def test_a_hit_in_a_long_chat_opens_where_it_is(instance: Lembas, client: Client) -> None:
    answers = [f"Stone {number}." for number in range(30)]
    answers[3] = "The palantír shows far things."
    chat_id = await keep(instance, "Next?", *answers)
    (hit,) = (await facts(client, "search", query="palantír"))["results"]
    page = await facts(client, "read_chat", id=hit["id"], limit=3)
    assert [message["text"] for message in page["messages"]] == ["Stone 2.", "Next?", answers[3]]
    earlier = await facts(client, "read_chat", id=chat_id, before=page["previous"], limit=2)
    assert [message["text"] for message in earlier["messages"]] == ["Stone 1.", "Next?"]


async def test_only_what_is_newer_than_a_date_is_found(instance: Lembas, client: Client) -> None:
    await keep(instance, "How is waybread baked?", "Slowly.")
    assert (await facts(client, "search", query="waybread", since="2020-01-01"))["results"]
    assert not (await facts(client, "search", query="waybread", since="2999-01-01T00:00:00Z"))["results"]


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        ("search", {}, "query: Field required."),
        ("search", {"query": " "}, "There is nothing to search for"),
        ("search", {"query": "a", "since": "yesterday"}, "`since` is an ISO date like 2026-11-30"),
        ("recent", {"kinds": "notes"}, "There are no notes to look through, only chats."),
        ("recent", {"limit": "many"}, "limit: Input should be a valid integer"),
        ("read_chat", {"id": "nothing-like-it"}, "chat"),
        ("ask", {"prompt": ""}, ""),
        ("ask", {"prompt": "Hello", "chat": "nothing-like-it"}, "chat"),
        ("ask", {"prompt": "Hello", "model": "no-such-model"}, "There is no model 'no-such-model'"),
        ("no_such_tool", {}, "no_such_tool"),
    ],
)
async def test_a_mistake_is_told_in_one_sentence(
    client: Client, name: str, arguments: dict[str, Any], sentence: str
) -> None:
    told = await refusal(client, name, **arguments)
    assert sentence in told and "Error executing" not in told and "\n" not in told


async def test_what_breaks_in_a_tool_is_not_told_to_the_client(caplog: pytest.LogCaptureFixture) -> None:
    def leaky() -> str:
        """Breaks."""
        raise RuntimeError("the key is sk-12345")

    async with Client(Server([Tool.from_function(leaky)])) as client:
        told = await refusal(client, "leaky")
    assert told == "Error executing tool leaky"
    assert "sk-12345" in caplog.text


async def test_nobody_sees_the_chats_of_others(instance: Lembas) -> None:
    chat_id = await keep(instance, "How is waybread baked?", "Slowly.")
    other = await instance.people.create_admin("frodo", "a long enough password")
    stranger = await instance.people.create_admin("sam", "a long enough password")
    assert other.id != stranger.id
    async with Client(create_server(instance.acting_as(stranger))) as client:
        assert (await facts(client, "recent"))["results"] == []
        assert (await facts(client, "search", query="waybread"))["results"] == []
        told = await refusal(client, "read_chat", id=chat_id)
        assert told == await refusal(client, "read_chat", id=chat_id[:-1] + "0")


async def test_models_are_listed_with_what_is_known_of_them(instance: Lembas, client: Client) -> None:
    async with serve_script(name="smial-7b") as server:
        await instance.connections.add(server.url, name="shire", kind="openai")
        (entry,) = [m for m in (await facts(client, "list_models"))["models"] if m["name"] == "smial-7b"]
    assert entry == {"id": "shire/smial-7b", "name": "smial-7b"}


async def test_many_models_are_listed_page_by_page(instance: Lembas, client: Client) -> None:
    async with serve_script(name="one") as one, serve_script(name="two") as two:
        for server in (one, two):
            await instance.connections.add(server.url, name=server.name, kind="openai")
        pages = [await facts(client, "list_models", limit=1)]
        while pages[-1]["next"]:
            pages.append(await facts(client, "list_models", limit=1, cursor=pages[-1]["next"]))
        whole = await facts(client, "list_models")
        assert "not a place" in await refusal(client, "list_models", cursor="gone/model")
    assert [page["models"] for page in pages] == [[model] for model in whole["models"]]
    assert [model["name"] for model in whole["models"]][:2] == ["one", "two"] and not whole["next"]


async def test_an_answer_is_kept_and_the_conversation_goes_on(instance: Lembas, client: Client) -> None:
    async with serve_script([text("Two."), usage(9, 2)], [text("Four.")]) as server:
        await connect(instance, server)
        first = await facts(client, "ask", prompt="One and one?")
        second = await facts(client, "ask", prompt="And twice that?", chat=first["chat"])
    assert (first["text"], first["finish"], first["model"]) == ("Two.", "stop", "fake/script")
    assert first["usage"]["prompt_tokens"] == 9 and "cached_tokens" not in first["usage"]
    assert second["chat"] == first["chat"]
    chat = await instance.chats.get(first["chat"])
    assert chat.origin == "mcp"
    assert [m.text for m in await instance.chats.messages(chat.id)] == [
        "One and one?",
        "Two.",
        "And twice that?",
        "Four.",
    ]


async def test_a_failed_reply_is_one_sentence_and_what_arrived_is_kept(
    instance: Lembas, client: Client
) -> None:
    async with serve_script([text("Half an "), fault(Unreachable("gone"))]) as server:
        await connect(instance, server)
        told = await refusal(client, "ask", prompt="Go on.")
    (chat,) = (await instance.chats.list()).items
    assert told.endswith(f"What had arrived is kept in chat {chat.id}.")
    assert (await instance.chats.messages(chat.id))[-1].text == "Half an "


async def test_progress_tells_the_text_as_it_arrives(instance: Lembas, client: Client) -> None:
    told: list[tuple[float, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        assert total is None
        told.append((progress, message))

    async with serve_script([reasoning("Hm."), text("One two three.", cuts=(4, 8))]) as server:
        await connect(instance, server)
        await client.call_tool("ask", {"prompt": "Count."}, progress_callback=hear)
    numbers = [number for number, _ in told]
    assert numbers == sorted(set(numbers)) and numbers
    assert "".join(message or "" for _, message in told).removeprefix("Thinking…") == "One two three."


async def test_a_caller_who_leaves_stops_the_reply_and_frees_the_slot(
    instance: Lembas, client: Client
) -> None:
    async with serve_script([text("Half an "), pause(anyio.Event())]) as server:
        await connect(instance, server)
        async with anyio.create_task_group() as tasks:
            await tasks.start(half_an_answer, client)
            tasks.cancel_scope.cancel()
        (chat,) = (await instance.chats.list()).items
        reply = (await instance.chats.messages(chat.id))[-1]
        with anyio.fail_after(20):
            while reply.status == "running" or server.streaming:
                await anyio.wait_all_tasks_blocked()
                reply = await instance.chats.message(reply.id)
    assert (reply.status, reply.text) == ("stopped", "Half an ")
    assert server.left == 1


async def test_a_reply_that_somebody_else_stops_is_answered_with_what_arrived(
    instance: Lembas, client: Client
) -> None:
    answers: list[CallToolResult] = []
    async with serve_script([text("Half an "), pause(anyio.Event())]) as server:
        await connect(instance, server)
        async with anyio.create_task_group() as tasks:
            await tasks.start(half_an_answer, client, answers)
            (chat,) = (await instance.chats.list()).items
            await instance.stop((await instance.chats.messages(chat.id))[-1].id)
    told = answers[0].structured_content
    assert told is not None and (told["text"], told["finish"]) == ("Half an ", "stopped")


async def test_a_very_long_answer_is_cut_and_the_rest_can_be_read(instance: Lembas, client: Client) -> None:
    long = "ab" * CHARACTERS
    async with serve_script([text(long)]) as server:
        await connect(instance, server)
        answer = await facts(client, "ask", prompt="Say it.")
    assert answer["text"] == long[:CHARACTERS]
    end = await facts(client, "read_chat", id=answer["next"])
    assert answer["text"] + end["messages"][-1]["text"] == long


async def test_a_call_that_comes_from_our_own_replies_ends_at_depth_two(client: Client) -> None:
    result = await client.call_tool("ask", {"prompt": "Hello"}, meta={DEPTH_KEY: 2})
    assert result.is_error and "in a circle" in said(result)


async def test_tools_that_ran_are_named_and_unfinished_replies_say_so(
    instance: Lembas, client: Client
) -> None:
    @tool(risk="read")
    def weigh(what: str) -> str:
        """Weigh something."""
        return f"{what}: light"

    async def allow(_: object) -> Answer:
        return Answer.allow()

    async with Script(
        [call("weigh", what="waybread")], [text("Light."), fault(Unreachable("gone"))]
    ) as script:
        chat = instance.chat(model=script, tools=[weigh], titled=False, on_question=allow)
        with pytest.raises(Unreachable):
            await chat.say("How heavy?")
    assert chat.id is not None
    reply = (await facts(client, "read_chat", id=chat.id))["messages"][-1]
    assert (reply["tools"], reply["status"], reply["text"]) == (["weigh"], "error", "Light.")
