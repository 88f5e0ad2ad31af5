"""200 replies at once in one process, 30 chunks a second each, every one stored.

python benchmarks/many_replies.py [REPLIES]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import anyio
from harness import Verdicts, upstream
from lembas_core import Endpoint, Lembas

CHUNKS, RATE = 150, 30


async def run(base: str, replies: int) -> tuple[list[float], int]:
    """Seconds that each reply took, and how many whole answers the database holds afterwards."""
    took: list[float] = []
    model = f"fake.n{CHUNKS}.d{1_000_000 // RATE}"

    async def one(lembas: Lembas, endpoint: Endpoint) -> None:
        began = time.perf_counter()
        reply = await lembas.chat(model=endpoint.model(model)).say("hi")
        assert reply.outcome == "done", reply
        took.append(time.perf_counter() - began)

    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder) / "bench.db"
        async with Lembas.open(where) as lembas, Endpoint(base, key="x", kind="openai") as endpoint:
            length = len((await lembas.chat(model=endpoint.model(f"fake.n{CHUNKS}")).say("hi")).text)
            async with anyio.create_task_group() as tasks:
                for _ in range(replies):
                    tasks.start_soon(one, lembas, endpoint)
        async with Lembas.open(where) as lembas:
            page = await lembas.chats.list(limit=replies + 1)
            stored = [(await lembas.chats.messages(chat.id))[-1] for chat in page.items]
    whole = sum(len(message.text) == length and message.status == "done" for message in stored)
    return took, whole - 1


def main(replies: int) -> None:
    verdicts = Verdicts()
    with upstream() as base:
        took, whole = anyio.run(run, base, replies)
    print(f"{len(took)} replies ended, {whole} are stored whole")
    verdicts.at_most("replies that are not stored whole", replies - whole, 0)
    verdicts.at_most("slowest stream, times real time", max(took) / (CHUNKS / RATE), 1.2)
    verdicts.end()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
