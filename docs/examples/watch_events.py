"""Watch a reply arrive: every event once, in order, to the end."""

from __future__ import annotations

import anyio
from lembas_core import Answer, Lembas, LembasError, ModelClient, events


async def main(where: str = "chats.db", model: str | ModelClient | None = None) -> None:
    async with Lembas.open(where) as lembas:  # no model named: the default model
        chat = lembas.chat(model=model)
        async with chat.reply("Compare a pelican with a crane.") as reply:
            async for event in reply:
                match event:
                    case events.Text(added=added):
                        print(added, end="", flush=True)
                    case events.ToolStarted(name=name):
                        print(f"[{name}]")
                    case events.Asking(question=question):
                        await reply.answer(question.id, Answer.allow())
                    case events.Finished(error=LembasError() as error):
                        print(f"\n{error}")  # one sentence that a person can act on
                    case events.Finished(outcome=outcome, metrics=metrics):
                        print(f"\n{outcome} after {metrics.rounds} round(s)")
                    case _:  # new kinds of events may come with any version
                        pass
        print(len(reply.reply.text), "characters")  # leaving early would have stopped it and kept these


if __name__ == "__main__":
    try:
        anyio.run(main)
    except LembasError as error:  # no model yet, a server that is off: one sentence that a person can act on
        raise SystemExit(str(error)) from None
