"""Thinking is told from the answer, wherever its tags are cut, and no character is lost."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lembas_core.endpoints.reasoning import ReasoningSplitter
from lembas_core.endpoints.values import Part, ReasoningPart, RecastPart, TextPart
from support.replaying import Folded, fold

TAG = re.compile(r"</?think(?:ing)?>", re.IGNORECASE)


def parts(*pieces: str) -> list[Part]:
    splitter = ReasoningSplitter()
    return [*(part for piece in pieces for part in splitter.feed(piece)), *splitter.finish()]


def split(*pieces: str) -> tuple[str, str]:
    """The thinking and the answer."""
    folded: Folded = fold(parts(*pieces))
    return folded.reasoning, folded.text


@pytest.mark.parametrize(
    ("text", "reasoning", "answer"),
    [
        ("Hello", "", "Hello"),
        (" two  spaces ", "", " two  spaces "),
        ("<think>why</think>Hello", "why", "Hello"),
        ("<thinking>why</thinking>Hello", "why", "Hello"),
        ("<THINK>why</THINK>Hello", "why", "Hello"),
        ("\n<think>\nwhy\n</think>\n\nHello\n", "why", "Hello\n"),
        ("<think></think>Hello", "", "Hello"),
        ("<think>\n\n</think>\n\nHello", "", "Hello"),
        ("<think>one</think>Hel<think>two</think>lo", "onetwo", "Hello"),
        ("Hello<think>why", "why", "Hello"),
        ("<think>why\n", "why\n", ""),
        ("why</think>Hello", "why", "Hello"),
        ("why\n</think>\n\nHello", "why\n", "Hello"),
        ("</think>Hello", "", "Hello"),
        ("Hel<think></think></think>lo", "", "Hello"),
        ("<think>a<think>b</think>c</think>Hello", "a<think>bc", "Hello"),
        ("a < b and <this is no tag", "", "a < b and <this is no tag"),
        ("Hello <thi", "", "Hello <thi"),
        ("Hello <thinks> <thinker>", "", "Hello <thinks> <thinker>"),
        ("<think>a</thi", "a</thi", ""),
    ],
)
def test_tags_part_thinking_from_the_answer(text: str, reasoning: str, answer: str) -> None:
    assert split(text) == (reasoning, answer)
    assert split(*text) == (reasoning, answer)


@pytest.mark.parametrize(
    "text",
    [
        "```\n<think>not a thought</think>\n```\n",
        "~~~html\n<think>\n~~~\nthe end",
        "````\n```\n</think>\n```\n````\nthe end",
        "   ```\n<think>\n   ```",
        "Write `<think>` first, then `</think>`.",
        "Write ``<think>`` first.",
        "In `a <think> b` it is text",
        "```<think>",
    ],
)
def test_tags_in_code_are_text(text: str) -> None:
    assert split(text) == ("", text)
    assert split(*text) == ("", text)


@pytest.mark.parametrize(
    ("text", "reasoning", "answer"),
    [
        ("<think>the tag `</think>` ends it. more</think>Hello", "the tag `</think>` ends it. more", "Hello"),
        ("<think>so I use `foo`</think>Hello", "so I use `foo`", "Hello"),
        ("<think>as in\n```\n</think>\n```\nright</think>Hello", "as in\n```\n</think>\n```\nright", "Hello"),
        ("<think>code:\n```\nx = 1\n</think>\n\nHello", "code:\n```\nx = 1", "Hello"),
        ("<think>a stray ` here</think>Hello", "a stray ` here", "Hello"),
        ("<think>a stray ` at the end`</think>", "a stray ` at the end`", ""),
        ("<think>why</think>The tag </think> ends it.", "why", "The tag </think> ends it."),
    ],
)
def test_a_thought_ends_at_its_own_tag(text: str, reasoning: str, answer: str) -> None:
    assert split(text) == (reasoning, answer)
    assert split(*text) == (reasoning, answer)


def test_an_answer_streams_as_it_comes() -> None:
    assert parts("Hel", "lo ", "you") == [TextPart("Hel"), TextPart("lo "), TextPart("you")]


def test_thinking_streams_as_it_comes() -> None:
    assert parts("<think>wh", "y") == [ReasoningPart("wh"), ReasoningPart("y")]


def test_a_thought_that_the_template_opened_is_recast_when_it_closes() -> None:
    assert parts("wh", "y</think>", "Hello") == [
        TextPart("wh"),
        RecastPart(),
        ReasoningPart("y"),
        TextPart("Hello"),
    ]


def test_a_thought_that_closes_in_its_first_piece_never_shows_as_an_answer() -> None:
    assert parts("why</think>Hello") == [ReasoningPart("why"), TextPart("Hello")]


def test_a_closing_tag_after_thinking_in_a_field_of_its_own_is_no_answer() -> None:
    splitter = ReasoningSplitter()
    splitter.reasoned()
    assert splitter.feed("\n</think>\n\nHello") == [TextPart("Hello")]


def test_space_after_thinking_in_a_field_of_its_own_is_left_out_before_the_answer_only() -> None:
    splitter = ReasoningSplitter()
    splitter.reasoned()
    first = splitter.feed("\n\nHello")
    splitter.reasoned()
    assert [*first, *splitter.feed(" you")] == [TextPart("Hello"), TextPart(" you")]


WORDS = st.sampled_from(
    ["<think>", "</think>", "<thinking>", "</thinking>", "a", "bc", "`", "```", "\n", "\n\n", " ", "~~~", "é"]
)


@settings(max_examples=400)
@given(words=st.lists(WORDS, max_size=14))
def test_nothing_but_tags_and_space_is_left_out(words: list[str]) -> None:
    text = "".join(words)
    spoken = "".join(part.text for part in parts(text) if isinstance(part, (TextPart, ReasoningPart)))
    assert bare(spoken) == bare(text)


@settings(max_examples=400)
@given(text=st.text(alphabet="<>/thinkg `\n~é", max_size=40))
def test_text_without_tags_comes_out_as_it_went_in(text: str) -> None:
    if not TAG.search(text):
        assert split(*text) == ("", text)


@settings(max_examples=400)
@given(words=st.lists(WORDS, max_size=14), data=st.data())
def test_where_it_is_cut_makes_no_difference(words: list[str], data: st.DataObject) -> None:
    text = "".join(words)
    places = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pieces = [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]
    assert split(*pieces) == split(text)


def bare(text: str) -> str:
    return re.sub(r"\s", "", TAG.sub("", text))
