"""A fresh machine, nothing configured: the first minutes at a terminal, in a pipe, and from an MCP client."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from support.command import Command
from support.terminal import Terminal

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

STEADY = ("-o", "temperature=0", "-o", "max_tokens=60")


def test_an_answer_in_a_pipe_goes_on_in_a_second_process_and_is_read_in_a_third(lembas: Command) -> None:
    first = lembas.run("ask", *STEADY, stdin="What is the capital of France?\n", timeout=120)
    assert (first.returncode, first.stderr) == (0, ""), first.stdout
    assert first.stdout.strip()

    second = lembas.run("ask", "-c", "And of Italy?", *STEADY, timeout=120)
    assert second.returncode in (0, 9), second.stderr
    assert second.stderr.splitlines()[0].startswith("Continuing “What is the capital of France?”")
    assert second.stdout.strip()

    (chat,) = json.loads(lembas.run("chats", "list", "--json").stdout)
    shown: dict[str, Any] = json.loads(lembas.run("chats", "show", chat["id"][-8:], "--json").stdout)
    assert [m["text"] for m in shown["messages"]] == [
        "What is the capital of France?",
        first.stdout.removesuffix("\n"),
        "And of Italy?",
        second.stdout.removesuffix("\n"),
    ]
    reply = shown["messages"][1]
    assert (reply["status"], reply["finish"]) == ("done", "stop")
    assert reply["model"].startswith("local/")
    assert reply["metrics"]["completion_tokens"] > 0


def test_the_first_chat_at_a_terminal(lembas: Command) -> None:
    command = lembas.command("chat", *STEADY)
    with Terminal(command, env=lembas.env(), cwd=lembas.home, patience=120) as terminal:
        prompt = terminal.wait_for("\n>")
        terminal.type("What is the capital of France?\r")
        prompt = terminal.wait_for("\n>", after=terminal.wait_for("of France?", after=prompt))
        terminal.type("Thank you.\r")
        terminal.wait_for("\n>", after=terminal.wait_for("Thank you.", after=prompt))
        terminal.type("/quit\r")
        assert terminal.end() == 0
    (chat,) = json.loads(lembas.run("chats", "list", "--json").stdout)
    assert chat["title"]
    assert f"lembas chat --chat {chat['id'][-8:]}" in terminal.text
    messages = json.loads(lembas.run("chats", "show", chat["id"], "--json").stdout)["messages"]
    assert [m["role"] for m in messages] == ["user", "assistant"] * 2
    assert all(m["text"] for m in messages)


async def test_an_mcp_client_reads_the_chat_back_searches_it_and_asks_the_model(
    lembas: Command, tmp_path: Path
) -> None:
    home = replace(lembas, arguments=("--data-dir", str(tmp_path / "data")))
    said = home.run("ask", "What is the capital of France?", *STEADY, timeout=120).stdout.strip()
    program, *arguments = home.command("mcp")
    server = StdioServerParameters(command=program, args=arguments, env=home.env())
    async with Client(server, read_timeout_seconds=120) as client:
        recent = (await client.call_tool("recent", {})).structured_content
        assert recent is not None
        (chat,) = recent["results"]
        read = (await client.call_tool("read_chat", {"id": chat["id"]})).structured_content
        found = (await client.call_tool("search", {"query": "capital France"})).structured_content
        models = (await client.call_tool("list_models", {})).structured_content
        asked = await client.call_tool("ask", {"prompt": "What is the capital of Italy?"})
    assert read is not None and found is not None and models is not None
    assert [m["text"] for m in read["messages"]] == ["What is the capital of France?", said]
    assert {hit["id"].partition("#")[0] for hit in found["results"]} == {chat["id"]}
    assert models["models"][0]["id"].startswith("local/")
    assert asked.structured_content is not None, asked.content
    assert asked.structured_content["text"].strip()
    # What the client asked is a chat like any other.
    listed = json.loads(home.run("chats", "list", "--json").stdout)
    assert [c["origin"] for c in listed] == ["mcp", "cli"]
