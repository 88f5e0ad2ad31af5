"""One more turn in a chat of 2,000 messages beside one in a chat of 50.

    python benchmarks/long_chat.py [ROUNDS]

CPU milliseconds of a whole turn, and of a turn without its request: what building the request costs (reading
the path, turning it into messages) and what sending it costs (encoding it, the engine) must grow with what is
sent, and nothing else may. The reply is one chunk. The parts are measured right before the whole.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

import anyio
from harness import Verdicts, show, upstream
from lembas_core import Endpoint, Lembas
from lembas_core.chats import RunWith
from lembas_core.engine.run import run_reply
from lembas_core.testing import Script, text

TURNS = {"50 messages": 25, "2,000 messages": 1000}
Samples = dict[str, list[float]]


async def grown(lembas: Lembas, turns: int) -> str:
    """A chat with so many turns in it."""
    chat = lembas.chat(model=Script(*([text("word " * 60)] for _ in range(turns))))
    for _ in range(turns):
        await chat.say("word " * 60)
    assert chat.id
    return chat.id


async def turn(lembas: Lembas, chat: str, run: RunWith) -> tuple[float, float]:
    """CPU milliseconds of one more turn, and of its request alone."""
    model = run.model
    assert model is not None and not isinstance(model, str)
    began = time.process_time()
    request = await lembas.chats.preview("hi", chat_id=chat, run=run)
    await run_reply(model, request, emit=lambda event: None)
    sent = time.process_time()
    await lembas.wait((await lembas.chats.send("hi", chat_id=chat, run=run)).reply_id)
    return (time.process_time() - sent) * 1e3, (sent - began) * 1e3


async def measure(base: str, rounds: int) -> tuple[Samples, Samples]:
    whole: Samples = {name: [] for name in TURNS}
    request: Samples = {name: [] for name in TURNS}
    with tempfile.TemporaryDirectory() as folder:
        async with (
            Lembas.open(Path(folder) / "bench.db") as lembas,
            Endpoint(base, key="x", kind="openai") as endpoint,
        ):
            run = RunWith(model=endpoint.model("fake.n1"))
            chats = {name: await grown(lembas, turns) for name, turns in TURNS.items()}
            for _ in range(rounds):
                for name, chat in chats.items():
                    both, asked = await turn(lembas, chat, run)
                    whole[name].append(both)
                    request[name].append(asked)
    return whole, request


def main(rounds: int) -> None:
    with upstream() as base:
        whole, request = anyio.run(measure, base, rounds)
    rest: dict[str, float] = {}
    for name in TURNS:
        # Medians first: a difference of single samples would be mostly noise.
        rest[name] = statistics.median(whole[name]) - statistics.median(request[name])
        print(f"{name:15} turn {show(whole[name], 'ms')}, of it the request {show(request[name], 'ms')}")
        print(f"{'':15} the rest {rest[name]:.2f} ms")
    verdicts = Verdicts()
    figure = rest["2,000 messages"] / max(rest["50 messages"], 0.1)
    verdicts.at_most("a turn without its request, 2,000 over 50 messages", figure, 1.3)
    verdicts.end()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
