"""A stop at any moment: the model's slot is free again, what arrived is kept, the next turn just works."""

from __future__ import annotations

import anyio
import pytest
from lembas_core import Endpoint, Lembas, Parameters, tool
from lembas_core.engine.blocks import ToolBlock
from support.journeys import MODEL, Follower, exactly, newest
from support.real_model import CallsFirst, Served

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

PATIENCE = 60
"""Seconds a slot may take to be free: llama.cpp first ends the batch it is at."""

BRIEFLY = exactly(8)


async def test_before_the_first_token(here: Lembas, real_model: Served) -> None:
    chat = here.chat(model=MODEL, titled=False, parameters=exactly(3000))
    # So long that reading it takes the model several batches.
    sent = await chat.start(" ".join(f"{number}." for number in range(200)))
    with anyio.fail_after(PATIENCE):
        while not await real_model.busy():
            pass
    assert await here.stop(sent.reply_id)
    await real_model.idle(PATIENCE)
    stopped = await newest(here, sent.chat_id)
    assert (stopped.status, stopped.text, stopped.blocks) == ("stopped", "", ())
    reply = await chat.say("What was the last number?", parameters=BRIEFLY)
    assert (reply.outcome, bool(reply.text)) == ("done", True)
    assert [m.role for m in await chat.messages()] == ["user", "assistant"] * 2


async def test_in_the_middle(here: Lembas, real_model: Served) -> None:
    chat = here.chat(model=MODEL, titled=False, parameters=exactly(3000))
    seen, stopping = Follower(), False
    async with chat.reply("Tell me of the sea.") as reply:
        async for event in reply:
            seen.hear(event)
            if event.kind == "text" and len(seen.events) > 12 and not stopping:
                stopping = await reply.stop()
    await real_model.idle(PATIENCE)
    stopped = await newest(here, reply.chat_id)
    assert stopping
    assert stopped.status == reply.reply.outcome == "stopped"
    assert stopped.text == reply.reply.text == "".join(e.added for e in seen.events if e.kind == "text")
    assert stopped.text
    assert (await chat.say("Go on.", parameters=BRIEFLY)).outcome == "done"
    request = await chat.request("And then?")
    assert [m.text for m in request.messages][:3] == ["Tell me of the sea.", stopped.text, "Go on."]


async def test_during_a_tool(here: Lembas, tool_model: Served) -> None:
    began, ended = anyio.Event(), anyio.Event()

    @tool
    async def look_up(word: str) -> str:
        """Look a word up."""
        began.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
        return "Nothing is known of it."

    parameters = Parameters(temperature=0, max_tokens=200)
    async with Endpoint(tool_model.url, key=tool_model.key, kind="openai") as endpoint:
        model = CallsFirst(endpoint.model(tool_model.name))
        chat = here.chat(model=model, tools=[look_up], parameters=parameters)
        sent = await chat.start("Look up the word pelican.")
        with anyio.fail_after(PATIENCE):
            await began.wait()
        assert await here.stop(sent.reply_id)
        assert ended.is_set()
        await tool_model.idle(PATIENCE)
        stopped = await newest(here, sent.chat_id)
        assert stopped.status == "stopped"
        calls = [block for block in stopped.blocks if isinstance(block, ToolBlock)]
        assert calls
        assert {(call.name, call.result, call.is_error) for call in calls} == {("look_up", "Stopped.", True)}
        # The next turn has no tools, so that the small model answers in words.
        chat = await here.open_chat(sent.chat_id, model=endpoint.model(tool_model.name), parameters=BRIEFLY)
        assert (await chat.say("Never mind. Say hello.")).outcome == "done"
