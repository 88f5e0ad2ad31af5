"""The `lembas` command as a person runs it: its own process, an empty home, nothing from this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

__all__ = ("Command", "lembas")

LONGEST = 60
"""Seconds a command may take; the slowest starts the local model."""

# What a person's environment may hold that would change what the command does.
UNWANTED = ("PYTHONDONTWRITEBYTECODE", "LLM_USER_PATH", "NO_COLOR", "FORCE_COLOR", "COLUMNS")
UNWANTED_PREFIXES = ("LEMBAS_", "XDG_")


@dataclass(frozen=True, slots=True)
class Command:
    """`lembas` with everything it keeps under `home`.

    `environment` is added to what the process gets; `arguments` come before those of each call.
    """

    home: Path
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])

    def run(
        self, *arguments: str, stdin: str | bytes | None = None, timeout: float = LONGEST
    ) -> subprocess.CompletedProcess[str]:
        """Run to the end without a terminal; `stdin` is piped in, None is no input at all."""
        given = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            self.command(*arguments),
            input=given,
            stdin=subprocess.DEVNULL if given is None else None,
            capture_output=True,
            env=self.env(),
            cwd=self.home,
            timeout=timeout,
            check=False,
        )
        return subprocess.CompletedProcess(
            done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
        )

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start it with pipes on all three streams; the caller ends it."""
        pipe = subprocess.PIPE
        return subprocess.Popen(
            self.command(*arguments), stdin=pipe, stdout=pipe, stderr=pipe, env=self.env(), cwd=self.home
        )

    def command(self, *arguments: str) -> list[str]:
        """The command line, for a test that starts it in its own way."""
        return [str(Path(sys.executable).with_name("lembas")), *self.arguments, *arguments]

    def env(self) -> dict[str, str]:
        """The environment it runs in."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in UNWANTED
            and not name.startswith(UNWANTED_PREFIXES)
            and not name.lower().endswith(("_api_key", "_proxy"))
        }
        return {**kept, "HOME": str(self.home), **self.environment}


@pytest.fixture
def lembas(tmp_path: Path) -> Command:
    """The command in a home of its own."""
    home = tmp_path / "home"
    home.mkdir()
    return Command(home)
