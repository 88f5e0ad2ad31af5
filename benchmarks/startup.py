"""Wall time of whole commands: ours beside bare Python and the `llm` tool.

    python benchmarks/startup.py [ROUNDS]

`lembas ask` and `llm` ask the same fake endpoint for 20 chunks and store the exchange. Bytecode is compiled
for both. Commands take turns, round by round.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

from harness import ENVIRONMENT, HERE, MEASURED_CORE, OURS, Verdicts, peer, pinned, ratio, show, upstream

LEMBAS = str(Path(OURS).parent / "lembas")


def seconds(command: list[str], environment: dict[str, str]) -> float:
    """How long a command takes, in milliseconds; it must succeed."""
    began = time.perf_counter()
    subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env=environment,
        preexec_fn=pinned(MEASURED_CORE),
        check=True,
    )
    return (time.perf_counter() - began) * 1e3


def commands(base: str) -> dict[str, list[str]]:
    """What is timed."""
    return {
        "python -c pass": [OURS, "-c", "pass"],
        "lembas --version": [LEMBAS, "--version"],
        "lembas --help": [LEMBAS, "--help"],
        "lembas ask": [LEMBAS, "ask", "--url", base, "-m", "fake.n20", "hi"],
        "llm": [peer("llm", "llm"), "-m", "fake", "hi"],
    }


def prepared(folder: Path, base: str) -> dict[str, str]:
    """An environment in which both tools keep their data in `folder` and llm knows the endpoint."""
    (folder / "llm").mkdir()
    known = f"- model_id: fake\n  model_name: fake.n20\n  api_base: {base}\n"
    (folder / "llm" / "extra-openai-models.yaml").write_text(known)
    own = {
        "LLM_USER_PATH": str(folder / "llm"),
        "LEMBAS_DATA_DIR": str(folder / "lembas"),
        "OPENAI_API_KEY": "x",
    }
    return ENVIRONMENT | own


def main(rounds: int) -> None:
    verdicts = Verdicts()
    installed = str(Path(sysconfig.get_paths()["purelib"]))
    subprocess.run([OURS, "-m", "compileall", "-q", installed, "packages"], check=True, cwd=HERE.parent)
    with tempfile.TemporaryDirectory() as folder, upstream() as base:
        environment = prepared(Path(folder), base)
        timed: dict[str, list[float]] = {name: [] for name in commands(base)}
        for number in range(rounds + 1):
            for name, command in commands(base).items():
                took = seconds(command, environment)
                if number:  # the first round warms caches and makes the databases
                    timed[name].append(took)
    for name, samples in timed.items():
        print(f"{name:18} {show(samples, 'ms')}")
    bare = timed["python -c pass"]
    verdicts.at_most("lembas --version, times python -c pass", ratio(timed["lembas --version"], bare), 3)
    verdicts.at_most("lembas --help, times python -c pass", ratio(timed["lembas --help"], bare), 3)
    verdicts.at_most("lembas ask with saving, share of llm", ratio(timed["lembas ask"], timed["llm"]), 0.4)
    verdicts.end()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
