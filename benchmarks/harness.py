"""What all benchmarks share: the fake endpoint, workers in processes of their own, ratios, verdicts.

Only ratios within one run count. Samples of ours and of the peers take turns, so that noise falls on all.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
PEERS = Path(os.environ.get("LEMBAS_PEERS", HERE / ".peers"))
OURS = sys.executable
UPSTREAM_CORE, MEASURED_CORE = 0, 1

# Bytecode that is not written would be compiled anew in every process: nobody's machine is set up so.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k not in {"PYTHONDONTWRITEBYTECODE", "PYTHONPATH"}}


def peer(name: str, program: str = "python") -> str:
    """A program of a peer's own environment (made by install-peers)."""
    path = PEERS / name / "bin" / program
    if not path.exists():
        raise SystemExit(f"{path} is missing: run benchmarks/install-peers first.")
    return str(path)


def pinned(core: int):
    """A preexec function that keeps a process on one core, where there are several."""
    cores = sorted(os.sched_getaffinity(0))
    return lambda: os.sched_setaffinity(0, {cores[core % len(cores)]})


@contextmanager
def upstream() -> Iterator[str]:
    """The fake endpoint in a process of its own; gives its base URL."""
    process = subprocess.Popen(
        [OURS, str(HERE / "upstream.py"), "0"],
        stdout=subprocess.PIPE,
        env=ENVIRONMENT,
        preexec_fn=pinned(UPSTREAM_CORE),
    )
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.kill()
        process.wait()


class Worker:
    """An adapter in its own interpreter, asked in JSON lines (see worker.py)."""

    def __init__(self, python: str, adapter: str, base: str) -> None:
        self.process = subprocess.Popen(
            [python, str(HERE / "worker.py"), str(HERE / "adapters" / f"{adapter}.py"), base],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=ENVIRONMENT | {"OPENAI_API_KEY": "x"},
            preexec_fn=pinned(MEASURED_CORE),
            text=True,
        )

    def ask(self, model: str, streams: int = 1) -> dict[str, float]:
        """Stream `streams` replies at once; gives cpu and wall seconds and the characters that came."""
        assert self.process.stdin is not None and self.process.stdout is not None
        print(json.dumps({"model": model, "streams": streams}), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("a worker died; its error is above")
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The median of the ratios of samples taken side by side."""
    return statistics.median(mine / other for mine, other in zip(ours, theirs, strict=True))


def show(samples: Sequence[float], unit: str) -> str:
    """Median and spread."""
    middle = statistics.median(samples)
    return f"{middle:.3g} {unit} ({min(samples):.3g} to {max(samples):.3g}, {len(samples)} samples)"


class Verdicts:
    """Figures against their targets; `end` exits with 1 when one was missed."""

    def __init__(self) -> None:
        self.missed: list[str] = []

    def at_most(self, what: str, figure: float, target: float) -> None:
        """Say whether `figure` keeps to `target`."""
        kept = figure <= target
        print(f"{'kept  ' if kept else 'MISSED'}  {what}: {figure:.2f} (target: at most {target:g})")
        if not kept:
            self.missed.append(what)

    def end(self) -> None:
        """Exit with 1 when a target was missed."""
        raise SystemExit(1 if self.missed else 0)
