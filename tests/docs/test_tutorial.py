"""The tutorial, done by somebody who types what stands there, in order, on a fresh machine."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.command import Command

PAGE = Path(__file__).parents[2] / "docs" / "tutorial" / "first-conversation.md"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def blocks(language: str) -> list[str]:
    text = PAGE.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def test_the_tutorial_works_from_its_first_line_to_its_last(lembas: Command) -> None:
    calls = [line.removeprefix("$ ") for block in blocks("console") for line in block.splitlines()]
    ours = str(Path(sys.executable).parent)
    environment = {**lembas.env(), "PATH": f"{ours}:{lembas.env()['PATH']}"}

    def typed(line: str) -> str:
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", line], env=environment, cwd=lembas.home,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        # 9: so small a model may ramble to its token limit.
        assert done.returncode in (0, 9), f"{line}\n{done.stderr}"
        return done.stdout

    shown = dict[str, str]()
    for call in calls:
        if "ID" in call.split():
            call = call.replace("ID", shown["lembas chats list"].split()[0])
        shown[call] = typed(call)
    assert all(out.strip() for call, out in shown.items() if ">" not in call), shown
    assert "gate" in (lembas.home / "gate.md").read_text()
    assert len(json.loads(lembas.run("chats", "list", "--json").stdout)) == 2

    library, client = [run(code, lembas.home, environment) for code in blocks("python")]
    assert library.count("user: ") == library.count("assistant: ") == 3
    assert "user: And when does it close?" in client


def run(code: str, folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=folder, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout
