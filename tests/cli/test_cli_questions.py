"""Permissions and questions without a terminal: nothing waits, nothing runs unasked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lembas_core.testing import call, serve_script, text
from support.command import Command

TOOLS = '''
from pathlib import Path

from lembas_core import tool


@tool(risk="write")
def add_note(title: str) -> str:
    """Save a note.

    Args:
        title: What it is called.
    """
    Path("note.txt").write_text(title)
    return "Saved."
'''

ASKED = call("ask_user", questions=[{"question": "Which colour?", "choices": ["red", "blue"]}])


@pytest.fixture
def tools(lembas: Command) -> Path:
    """A Python file with a tool that writes."""
    file = lembas.home / "tools.py"
    file.write_text(TOOLS)
    return file


def test_without_a_terminal_a_call_that_needs_permission_is_denied(lembas: Command, tools: Path) -> None:
    with serve_script([call("add_note", title="Gate")], [text("I could not.")]) as server:
        done = lembas.run("ask", "x", "--tool", str(tools), "--url", server.url)
    assert (done.returncode, done.stdout) == (8, "I could not.\n")
    assert "Nobody could be asked" in done.stderr
    assert not (lembas.home / "note.txt").exists()


def test_approve_allow_lets_it_run(lembas: Command, tools: Path) -> None:
    with serve_script([call("add_note", title="Gate")], [text("Saved it.")]) as server:
        done = lembas.run(
            "ask", "x", "--tool", f"{tools}:add_note", "--approve", "allow", "--url", server.url
        )
    assert (done.returncode, done.stdout) == (0, "Saved it.\n")
    assert (lembas.home / "note.txt").read_text() == "Gate"


def test_approve_deny_is_told_to_the_model_and_to_the_shell(lembas: Command, tools: Path) -> None:
    with serve_script([call("add_note", title="Gate")], [text("Denied, then.")]) as server:
        done = lembas.run("ask", "x", "--tool", str(tools), "--approve", "deny", "--url", server.url)
    assert done.returncode == 8
    assert server.requests[1]["messages"][-1]["role"] == "tool"
    assert not (lembas.home / "note.txt").exists()


def test_a_question_of_the_model_goes_unanswered_without_a_terminal(lembas: Command) -> None:
    with serve_script([ASKED], [text("Red, I guess.")]) as server:
        done = lembas.run("ask", "x", "--tool", "ask_user", "--url", server.url)
    assert (done.returncode, done.stdout) == (8, "Red, I guess.\n")


def test_with_jsonl_a_program_answers_on_stdin(lembas: Command, tools: Path) -> None:
    with serve_script([ASKED, call("add_note", title="Gate")], [text("Blue it is.")]) as server:
        running = lembas.start(
            "ask", "x", "--jsonl", "--answers", "-", "--tool", str(tools), "--tool", "ask_user",
            "--url", server.url,
        )  # fmt: skip
        assert running.stdout is not None and running.stdin is not None
        while (event := json.loads(running.stdout.readline()))["kind"] != "asking":
            pass
        question = event["question"]
        texts = {question["prompts"][0]["id"]: "blue"}
        decisions = {question["calls"][0]["id"]: True}
        running.stdin.write(json.dumps({"texts": texts, "decisions": decisions}).encode() + b"\n")
        running.stdin.flush()
        rest, _ = running.communicate(timeout=30)
    assert json.loads(rest.splitlines()[-1])["outcome"] == "done"
    assert running.returncode == 0
    assert "blue" in json.dumps(server.requests[1]["messages"])
    assert (lembas.home / "note.txt").read_text() == "Gate"


def test_an_answer_that_is_none_ends_with_one_sentence(lembas: Command, tools: Path) -> None:
    with serve_script([call("add_note", title="Gate")]) as server:
        running = lembas.start(
            "ask", "x", "--jsonl", "--answers", "-", "--tool", str(tools), "--url", server.url
        )
        out, told = running.communicate(b'{"allow": "everything"}\n', timeout=30)
    assert running.returncode == 2
    assert b"Not an answer" in told
    assert [json.loads(line)["kind"] for line in out.splitlines()].count("finished") == 1
    assert not (lembas.home / "note.txt").exists()


def test_a_tool_file_that_breaks_or_holds_none_is_one_sentence(lembas: Command) -> None:
    (lembas.home / "broken.py").write_text("1 / 0")
    (lembas.home / "empty.py").write_text("x = 1")
    broken = lembas.run("ask", "x", "--tool", "broken.py")
    empty = lembas.run("ask", "x", "--tool", "empty.py")
    missing = lembas.run("ask", "x", "--tool", "missing.py")
    assert (broken.returncode, empty.returncode, missing.returncode) == (2, 7, 7)
    assert "ZeroDivisionError" in broken.stderr
    assert all("Traceback" not in done.stderr for done in (broken, empty, missing))
