"""The interactive chat: at a terminal, and with piped lines."""

from __future__ import annotations

import json
import stat
import threading
from collections.abc import Generator
from contextlib import contextmanager

from lembas_core.errors import Unauthorised
from lembas_core.testing import ScriptServer, fault, pause, serve_script, text, usage
from lembas_core.testing.steps import Step
from support.command import Command
from support.terminal import Terminal

PASTE = "\x1b[200~{}\x1b[201~"


@contextmanager
def talking(lembas: Command, *steps: Step, more: str = "") -> Generator[tuple[ScriptServer, Terminal]]:
    """`lembas chat` in a terminal with a script to talk with; titles are switched off."""
    lembas.run("config", "set", "titles", "off")
    with serve_script(*steps) as server:
        command = lembas.command("chat", "--url", server.url, *more.split())
        with Terminal(command, env=lembas.env(), cwd=lembas.home) as terminal:
            terminal.wait_for("Ctrl-D leaves.")
            yield server, terminal


def said(server: ScriptServer, number: int = -1) -> list[str]:
    """What the model was sent in a request, message by message."""
    return [message["content"] for message in server.requests[number]["messages"]]


def test_a_conversation_is_kept_and_named_when_it_is_left(lembas: Command) -> None:
    with talking(lembas, [text("Hello Ada.")], [text("You are Ada.")]) as (server, t):
        t.type("I am Ada.\r")
        t.wait_for("Hello Ada.")
        t.type("Who am I?\r")
        t.wait_for(">", after=t.wait_for("You are Ada."))
        t.type("\x04")
        assert t.end() == 0
    assert said(server) == ["I am Ada.", "Hello Ada.", "Who am I?"]
    chat = json.loads(lembas.run("chats", "list", "--json").stdout)[0]
    # On a line of its own, where no edge breaks it.
    assert f"lembas chat --chat {chat['id'][-8:]}" in [line.strip() for line in t.text.splitlines()]


def test_going_on_shows_where_one_was(lembas: Command) -> None:
    with serve_script([text("It is **nine**.")]) as server:
        lembas.run("ask", "When?", "--url", server.url)
    with talking(lembas, [text("Yes.")], more="-c") as (server, t):
        assert "Continuing “When?”" in t.text
        assert "It is nine." in t.text
        t.type("Sure?\r")
        t.wait_for("Yes.")
        t.type("/quit\r")
        assert t.end() == 0
    assert said(server) == ["When?", "It is **nine**.", "Sure?"]


def test_ctrl_c_stops_the_answer_and_not_the_chat(lembas: Command) -> None:
    go = threading.Event()
    with talking(lembas, [text("One half"), pause(go)], [text("Still here.")]) as (server, t):
        t.type("Tell me.\r")
        t.wait_for("One half")
        t.type("\x03")
        t.wait_for("What had arrived is kept.")
        go.set()
        t.type("Go on.\r")
        t.wait_for("Still here.")
        t.type("/quit\r")
        assert t.end() == 0
    assert said(server)[:2] == ["Tell me.", "One half"]


def test_ctrl_c_at_the_prompt_says_how_to_leave(lembas: Command) -> None:
    with talking(lembas) as (_, t):
        t.type("half a line")
        t.wait_for("> half a line")
        t.wait_for(">", after=t.press_until("\x03", "/quit leaves."))
        t.type("\x04")
        assert t.end() == 0


def test_ctrl_c_takes_a_command_back_and_not_the_chat(lembas: Command) -> None:
    with talking(lembas, [text("To Rome.")], [text("Still here.")]) as (server, t):
        t.type("Where to\r")
        t.wait_for("To Rome.")
        t.type("/edit\r")
        t.wait_for("> Where to", after=t.wait_for("/edit"))
        t.press_until("\x03", "Nothing changed.")
        t.type("Go on.\r")
        t.wait_for("Still here.")
        t.type("/quit\r")
        assert t.end() == 0
    assert said(server)[-1] == "Go on."


