"""A test of one's own code: a scripted model in place of a real one."""

from __future__ import annotations

from lembas_core import Answer, Lembas, Question, tool
from lembas_core.testing import Script, call, text

saved: list[str] = []


@tool(risk="write")
async def add_note(title: str) -> str:
    """Save a note for later."""
    saved.append(title)
    return "saved"


async def allow(question: Question) -> Answer:
    return Answer.allow()


async def test_the_note_is_saved() -> None:
    # Each list answers one request; an unexpected request and an unused step both fail the test.
    async with Script([call("add_note", title="Gate")], [text("Noted.")]) as script:
        async with Lembas.open(":memory:") as lembas:
            chat = lembas.chat(model=script, tools=[add_note], on_question=allow)
            reply = await chat.say("Note the gate.")
        assert reply.text == "Noted."
        assert saved == ["Gate"]
        assert [message.role for message in script.requests[1].messages[-2:]] == ["assistant", "tool"]
