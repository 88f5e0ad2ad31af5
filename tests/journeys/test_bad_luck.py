"""What the world may do to a person gets one sentence and an exit code, and loses nothing."""

from __future__ import annotations

import shlex
import sqlite3
import subprocess
from pathlib import Path

import pytest
from lembas_core.testing import serve_script, text
from support.command import Command
from support.real_model import Served

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


def one_sentence(told: str) -> bool:
    """Whether it is an error a person can read, and nothing else."""
    return told.startswith("Error: ") and told.count("\n") == 1


def test_a_wrong_key(lembas: Command, real_model: Served) -> None:
    wrong = Command(lembas.home, environment={"WRONG": "sk-not-the-key"})
    done = wrong.run("ask", "Hello.", "--url", real_model.url, "--key-env", "WRONG", "-m", real_model.name)
    assert (done.returncode, done.stdout) == (4, "")
    assert one_sentence(done.stderr)
    assert "sk-not-the-key" not in done.stderr


def test_a_model_the_server_does_not_have_is_not_passed_off_as_another(lembas: Command) -> None:
    with serve_script() as server:
        lembas.run("connections", "add", server.url, "--name", "here", "--no-key")
        done = lembas.run("ask", "Hello.", "-m", "here/no-such-model")
    assert (done.returncode, done.stdout) == (7, "")
    assert one_sentence(done.stderr)


@pytest.mark.parametrize("given", [None, "", " \n\t\n"], ids=["nothing", "an empty pipe", "blanks in a pipe"])
def test_an_empty_turn(lembas: Command, given: str | None) -> None:
    done = lembas.run("ask", "  ", stdin=given)
    assert (done.returncode, done.stdout) == (2, "")
    assert one_sentence(done.stderr)
    assert lembas.run("chats", "list", "--json").stdout == "[]\n"


def test_a_database_of_a_newer_version_is_left_as_it_is(lembas: Command) -> None:
    with serve_script([text("A.")]) as server:
        lembas.run("--db", "chats.db", "ask", "Hello.", "--url", server.url)
        file = lembas.home / "chats.db"
        with sqlite3.connect(file) as newer:
            newer.execute("UPDATE meta SET value = value + 1000 WHERE key = 'schema'")
        newer.close()
        before = file.read_bytes()
        done = lembas.run("--db", "chats.db", "ask", "And?", "--url", server.url)
    assert (done.returncode, done.stdout) == (1, "")
    assert one_sentence(done.stderr)
    assert file.read_bytes() == before


def test_a_full_disk(lembas: Command, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    small = Command(lembas.home, arguments=("--data-dir", str(disk)))
    with serve_script([text("The gate opens at nine.")]) as server:
        ask = shlex.join(small.command("ask", "When?", "--no-stdin", "--url", server.url))
        show = shlex.join(small.command("chats", "search", "gate"))
        # A small disk of one's own, in a namespace where one is root; not every kernel grants that.
        script = f"""
            mount -t tmpfs -o size=1m tmpfs {shlex.quote(str(disk))} || exit 77
            {ask} && dd if=/dev/zero of={shlex.quote(str(disk / "filler"))} bs=1k 2>/dev/null
            {ask}; code=$?
            rm {shlex.quote(str(disk / "filler"))}; {show}; exit $code
        """
        done = subprocess.run(
            ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script],
            env=small.env(), cwd=small.home, capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("this kernel lets nobody but root mount a disk")
    assert done.returncode == 1
    assert one_sentence(done.stderr)
    assert done.stdout.count("The gate opens at nine.") == 2, "it was printed, and is still found"