def test_a_failed_turn_is_kept_and_can_be_asked_again(lembas: Command) -> None:
    steps: list[Step] = [[fault(Unauthorised("No key."))], [text("Now it works.")]]
    with talking(lembas, *steps) as (server, t):
        t.type("Hello?\r")
        t.wait_for("/regenerate asks again.")
        assert "Error: " in t.text
        t.type("/regenerate\r")
        t.wait_for("Now it works.")
        t.type("/quit\r")
        assert t.end() == 0
    assert said(server) == ["Hello?"]


def test_several_lines_are_one_message(lembas: Command) -> None:
    with talking(lembas, [text("A.")], [text("B.")], [text("C.")]) as (server, t):
        t.type(PASTE.format("def f():\r    return 1\r") + "\r")
        t.wait_for("A.")
        t.type('"""one\r')
        t.type('two"""\r')
        t.wait_for("B.")
        t.type("/multi\r")
        t.wait_for("Several lines")
        t.type("three\r")
        t.type('four\r"""\r')
        t.wait_for("C.")
        t.type("/quit\r")
        assert t.end() == 0
    assert [said(server, number)[-1].strip() for number in range(3)] == [
        "def f():\n    return 1",
        "one\ntwo",
        "three\nfour",
    ]


def test_a_turn_can_be_rewritten_and_the_old_one_returned_to(lembas: Command) -> None:
    with talking(lembas, [text("To Rome.")], [text("To Ghent.")], [text("Rome it is.")]) as (server, t):
        t.type("Where to\r")
        t.wait_for("To Rome.")
        t.type("/edit\r")
        t.wait_for("> Where to", after=t.wait_for("/edit"))
        t.type(" in spring?\r")
        t.wait_for("To Ghent.")
        t.type("/versions\r")
        t.wait_for("* t2  Where to in spring?")
        t.type("/versions t1\r")
        t.wait_for("To Rome.", after=t.wait_for("Went back to t1."))
        t.type("And then?\r")
        t.wait_for("Rome it is.")
        t.type("/quit\r")
        assert t.end() == 0
    assert said(server, 1) == ["Where to in spring?"]
    assert said(server, 2) == ["Where to", "To Rome.", "And then?"]


def test_another_answer_stands_beside_the_first(lembas: Command) -> None:
    with talking(lembas, [text("One.")], [text("Two.")]) as (_, t):
        t.type("Say a number.\r")
        t.wait_for("One.")
        t.type("/regenerate\r")
        t.wait_for("Two.")
        t.type("/versions\r")
        t.wait_for("1  One.", after=t.text.index("Two."))
        t.wait_for("* 2  Two.")
        t.type("/versions 1\r")
        t.wait_for("Went back to 1.")
        t.type("/quit\r")
        assert t.end() == 0
    chat = lembas.run("chats", "list").stdout.split()[0]
    shown = json.loads(lembas.run("chats", "show", chat, "--json").stdout)
    assert shown["messages"][-1]["text"] == "One."


def test_a_copy_goes_its_own_way(lembas: Command) -> None:
    with talking(lembas, [text("One.")], [text("Two.")]) as (_, t):
        t.type("first\r")
        t.wait_for("One.")
        t.type("/fork\r")
        t.wait_for("Going on in a copy")
        t.type("second\r")
        t.wait_for("Two.")
        t.type("/quit\r")
        assert t.end() == 0
    chats = json.loads(lembas.run("chats", "list", "--json").stdout)
    texts = [json.loads(lembas.run("chats", "show", c["id"], "--json").stdout)["messages"] for c in chats]
    assert sorted(len(messages) for messages in texts) == [2, 4]


