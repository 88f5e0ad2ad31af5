"""Tool calls are put together from pieces of every shape, and what cannot be used says why."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lembas_core.endpoints.calls import MAX_CALLS, CallAssembler, checked
from lembas_core.endpoints.values import ToolCall


def piece(name: str | None = None, arguments: Any = None, **more: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"function": {key: value for key, value in function.items() if value is not None}, **more}


def calls(*pieces: Any, taken: tuple[str, ...] = ()) -> tuple[ToolCall, ...]:
    assembler = CallAssembler(taken)
    for one in pieces:
        assembler.feed(one)
    return assembler.finish()


def told(*pieces: Any) -> list[tuple[str, Any]]:
    """Names and arguments, which all can be used."""
    made = calls(*pieces)
    assert [call.problem for call in made] == [""] * len(made)
    assert len({call.id for call in made}) == len(made)
    return [(call.name, json.loads(call.arguments)) for call in made]


ONE_AND_TWO = [("one", {"t": 1}), ("two", {"t": 2})]


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param(
            [
                piece("one", "", index=0, id="a"),
                piece("two", "", index=1, id="b"),
                piece(None, '{"t"', index=0),
                piece(None, '{"t":', index=1),
                piece(None, ":1}", index=0),
                piece(None, "2}", index=1),
            ],
            id="interleaved",
        ),
        pytest.param([piece("one", '{"t":1}'), piece("two", '{"t":2}')], id="neither index nor id"),
        pytest.param(
            [piece("one", '{"t":'), piece(None, "1}"), piece("two", '{"t":'), piece(None, "2}")],
            id="by order alone",
        ),
        pytest.param(
            [
                piece("one", '{"t":', id="a"),
                piece("two", '{"t":', id="b"),
                piece(None, "1}", id="a"),
                piece(None, "2}", id="b"),
            ],
            id="by id alone",
        ),
        pytest.param(
            [piece("one", '{"t"', index=0), piece("one", ":1}", index=0), piece("two", '{"t":2}', index=1)],
            id="the name with every piece",
        ),
        pytest.param(
            [
                piece("o", "", index=0, id="a"),
                piece("ne", '{"t":1}', index=0),
                piece("two", '{"t":2}', index=1),
            ],
            id="the name in pieces",
        ),
        pytest.param(
            [piece(None, '{"t":1}', index=0), piece("one", None, index=0), piece("two", '{"t":2}', index=1)],
            id="the name last",
        ),
        pytest.param(
            [piece("one", '{"t":1}', index=0), piece("two", '{"t":2}', index=0)],
            id="always index 0, no ids",
        ),
        pytest.param([piece("one", {"t": 1}), piece("two", {"t": 2})], id="objects"),
        pytest.param(
            [
                {"id": "a", "name": "one", "arguments": '{"t":1}'},
                {"id": "b", "name": "two", "arguments": {"t": 2}},
            ],
            id="without a function around",
        ),
        pytest.param(
            [
                piece("one", '{"t":', index=0, id="a"),
                piece(None, "1}", index=0, id="z1"),
                piece("two", '{"t":', index=1, id="b"),
                piece(None, "2}", index=1, id="z2"),
            ],
            id="another id with every piece",
        ),
        pytest.param(
            [
                piece("one", '{"t":1}', index=0, id="a"),
                piece("one", '{"t":1}', index=0, id="a"),
                piece("two", '{"t":2}', index=1, id="b"),
                piece(None, '{"t":2}', index=1, id="b"),
            ],
            id="whole calls sent again",
        ),
    ],
)
def test_pieces_become_two_calls(pieces: list[Any]) -> None:
    assert told(*pieces) == ONE_AND_TWO


def test_the_same_tool_may_be_called_twice() -> None:
    assert told(piece("one", '{"t":1}', index=0), piece("one", '{"t":2}', index=0)) == [
        ("one", {"t": 1}),
        ("one", {"t": 2}),
    ]


@given(st.permutations([0, 0, 0, 1, 1, 1]))
def test_interleaving_makes_no_difference(order: list[int]) -> None:
    left = {
        index: [
            piece(name, "", index=index, id=name),
            piece(None, '{"t":', index=index),
            piece(None, end, index=index),
        ]
        for index, name, end in ((0, "one", "1}"), (1, "two", "2}"))
    }
    assert sorted(told(*[left[index].pop(0) for index in order])) == ONE_AND_TWO


def test_ids_are_unique_in_the_request() -> None:
    made = calls(piece("one", "{}", index=0, id="a"), piece("two", "{}", index=1, id="b"), taken=("a",))
    assert made[0].id not in ("a", "b", "")
    assert made[1].id == "b"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("", "{}"),
        ("null", "{}"),
        ("  {}  ", "{}"),
        ('"{\\"t\\": 1}"', '{"t": 1}'),
        ('{"t": "\\ud83e\\udddd"}', '{"t": "🧝"}'),
        ('{"t": "a\\ud800b"}', '{"t": "a\ufffdb"}'),
        ('{"t": "a\\u0000b"}', '{"t": "a\ufffdb"}'),
        ('{"t": "\\\\u0000"}', '{"t": "\\\\u0000"}'),
        ('"{\\"t\\": \\"a\\\\u0000b\\"}"', '{"t": "a\ufffdb"}'),
    ],
)
def test_arguments_are_made_usable(arguments: str, text: str) -> None:
    call = checked("a", "one", arguments)
    assert (call.arguments, call.problem) == (text, "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ('{"t": 1', "not valid JSON"),
        ('{"t": 1}{"t": 2}', "not valid JSON"),
        ('{"t": 1} and then', "not valid JSON"),
        ('{"t": NaN}', "not valid JSON"),
        ('{"t": Infinity}', "not valid JSON"),
        ("t=1", "not valid JSON"),
        ("[1, 2]", "one JSON object"),
        ("42", "one JSON object"),
        ("true", "one JSON object"),
        ('"words"', "not valid JSON"),
        ('{"t": 1, "t": 2}', "twice"),
        ('{"in": {"t": 1, "t": 2}}', "twice"),
        ('{"a":' * 100 + "1" + "}" * 100, "too deeply"),
        ('{"a":' * 5000 + "1" + "}" * 5000, "too deeply"),
        ('{"a":' + "[" * 100_000, ""),
    ],
)
def test_arguments_that_cannot_be_used_say_why(arguments: str, words: str) -> None:
    call = checked("a", "one", arguments)
    assert call.problem
    assert words in call.problem


def test_a_call_without_a_name_says_so() -> None:
    assert "names no tool" in calls(piece(None, "{}", index=0, id="a"))[0].problem


def test_endless_arguments_are_cut() -> None:
    call = calls(piece("one", '{"t":"', index=0), *[piece(None, "x" * 100_000, index=0)] * 50)[0]
    assert "longer than" in call.problem
    assert len(call.arguments) <= 4 << 20


@pytest.mark.parametrize(
    "junk", [None, 1, "one", [], {}, {"function": None}, {"function": "one"}, {"index": "0"}]
)
def test_junk_among_the_pieces_breaks_nothing(junk: Any) -> None:
    made = calls(piece("one", '{"t":', index=0, id="a"), junk, piece(None, "1}", index=0, id="a"))
    assert (made[0].name, made[0].arguments) == ("one", '{"t":1}')


def test_too_many_calls_are_cut_and_the_last_says_how_many() -> None:
    made = calls(*[piece("one", "{}", index=index, id=f"i{index}") for index in range(MAX_CALLS + 3)])
    assert len(made) == MAX_CALLS
    assert "3 more" in made[-1].problem
    assert not any(call.problem for call in made[:-1])


def test_order_is_the_order_in_which_calls_began() -> None:
    for order in permutations(range(3)):
        made = calls(*[piece(f"t{index}", "{}", index=index) for index in order])
        assert [call.name for call in made] == [f"t{index}" for index in order]
