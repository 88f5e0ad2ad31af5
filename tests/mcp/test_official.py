"""The official inspector's strict gate and the official conformance suite, against real processes.

`scripts/install-test-tools` brings both into `.tools/`.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from subprocess import PIPE

import anyio
import pytest
from anyio.abc import TaskStatus
from lembas_core import Lembas
from lembas_mcp import serve_http
from support.node_tools import conformance, inspector

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

HERE = Path(__file__).parent


async def node(command: list[str], *arguments: str, folder: Path) -> tuple[int, str]:
    """Run a command inside `folder`; its exit code and everything it wrote."""
    environment = {**os.environ, "HOME": str(folder), "NO_COLOR": "1"}
    done = await anyio.run_process(
        [*command, *arguments], cwd=folder, env=environment, stderr=PIPE, check=False
    )
    return done.returncode, (done.stdout + done.stderr).decode()


async def inspect(folder: Path, era: str, *target: str) -> list[str]:
    """The names of the tools that a server lists, once the inspector has nothing to say against any."""
    gate = ("--method", "tools/list", "--strict", "--format", "json", "--protocol-era", era)
    code, told = await node(inspector(), *target, *gate, folder=folder)
    assert code == 0, told
    return re.findall(r'"name":\s*"(\w+)",\s*"title"', told)


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_the_inspector_has_nothing_to_say_on_stdio(tmp_path: Path, era: str) -> None:
    server = (sys.executable, str(HERE / "stdio_server.py"), str(tmp_path / "lembas.db"), "")
    assert "read_chat" in await inspect(tmp_path, era, *server)


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_the_inspector_has_nothing_to_say_on_http(tmp_path: Path, instance: Lembas, era: str) -> None:
    async def serve(*, task_status: TaskStatus[str]) -> None:
        await serve_http(instance, port=0, listening=task_status.started)

    async with anyio.create_task_group() as tasks:
        url = await tasks.start(serve)
        assert "read_chat" in await inspect(tmp_path, era, url, "--transport", "http")
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
async def test_the_conformance_suite_fails_only_where_the_baseline_says(
    tmp_path: Path, revision: str
) -> None:
    baseline = str(HERE / f"conformance-{revision}.yml")
    scored = ("--requirements", revision, "--expected-failures", baseline, "-o", str(tmp_path / "results"))
    async with fixtures() as url:
        code, told = await node(conformance(), "server", "--url", url, *scored, folder=tmp_path)
    assert code == 0, told
    passed = re.search(r"Total: (\d+) passed", told)
    assert passed and int(passed[1]) > (130 if revision == "2026-07-28" else 50), told


@asynccontextmanager
async def fixtures() -> AsyncGenerator[str]:
    """The address of our application with the suite's fixtures, in a process of its own."""
    command = [sys.executable, str(HERE / "conformance_fixtures.py")]
    async with await anyio.open_process(command) as process:
        try:
            assert process.stdout is not None
            yield json.loads(await process.stdout.receive())
        finally:
            process.kill()