def test_usage_and_save(lembas: Command) -> None:
    with talking(lembas, [text("Nine."), usage(20, 2)]) as (_, t):
        t.type("When?\r")
        t.wait_for("Nine.")
        t.type("/usage\r")
        t.wait_for("20 prompt tokens")
        t.type("/save kept.md\r")
        t.wait_for("Written to kept.md")
        t.type("/save kept.md\r")
        t.wait_for("File exists")
        t.type("/quit\r")
        assert t.end() == 0
    assert "Nine." in (lembas.home / "kept.md").read_text()


def test_what_is_no_command_is_sent_as_it_was_written(lembas: Command) -> None:
    with talking(lembas, [text("A.")], [text("B.")], [text("C.")]) as (server, t):
        for line, answer in (("/unknown", "A."), ("//help", "B."), ("/help me", "C.")):
            t.type(f"{line}\r")
            t.wait_for(answer)
        t.type("/help\r")
        t.wait_for("/regenerate")
        t.type("/quit\r")
        assert t.end() == 0
    assert [said(server, number)[-1] for number in range(3)] == ["/unknown", "/help", "/help me"]
    assert max(map(len, t.text.splitlines())) <= 80


def test_the_model_and_the_tools_can_be_changed(lembas: Command) -> None:
    with talking(lembas, [text("A.")]) as (server, t):
        t.type("/tools clock\r")
        t.wait_for("Offered: clock.")
        t.type("/tools nonsense\r")
        t.wait_for("no tool called 'nonsense'")
        t.type("What time?\r")
        t.wait_for("A.")
        t.type("/model nowhere\r")
        t.wait_for("Error: ", after=t.text.index("A."))
        t.type("/quit\r")
        assert t.end() == 0
    assert [tool["function"]["name"] for tool in server.requests[0]["tools"]] == ["clock"]


def test_another_model_may_follow_the_one_of_a_server_used_once(lembas: Command) -> None:
    with talking(lembas, [text("A.")]) as (server, t):
        lembas.run("connections", "add", server.url, "--name", "here", "--no-key")
        t.type("/model\r")
        t.wait_for(f"Talking with the one model at {server.url}.")
        t.type("/model here/script\r")
        t.wait_for("Talking with here/script.")
        t.type("Hello?\r")
        t.wait_for("A.")
        t.type("/quit\r")
        assert t.end() == 0
    assert server.requests[0]["model"] == "script"


def test_what_was_typed_is_remembered_for_its_owner_only(lembas: Command) -> None:
    with talking(lembas, [text("A.")], [text("B.")]) as (server, t):
        t.type("remember me\r")
        t.wait_for("A.")
        t.type("\x1b[A\r")
        t.wait_for("B.")
        t.type("/quit\r")
        assert t.end() == 0
    assert said(server)[-1] == "remember me"
    history = next(lembas.home.rglob("history"))
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    with talking(lembas, [text("C.")]) as (server, t):
        t.type("\x1b[A\x1b[A\r")
        t.wait_for("C.")
        t.type("/quit\r")
        assert t.end() == 0
    assert said(server) == ["remember me"]


def test_piped_lines_are_turns_and_answers_stand_alone(lembas: Command) -> None:
    lembas.run("config", "set", "titles", "off")
    with serve_script([text("A.")], [text("B.")]) as server:
        done = lembas.run("chat", "--url", server.url, stdin="one\n\ntwo\n/usage\n")
    assert (done.returncode, done.stdout) == (0, "A.\nB.\n")
    assert said(server) == ["one", "A.", "two"]


def test_piped_lines_end_with_the_first_turn_that_fails(lembas: Command) -> None:
    with serve_script([fault(Unauthorised("No key."))]) as server:
        done = lembas.run("chat", "--url", server.url, stdin="one\ntwo\n")
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.startswith("Error: ")


def test_piped_lines_end_with_the_first_command_that_fails(lembas: Command) -> None:
    lembas.run("config", "set", "titles", "off")
    with serve_script([text("A.")], [fault(Unauthorised("No key."))]) as server:
        done = lembas.run("chat", "--url", server.url, stdin="one\n/regenerate\ntwo\n")
    assert (done.returncode, done.stdout) == (4, "A.\n")
