"""Runs an adapter in its own interpreter and answers JSON lines on stdin (see harness.Worker).

An adapter has `make(base_url)`, an async context manager that gives a client, and
`stream(client, model) -> characters`, which streams one reply to "hi".
"""

from __future__ import annotations

import asyncio
import gc
import importlib.util
import json
import sys
import time


async def main(path: str, base: str) -> None:
    spec = importlib.util.spec_from_file_location("adapter", path)
    adapter = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(adapter)
    loop = asyncio.get_running_loop()
    async with adapter.make(base) as client:
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            asked = json.loads(line)
            gc.collect()
            wall, cpu = time.perf_counter(), time.process_time()
            done = await asyncio.gather(
                *(adapter.stream(client, asked["model"]) for _ in range(asked["streams"]))
            )
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            print(json.dumps({"cpu": cpu, "wall": wall, "characters": sum(done)}), flush=True)


asyncio.run(main(*sys.argv[1:]))
