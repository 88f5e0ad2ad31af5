"""What a person at a terminal of 80 columns sees."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from lembas_core.testing import call, pause, reasoning, serve_script, text
from lembas_core.testing.steps import Step
from support.command import Command
from support.terminal import Terminal

LONG = "".join(f"{number}. item {number}\n" for number in range(1, 61))
TOOLS = """
from lembas_core import tool


@tool(risk="write")
def add_note(title: str) -> str:
    \"\"\"Save a note.\"\"\"
    return "Saved " + title
"""


def terminal(lembas: Command, *arguments: str, rows: int = 24, **environment: str) -> Terminal:
    return Terminal(
        lembas.command(*arguments), env={**lembas.env(), **environment}, cwd=lembas.home, rows=rows
    )


@contextmanager
def asked(
    lembas: Command, *steps: Step, more: str = "", rows: int = 24, **environment: str
) -> Generator[Terminal]:
    """`lembas ask` in a terminal."""
    with serve_script(*steps) as server:
        arguments = ("ask", "x", *more.split(), "--url", server.url)
        with terminal(lembas, *arguments, rows=rows, **environment) as screen:
            yield screen


def test_markdown_is_rendered_on_a_terminal(lembas: Command) -> None:
    said = "# Bread\n\nIt is **good** and `plain`.\n\n- one\n- two\n\n<b>tags stay</b>\n"
    with serve_script([text(said, cuts=5)]) as server, terminal(lembas, "ask", "x", "--url", server.url) as t:
        assert t.end() == 0
    assert "\x1b[1m" in t.raw
    shown = [line.strip() for line in t.text.splitlines() if line.strip()]
    assert shown == ["Bread", "It is good and plain.", "• one", "• two", "<b>tags stay</b>"]


def test_raw_leaves_markdown_as_it_is(lembas: Command) -> None:
    with asked(lembas, [text("**good**")], more="--raw") as t:
        assert t.end() == 0
    assert t.text == "**good**"


def test_an_answer_longer_than_the_screen_is_there_once_and_whole(lembas: Command) -> None:
    said = f"Before.\n\n{LONG}\n```python\nprint('x')\n```\n\nAfter.\n"
    with asked(lembas, [text(said, cuts=9)], rows=12) as t:
        assert t.end() == 0
    items = [line.split()[-1] for line in t.text.splitlines() if " item " in line]
    assert items == [str(number) for number in range(1, 61)]
    for once in ("Before.", "After.", "print('x')"):
        assert t.text.count(once) == 1


def test_no_color_is_heeded(lembas: Command) -> None:
    with asked(
        lembas, [call("clock")], [text("`code` and [a](http://b.example)")], more="--tool clock", NO_COLOR="1"
    ) as t:
        assert t.end() == 0
    assert "\x1b[3" not in t.raw
    assert "http://b.example" in t.text


def test_a_model_cannot_drive_the_terminal(lembas: Command) -> None:
    said = "a\x1b]0;owned\x07b\x1b[2Jc\rd\n"
    with serve_script([text(said)], [text(said)]) as server:
        with terminal(lembas, "ask", "x", "--url", server.url) as drawn:
            drawn.end()
        with terminal(lembas, "ask", "x", "--raw", "--url", server.url) as raw:
            raw.end()
    for shown in (drawn, raw):
        assert "\x1b]0" not in shown.raw
        assert "\x1b[2J" not in shown.raw
        assert "a]0;ownedb[2Jcd" in shown.text


def test_thinking_shows_as_a_status_that_goes_away(lembas: Command) -> None:
    go = threading.Event()
    with asked(lembas, [reasoning("hm"), pause(go), text("Done.")]) as t:
        t.wait_for("Thinking")
        go.set()
        assert t.end() == 0
    assert t.text == "Done."


def test_a_person_allows_exactly_what_they_saw(lembas: Command) -> None:
    (lembas.home / "tools.py").write_text(TOOLS)
    odd = call("add_note", title="a\u202eb")
    with (
        serve_script([odd], [text("Saved.")]) as server,
        terminal(lembas, "ask", "x", "--tool", "tools.py", "--url", server.url) as t,
    ):
        t.wait_for("Allow? [y/N]")
        assert '"title": "a\\u202eb"' in t.text
        assert "add_note (write)" in t.text
        t.type("y\r")
        assert t.end() == 0
    assert "Saved a" in server.requests[1]["messages"][-1]["content"]


def test_enter_alone_denies(lembas: Command) -> None:
    (lembas.home / "tools.py").write_text(TOOLS)
    with asked(lembas, [call("add_note", title="a")], [text("Not saved.")], more="--tool tools.py") as t:
        t.wait_for("Allow? [y/N]")
        t.type("\r")
        assert t.end() == 8
    assert t.text.endswith("A question was denied or not answered.")


def test_a_choice_is_made_by_its_number(lembas: Command) -> None:
    question = call("ask_user", questions=[{"question": "Which colour?", "choices": ["red", "blue"]}])
    with (
        serve_script([question], [text("Blue.")]) as server,
        terminal(lembas, "ask", "x", "--tool", "ask_user", "--url", server.url) as t,
    ):
        t.wait_for("own words:")
        assert "2) blue" in t.text
        t.type("2\r")
        assert t.end() == 0
    assert "blue" in server.requests[1]["messages"][-1]["content"]


def test_ctrl_c_at_a_question_stops_the_reply(lembas: Command) -> None:
    question = call("ask_user", questions=["Which?"])
    with asked(lembas, [text("Let me ask."), question], more="--tool ask_user") as t:
        t.wait_for("Which?")
        t.wait_for(">")
        t.type("\x03")
        assert t.end() == 130
    assert "Let me ask." in t.text


def test_ctrl_c_keeps_what_arrived_on_the_screen(lembas: Command) -> None:
    go = threading.Event()
    with asked(lembas, [text("The first half, **bold**."), pause(go)]) as t:
        t.wait_for("bold")
        t.type("\x03")
        assert t.end() == 130
    go.set()
    assert "The first half, bold." in t.text
    assert t.text.endswith("Stopped. What had arrived is kept.")
    assert t.raw.rstrip().rfind("\x1b[?25h") > t.raw.rfind("\x1b[?25l")


def test_a_key_is_typed_unseen(lembas: Command) -> None:
    with serve_script() as server, terminal(lembas, "connections", "add", server.url) as t:
        t.wait_for("Key (Enter for none):")
        t.type("sk-unseen-secret\r")
        assert t.end() == 0
    assert "sk-unseen-secret" not in t.raw
    assert "1 model" in t.text
    kept = [p for p in lembas.home.rglob("*") if p.is_file() and b"sk-unseen" in p.read_bytes()]
    assert kept == []
    assert server.received[-1].headers["authorization"] == "Bearer sk-unseen-secret"


def test_deleting_asks_first(lembas: Command, tmp_path: Path) -> None:
    with serve_script([text("A.")]) as server:
        lembas.run("ask", "Keep\x1b]0;owned\x07 me", "--url", server.url)
    chat = lembas.run("chats", "list").stdout.split()[0]
    with terminal(lembas, "chats", "delete", chat) as t:
        t.wait_for("Delete 1?")
        assert "Keep]0;owned me" in t.text
        t.type("n\r")
        assert t.end() == 130
    assert chat in lembas.run("chats", "list").stdout


def test_a_list_is_cut_to_the_screen(lembas: Command) -> None:
    with serve_script([text("A.")]) as server:
        lembas.run("ask", "A question that is far too long for one line " * 5, "--url", server.url)
    with terminal(lembas, "chats", "list") as t:
        assert t.end() == 0
    assert len(t.text.splitlines()) == 1
    assert t.text.endswith("…")
