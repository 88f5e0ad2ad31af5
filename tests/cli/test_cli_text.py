"""The pure parts: cleaning, blocks, slash commands, parameters, extraction."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lembas_cli.blocks import PARSER, settled
from lembas_cli.clean import one_line, printable, short, visible
from lembas_cli.extracting import first_block
from lembas_cli.parameters import parameters_from, schema_from
from lembas_cli.piped import question_with
from lembas_cli.slash import SLASHES, Slash, understood
from lembas_cli.telling import usage
from lembas_core.engine.events import Metrics
from lembas_core.errors import Invalid


@given(st.text())
def test_printable_text_holds_no_control_but_tab_and_newline(text: str) -> None:
    left = printable(text)
    assert not [c for c in left if (ord(c) < 32 or 127 <= ord(c) < 160) and c not in "\t\n"]


@given(st.text())
def test_visible_text_holds_nothing_that_is_not_seen(text: str) -> None:
    assert visible(text).isprintable() or visible(text) == ""


def test_a_reversed_file_name_is_written_out_in_a_permission() -> None:
    assert visible("rm \u202etxt.exe") == "rm \\u202etxt.exe"


def test_one_line_is_cut_with_an_ellipsis() -> None:
    assert one_line("a\nb " * 50, 10) == "a b a b a…"


def test_a_chat_is_named_by_the_end_of_its_id() -> None:
    assert short("0192f3a4-5b6c-7d8e-9f01-23456789abcd") == "6789abcd"


@pytest.mark.parametrize(
    ("tokens", "said"), [(3, "under 1%"), (40, "under 1%"), (41, "1%"), (2048, "50%"), (4096, "100%")]
)
def test_a_small_share_of_the_context_is_not_none(tokens: int, said: str) -> None:
    metrics = Metrics(prompt_tokens=tokens, completion_tokens=0, context_window=4096)
    assert f" · {said} of the context" in usage(metrics)


LINES = (
    "# a\n|text\n|\n|- x\n|  more\n|```\n|> q\n|1. n\n|a : b\n|---\n|word |"
    "    code\n|***\n|=\n|<div>\n|~~~py\n|:-\n"
)
PIECES = st.sampled_from([*LINES.split("|"), "| a | b |\n", "|---|---|\n"])


@given(st.lists(PIECES, max_size=30))
def test_settled_blocks_stay_as_they_are_whatever_follows(pieces: list[str]) -> None:
    text = "".join(pieces)
    grown, gone = "", 0
    for piece in pieces:
        grown += piece
        gone += settled(grown[gone:])
        assert _is_block_boundary(text, gone)


def _is_block_boundary(text: str, offset: int) -> bool:
    """Whether no top-level block of the whole text reaches across the offset."""
    line = text[:offset].count("\n")
    spans = [token.map for token in PARSER.parse(text) if token.level == 0 and token.map]
    return all(not start < line < end for start, end in spans)


def test_an_unfinished_line_settles_nothing() -> None:
    assert settled("A paragraph\n---") == 0
    assert settled("A paragraph\n\nThe next one\n") == len("A paragraph\n\n")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("/help", Slash("/help")),
        ("/help me with this", "/help me with this"),
        ("/model qwen3:8b", Slash("/model", "qwen3:8b")),
        ("/model", Slash("/model")),
        ("//model is a word", "/model is a word"),
        ("/unknown", "/unknown"),
        ("/etc/hosts is a file", "/etc/hosts is a file"),
        ("/quit\nreally", "/quit\nreally"),
        (" /help", Slash("/help")),
        ("say /help", "say /help"),
    ],
)
def test_only_an_exact_command_is_one(line: str, said: Slash | str) -> None:
    assert understood(line) == said


@given(st.text().filter(lambda text: text.strip().partition(" ")[0] not in SLASHES))
def test_anything_else_is_sent_as_it_was_written(text: str) -> None:
    assert understood(text) == (text[1:] if text.startswith("//") else text)


@pytest.mark.parametrize(
    ("text", "block"),
    [
        ("Look:\n```python\nprint(1)\n```\nand\n```\nno\n```", "print(1)\n"),
        ("~~~\na\n```\n~~~\n", "a\n```\n"),
        ("````md\n```\nin\n```\n````", "```\nin\n```\n"),
        ("```\nnever closed", "never closed\n"),
        ("no block, only `code` and ```inline``` text", None),
        ("  ```\n  indented\n  ```", "  indented\n"),
    ],
)
def test_the_first_fenced_block_is_found(text: str, block: str | None) -> None:
    assert first_block(text) == block


def test_options_become_parameters_and_unknown_ones_go_to_the_endpoint() -> None:
    made = parameters_from(("temperature=0.2", "seed=7", 'stop=["a","b"]', "top_k=40", "mode=fast"), "low")
    assert (made.temperature, made.seed, made.stop, made.effort) == (0.2, 7, ("a", "b"), "low")
    assert made.extra == {"top_k": 40, "mode": "fast"}


@pytest.mark.parametrize("option", ["temperature", "=1", "temperature=warm", "seed=1.5"])
def test_an_option_that_cannot_be_meant_gets_one_sentence(option: str) -> None:
    with pytest.raises(Invalid) as caught:
        parameters_from((option,))
    assert str(caught.value).count(".") >= 1
    assert "\n" not in str(caught.value)


def test_a_short_schema_names_fields_types_and_meanings() -> None:
    assert schema_from("name, age int, bio: one line") == {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "age": {"type": "integer"},
            "bio": {"type": "string", "description": "one line"},
        },
        "required": ["name", "age", "bio"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize("text", ["{not json", "[1]", "name what", "missing.json", ", ,"])
def test_a_schema_that_is_none_gets_one_sentence(text: str) -> None:
    with pytest.raises(Invalid):
        schema_from(text)


def test_what_is_piped_in_stays_apart_from_the_question() -> None:
    assert question_with("Why?", "a\nb\n") == "Why?\n\n<stdin>\na\nb\n</stdin>"
    assert question_with("", "a\nb\n") == "a\nb"
    assert question_with("Why?", None) == "Why?"
    assert question_with("Why?", "  \n") == "Why?"
