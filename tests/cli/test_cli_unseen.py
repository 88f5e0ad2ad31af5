"""What cannot be seen: kept from the terminal in answers, written out where a person must judge."""

from __future__ import annotations

import pytest
from lembas_cli.clean import one_line, printable, visible
from lembas_cli.telling import tool_finished, tool_started
from lembas_core.engine.events import ToolFinished, ToolStarted
from lembas_core.testing import serve_script, text
from support.command import Command
from support.terminal import Terminal

DIRECTIONS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def test_nothing_reverses_the_direction_of_a_terminal() -> None:
    assert printable(f"a{DIRECTIONS}b") == "ab"
    assert one_line(f"a{DIRECTIONS}\u200b\u2060\ufeffb") == "ab"


@pytest.mark.parametrize("raw", [(), ("--raw",)])
def test_an_answer_cannot_turn_a_terminal_around(lembas: Command, raw: tuple[str, ...]) -> None:
    with serve_script([text("exe\u202etxt\x9b2J.done")]) as server:
        command = lembas.command("ask", "x", "--no-stdin", "--url", server.url, *raw)
        with Terminal(command, env=lembas.env(), cwd=lembas.home) as terminal:
            terminal.wait_for("exetxt2J.done")


@pytest.mark.parametrize("joined", ["👩\u200d🚀", "می\u200cشد", "क्\u200dष"])
def test_the_joiners_that_scripts_and_emoji_need_stay(joined: str) -> None:
    assert printable(joined) == joined
    assert one_line(joined) == joined


@pytest.mark.parametrize("char", "\u200b\u200d\u2066\u3164\ufe0f\ufeff\x1b\x9b\n")
def test_what_is_drawn_as_nothing_is_written_out_in_a_permission(char: str) -> None:
    assert visible(f"a{char}b") == f"a\\u{ord(char):04x}b"


def test_the_lines_on_a_call_show_what_would_not_be_seen() -> None:
    started = ToolStarted(1, "call_1", "sh\u202e", '{"run": "ls\u200b \u2066x"}', "execute")
    assert tool_started(started) == '→ sh\\u202e {"run": "ls\\u200b \\u2066x"}'
    finished = ToolFinished(2, "call_1", "a\u202e\n b", False, 1.0)
    assert tool_finished(finished) == "← a\\u202e b (1.0 s)"
