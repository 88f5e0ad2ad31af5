"""What starting the command costs: what it imports, and what it says before anything is loaded."""

from __future__ import annotations

import importlib.metadata
import json
import shlex
import subprocess
import sys

import click
import lembas_cli
import pytest
from lembas_cli.app import root
from lembas_cli.front import COMMANDS, OPTIONS, root_help
from lembas_core.testing import serve_script, text
from support.command import Command

HEAVY = {"anyio", "cryptography", "httpx2", "mcp", "pydantic", "rich", "sqlalchemy", "lembas_core.sync"}

PROBE = """
import json, sys
sys.argv = ["lembas", *sys.argv[1:]]
from lembas_cli.front import at_once
try:
    if at_once(sys.argv[1:], "") is None:
        from lembas_cli.app import run
        run(sys.argv[1:])
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def imported(lembas: Command, *arguments: str) -> set[str]:
    """The modules that a call of the command leaves loaded."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *arguments],
        env=lembas.env(),
        cwd=lembas.home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return set(json.loads(done.stderr.strip().splitlines()[-1]))


@pytest.mark.parametrize("option", ["--version", "--help", "-h"])
def test_version_and_help_need_nothing_not_even_click(lembas: Command, option: str) -> None:
    assert not imported(lembas, option) & {*HEAVY, "click", "lembas_core", "importlib.metadata"}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_stays_light(lembas: Command, name: str) -> None:
    assert not imported(lembas, name, "--help") & HEAVY


@pytest.mark.parametrize("words", ["", "as", "ask --", "chats ", "connections add --k"])
def test_completion_stays_light(lembas: Command, words: str) -> None:
    line = f"lembas {words}"
    count = len(line.split(" ")) - 1
    environment = {"_LEMBAS_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(count)}
    loaded = imported(Command(lembas.home, environment=environment))
    assert not loaded & HEAVY


def test_one_plain_answer_needs_no_rich_no_pydantic_no_cryptography(lembas: Command) -> None:
    with serve_script([text("Hi.")]) as server:
        loaded = imported(lembas, "ask", "x", "--url", server.url)
    assert not loaded & {
        "rich",
        "markdown_it",
        "pydantic",
        "cryptography",
        "mcp",
        "readline",
        "sqlalchemy.orm",
    }


def test_the_version_is_that_of_the_package(lembas: Command) -> None:
    assert lembas_cli.__version__ == importlib.metadata.version("lembas-cli")
    assert lembas.run("--version").stdout == f"lembas {lembas_cli.__version__}\n"


def test_the_help_that_needs_nothing_is_that_of_the_commands(lembas: Command) -> None:
    assert lembas.run("--help").stdout == root_help()
    assert lembas.run("--color", "never", "--help").stdout == root_help()
    assert max(map(len, root_help().splitlines())) <= 80
    context = click.Context(root)
    for name, entry in COMMANDS.items():
        command = root.get_command(context, name)
        assert command is not None
        assert command.name == name
        assert (command.help or "").startswith(entry.line.partition(",")[0].rstrip("."))


def test_the_help_names_every_option() -> None:
    named = {part.split(" ")[0] for key in OPTIONS for part in key.split(", ")}
    real = {opt for parameter in root.params for opt in (*parameter.opts, *parameter.secondary_opts)}
    assert named == real | {"-h", "--help"}


def test_there_is_no_default_command(lembas: Command) -> None:
    bare, mistyped = lembas.run(), lembas.run("aks", "Hello?")
    assert (bare.returncode, mistyped.returncode) == (2, 2)
    assert (bare.stdout, mistyped.stdout) == ("", "")
    assert "No such command 'aks'" in mistyped.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_printed_for_a_shell(lembas: Command, shell: str) -> None:
    done = lembas.run("completion", shell)
    assert done.returncode == 0, done.stderr
    assert "_LEMBAS_COMPLETE" in done.stdout


def test_completion_completes(lembas: Command) -> None:
    environment = {"_LEMBAS_COMPLETE": "bash_complete", "COMP_WORDS": "lembas con", "COMP_CWORD": "1"}
    done = Command(lembas.home, environment=environment).run()
    assert [line.split(",")[-1] for line in done.stdout.splitlines()] == ["connections", "config"]


def test_ctrl_c_while_starting_ends_in_silence(lembas: Command) -> None:
    folder = lembas.home / "interrupting"
    folder.mkdir()
    (folder / "click.py").write_text("raise KeyboardInterrupt\n")
    done = Command(lembas.home, environment={"PYTHONPATH": str(folder)}).run("ask", "x")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_a_closed_stdout_is_no_failure(lembas: Command) -> None:
    with serve_script([text("Hi.")]) as server:
        for arguments in (["--version"], ["ask", "x", "--url", server.url]):
            done = subprocess.run(
                f"{shlex.join(lembas.command(*arguments))} </dev/null >&-",
                shell=True,
                env=lembas.env(),
                cwd=lembas.home,
                stderr=subprocess.PIPE,
                check=False,
                timeout=60,
            )
            assert (done.returncode, done.stderr) == (0, b"")
