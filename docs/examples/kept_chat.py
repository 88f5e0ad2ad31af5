"""A chat that is kept, with a tool, and a person who decides what the tool may do."""

from __future__ import annotations

import anyio
from lembas_core import Answer, Lembas, LembasError, ModelClient, Question, tool

notes: list[str] = []


@tool(risk="write")
async def add_note(title: str, body: str) -> str:
    """Save a note for later."""
    notes.append(f"{title}: {body}")
    return "saved"


async def decide(question: Question) -> Answer:
    """Allow notes, refuse everything else."""
    if all(call.name == "add_note" for call in question.calls):
        return Answer.allow()
    return Answer.deny("Not from this script.")


async def main(where: str = "chats.db", model: str | ModelClient | None = None) -> None:
    async with Lembas.open(where) as lembas:  # no model named: the default model
        chat = lembas.chat(model=model, tools=[add_note], on_question=decide)
        await chat.say("Note down that the gate opens at nine.")  # the chat is stored here
        assert chat.id is not None

        # Another day it is found again by its id; tools are given again, they are not stored.
        chat = await lembas.open_chat(chat.id, model=model, tools=[add_note], on_question=decide)
        print((await chat.say("When does the gate open?")).text)


if __name__ == "__main__":
    try:
        anyio.run(main)
    except LembasError as error:  # no model yet, a server that is off: one sentence that a person can act on
        raise SystemExit(str(error)) from None
