from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from lembas_core.endpoints.values import Image, Message, Parameters
from lembas_core.engine.ask import ask
from lembas_core.engine.events import Metrics
from lembas_core.engine.questions import Answer, Question
from lembas_core.engine.reply import Reply
from lembas_core.engine.state import ReplyView, TextBlock
from lembas_core.errors import Unreachable
from lembas_core.testing import Script, call, fault, reasoning, text, usage
from lembas_core.tools.decorator import tool


async def test_one_question_one_reply() -> None:
    async with Script([reasoning("hm"), text("Hello."), usage(5, 2)]) as script:
        reply = await ask("Hi", model=script, system="Be brief.", parameters=Parameters(temperature=0))
    assert (reply.text, reply.reasoning, reply.outcome, reply.finish) == ("Hello.", "hm", "done", "stop")
    assert reply.metrics.completion_tokens == 2
    assert script.requests[0].messages == (Message("system", "Be brief."), Message("user", "Hi"))
    assert script.requests[0].parameters.temperature == 0


async def test_images_go_with_the_prompt() -> None:
    picture = Image("image/png", b"\x89PNG")
    async with Script([text("A cat.")]) as script:
        await ask("What is it?", model=script, images=[picture])
    assert script.requests[0].messages == (Message("user", "What is it?", images=(picture,)),)


async def test_a_failed_reply_is_raised_with_what_had_arrived() -> None:
    error = Unreachable("Connection lost.")
    with pytest.raises(Unreachable, match=r"Connection lost\.") as raised:
        await ask("Hi", model=Script([text("Hel"), fault(error)]))
    assert raised.value.partial == "Hel"


async def test_a_person_can_be_asked() -> None:
    @tool(risk="execute")
    async def run(command: str) -> str:
        """Run a command."""
        return f"ran {command}"

    async def allow(_question: Question) -> Answer:
        return Answer.allow()

    async with Script([call("run", command="ls")], [text("Done.")]) as script:
        await ask("List.", model=script, tools=[run], on_question=allow)
    assert script.requests[1].messages[-1].text == "ran ls"


def test_a_reply_that_never_ended_was_interrupted() -> None:
    view = ReplyView(number=3, text="Hal", blocks=(TextBlock("Hal"),), metrics=Metrics(rounds=2))
    reply = Reply.from_view(view, chat_id="c", message_id="m")
    assert (reply.text, reply.outcome, reply.chat_id, reply.message_id) == ("Hal", "interrupted", "c", "m")
    assert reply.metrics.rounds == 2


def test_asking_without_tools_loads_no_pydantic() -> None:
    code = (
        "import sys, lembas_core.engine.ask, lembas_core.tools.builtin as b; b.builtin_tools();"
        "heavy = {'pydantic', 'sqlalchemy', 'httpx2', 'mcp', 'cryptography'};"
        "print(sorted(heavy & {name.split('.')[0] for name in sys.modules}))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("model", ["qwen3:8b", None])
async def test_a_name_in_place_of_a_model_is_told_as_such(model: Any) -> None:
    with pytest.raises(TypeError, match=r"must be a model such as Endpoint\(url\)\.model\(name\)"):
        await ask("Hi", model=model)
