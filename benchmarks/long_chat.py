"""One more turn in a chat of 2,000 messages beside one in a chat of 50.

    python benchmarks/long_chat.py [ROUNDS]

CPU milliseconds of `say` in all, and of `say` without what building the request costs (reading the path and
turning it into messages), which must grow with what is sent. The reply is one chunk.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import anyio
from harness import Verdicts, ratio, show, upstream
from lembas_core import Endpoint, Lembas
from lembas_core.chats import RunWith
from lembas_core.testing import Script, text

TURNS = {"50 messages": 25, "2,000 messages": 1000}


async def grown(lembas: Lembas, turns: int):
    """A chat with so many turns in it."""
    chat = lembas.chat(model=Script(*([text("word " * 60)] for _ in range(turns))))
    for _ in range(turns):
        await chat.say("word " * 60)
    assert chat.id
    return chat.id


async def measure(base: str, rounds: int) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    whole: dict[str, list[float]] = {name: [] for name in TURNS}
    building: dict[str, list[float]] = {name: [] for name in TURNS}
    with tempfile.TemporaryDirectory() as folder:
        async with (
            Lembas.open(Path(folder) / "bench.db") as lembas,
            Endpoint(base, key="x", kind="openai") as endpoint,
        ):
            run = RunWith(model=endpoint.model("fake.n1"))
            chats = {name: await grown(lembas, turns) for name, turns in TURNS.items()}
            for _ in range(rounds):
                for name, chat in chats.items():
                    began = time.process_time()
                    await lembas.chats.preview("hi", chat_id=chat, run=run)
                    built = time.process_time()
                    await lembas.wait((await lembas.chats.send("hi", chat_id=chat, run=run)).reply_id)
                    ended = time.process_time()
                    building[name].append((built - began) * 1e3)
                    whole[name].append((ended - built) * 1e3)
    return whole, building


def main(rounds: int) -> None:
    with upstream() as base:
        whole, building = anyio.run(measure, base, rounds)
    rest = {
        name: [max(0.01, all_ - built) for all_, built in zip(whole[name], building[name], strict=True)]
        for name in TURNS
    }
    for name in TURNS:
        print(f"{name:15} whole turn {show(whole[name], 'ms')}; without building {show(rest[name], 'ms')}")
    verdicts = Verdicts()
    long, short = rest["2,000 messages"], rest["50 messages"]
    verdicts.at_most("a turn without building the request, 2,000 over 50 messages", ratio(long, short), 1.3)
    verdicts.end()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
