"""One more turn in a chat of 2,000 messages beside one in a chat of 50.

    python benchmarks/long_chat.py [ROUNDS]

CPU milliseconds of a turn with a reply of one chunk, cut where the request leaves: until `send` returns, from
there until the model is asked (the path is read, the request is built), while the model streams (the request
is encoded and sent), and until the reply is stored and told. Only the two in the middle may grow.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import anyio
from harness import Verdicts, upstream
from lembas_core import Endpoint, Lembas, ModelClient, Request
from lembas_core.chats import RunWith
from lembas_core.testing import Script, text

TURNS = {"50 messages": 25, "2,000 messages": 1000}
STAGES = ("send", "build the request", "stream", "store and tell")


class Timed:
    """A model that notes when it is asked and when its stream is over."""

    def __init__(self, model: ModelClient) -> None:
        self.model, self.name = model, model.name
        self.asked = self.left = 0.0

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator:
        self.asked = time.process_time()
        async with self.model.stream(request) as parts:
            yield parts
        self.left = time.process_time()


async def grown(lembas: Lembas, turns: int) -> str:
    """A chat with so many turns in it."""
    chat = lembas.chat(model=Script(*([text("word " * 60)] for _ in range(turns))))
    for _ in range(turns):
        await chat.say("word " * 60)
    assert chat.id
    return chat.id


async def turn(lembas: Lembas, chat: str, model: Timed) -> list[float]:
    """CPU milliseconds of each stage of one more turn."""
    began = time.process_time()
    sent = await lembas.chats.send("hi", chat_id=chat, run=RunWith(model=model))
    returned = time.process_time()
    await lembas.wait(sent.reply_id)
    moments = (began, returned, model.asked, model.left, time.process_time())
    return [(after - before) * 1e3 for before, after in pairwise(moments)]


async def measure(base: str, rounds: int) -> dict[str, list[float]]:
    samples: dict[str, list[list[float]]] = {name: [] for name in TURNS}
    with tempfile.TemporaryDirectory() as folder:
        async with (
            Lembas.open(Path(folder) / "bench.db") as lembas,
            Endpoint(base, key="x", kind="openai") as endpoint,
        ):
            model = Timed(endpoint.model("fake.n1"))
            chats = {name: await grown(lembas, turns) for name, turns in TURNS.items()}
            for _ in range(rounds):
                for name, chat in chats.items():
                    samples[name].append(await turn(lembas, chat, model))
    return {
        name: [statistics.median(stage) for stage in zip(*rows, strict=True)]
        for name, rows in samples.items()
    }


def main(rounds: int) -> None:
    with upstream() as base:
        stages = anyio.run(measure, base, rounds)
    for name, taken in stages.items():
        told = ", ".join(f"{stage} {took:.2f}" for stage, took in zip(STAGES, taken, strict=True))
        print(f"{name:15} {told} ms")
    rest = {name: taken[0] + taken[3] for name, taken in stages.items()}
    verdicts = Verdicts()
    figure = rest["2,000 messages"] / rest["50 messages"]
    verdicts.at_most("a turn without its request, 2,000 over 50 messages", figure, 1.3)
    verdicts.end()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
