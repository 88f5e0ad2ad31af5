"""CPU per streamed chunk: ours beside a raw httpx2 reader and the openai SDK.

    python benchmarks/streaming.py [ROUNDS]

burst: one stream of 20,000 chunks as fast as the socket takes them. paced: 50 streams at once, one chunk each
20 ms and stream. Per chunk = (CPU of the reply - CPU of a reply of one chunk) / chunks. Growth: the exponent
between 8,000 and 64,000 chunks, of text, of reasoning and of the fragments of one tool call's arguments.
"""

from __future__ import annotations

import math
import sys

from harness import OURS, Verdicts, Worker, peer, ratio, show, upstream

BURST, PACED_STREAMS, PACED = 20_000, 50, 100
ADAPTERS = {
    "raw httpx2": (lambda: OURS, "raw"),
    "ask": (lambda: OURS, "lembas_ask"),
    "kept chat": (lambda: OURS, "lembas_kept"),
    "openai SDK": (lambda: peer("openai"), "openai_sdk"),
}


def per_chunk(worker: Worker, chunks: int, streams: int, tail: str = "") -> float:
    """Microseconds of CPU for each chunk."""
    one = worker.ask(f"fake.n1{tail}", streams)["cpu"]
    many = worker.ask(f"fake.n{chunks}{tail}", streams)
    return (many["cpu"] - one) / (streams * (chunks - 1)) * 1e6


def exponent(worker: Worker, name: str) -> float:
    """How CPU grows with the length of a reply."""
    short, long = (min(worker.ask(name.format(n))["cpu"] for _ in range(3)) for n in (8_000, 64_000))
    return math.log(long / short) / math.log(8)


def main(rounds: int) -> None:
    verdicts = Verdicts()
    with upstream() as base:
        workers = {name: Worker(python(), adapter, base) for name, (python, adapter) in ADAPTERS.items()}
        for worker in workers.values():
            assert (
                worker.ask("fake.n200")["characters"] == workers["raw httpx2"].ask("fake.n200")["characters"]
            )
        burst: dict[str, list[float]] = {name: [] for name in workers}
        paced: dict[str, list[float]] = {name: [] for name in workers}
        for _ in range(rounds):
            for name, worker in workers.items():
                burst[name].append(per_chunk(worker, BURST, 1))
                paced[name].append(per_chunk(worker, PACED, PACED_STREAMS, ".d20000"))
        for name in workers:
            print(f"{name:12} burst {show(burst[name], 'us')}   paced {show(paced[name], 'us')}")
        growing = Worker(OURS, "lembas_ask_all", base)
        text, thinking = exponent(growing, "fake.n{}"), exponent(growing, "fake.n1.r{}")
        calls = exponent(growing, "fake.n1.t1.a{}")
        for worker in (*workers.values(), growing):
            worker.close()
    raw, openai = "raw httpx2", "openai SDK"
    verdicts.at_most("ask, burst, times raw httpx2", ratio(burst["ask"], burst[raw]), 1.6)
    verdicts.at_most("ask, 50 paced streams, times raw httpx2", ratio(paced["ask"], paced[raw]), 1.3)
    verdicts.at_most("ask, burst, share of the openai SDK", ratio(burst["ask"], burst[openai]), 1 / 6)
    verdicts.at_most("kept chat, burst, times raw httpx2", ratio(burst["kept chat"], burst[raw]), 1.8)
    verdicts.at_most("growth with the length of a reply, exponent, text", text, 1.05)
    verdicts.at_most("growth, exponent, reasoning", thinking, 1.05)
    verdicts.at_most("growth, exponent, fragments of a tool call", calls, 1.05)
    verdicts.end()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
