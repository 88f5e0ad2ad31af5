from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lembas_core.testing import FakeClock
from lembas_core.tools.builtin import builtin_tools
from lembas_core.tools.builtin.ask_user import prompts
from lembas_core.tools.builtin.calculator import calculate
from lembas_core.tools.running import run_tool
from lembas_core.tools.values import ToolResult


def test_each_builtin_has_its_own_name_and_family() -> None:
    tools = builtin_tools()
    assert list(tools) == ["ask_user", "calculator", "clock"]
    assert all(tool.name == tool.family == name for name, tool in tools.items())
    assert {tool.risk for tool in tools.values()} == {"read"}


async def test_the_clock_tells_date_weekday_and_time_in_a_zone() -> None:
    clock = builtin_tools(FakeClock(datetime(2026, 11, 30, 12, 5, tzinfo=UTC)))["clock"]
    result = await run_tool(clock, {"timezone": "Asia/Kolkata"})
    assert result.text == "Monday, 2026-11-30 17:35:00+05:30 (Asia/Kolkata)"
    assert (await run_tool(clock, {})).text.startswith("Monday, 2026-11-30 ")


@pytest.mark.parametrize("zone", ["Middle/Earth", "../../etc/passwd", "\x00", "x" * 10_000])
async def test_an_unknown_time_zone_is_an_error_to_correct(zone: str) -> None:
    result = await run_tool(builtin_tools()["clock"], {"timezone": zone})
    assert result.is_error
    assert "IANA" in result.text


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("(3 + 4) * 2 ^ 10", "7168"),
        ("0.1 + 0.2", "0.3"),
        ("2 \u00d7 3 \u00f7 4 \u2212 1", "0.5"),
        ("-2 ** 2", "-4"),
        ("7 // 2 + 7 % 4", "6"),
        ("sqrt(16) + max(1, 2)", "6"),
        ("round(pi, 2)", "3.14"),
        ("factorial(20)", "2432902008176640000"),
        ("12345678901234567890 * 98765432109876543210", "1219326311370217952237463801111263526900"),
        ("1 ^ 99999", "1"),
    ],
)
def test_arithmetic(expression: str, value: str) -> None:
    assert calculate(expression) == value


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "1 +",
        "1 / 0",
        "__import__('os').system('ls')",
        "(1).__class__",
        "[x for x in (1,)]",
        "1 if 1 else 2",
        "'a' * 9",
        "True + 1",
        "1j * 1j",
        "9 ** 9 ** 9",
        "10 ** 10 ** 10",
        "factorial(99999999)",
        "factorial(0.5)",
        "round(5, -999999999)",
        "(-8) ^ 0.5",
        "1e308 * 10",
        "sqrt(-1)",
        "max()",
        "gcd(2.5, 1)",
        "lambda: 1",
        "1 # 2",
        "1\n2",
        "(" * 240 + "1" + ")" * 240,
        "1" * 501,
        "x + 1",
    ],
)
def test_what_is_not_arithmetic_is_refused_in_words(expression: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        calculate(expression)


@given(st.text(alphabet="0123456789.+-*/%^()e, pimaxsqrt", max_size=40))
def test_no_expression_hangs_or_crashes(expression: str) -> None:
    with suppress(ValueError):
        assert len(calculate(expression)) <= 4_300


async def test_the_calculator_tells_a_model_what_is_wrong() -> None:
    calculator = builtin_tools()["calculator"]
    assert await run_tool(calculator, {"expression": "2+2"}) == ToolResult("4")
    assert (
        await run_tool(calculator, {"expression": "1/0"})
    ).text == "Cannot compute that: division by zero."
    assert (await run_tool(calculator, {})).is_error


NEAR_MISSES: list[tuple[dict[str, Any], list[Any]]] = [
    ({"questions": [{"question": "A?"}, {"question": "B?"}]}, [("A?", (), False), ("B?", (), False)]),
    (
        {"questions": [{"question": "A?", "choices": ["x", "y"], "multiple": True}]},
        [("A?", ("x", "y"), True)],
    ),
    ({"questions": "A?"}, [("A?", (), False)]),
    ({"questions": {"question": "A?"}}, [("A?", (), False)]),
    ({"questions": ["A?", "B?"]}, [("A?", (), False), ("B?", (), False)]),
    ({"questions": '["A?", {"text": "B?"}]'}, [("A?", (), False), ("B?", (), False)]),
    ({"questions": '{"question": "A?"}'}, [("A?", (), False)]),
    ({"question": "A?", "options": "x, y"}, [("A?", ("x", "y"), False)]),
    ({"prompt": "A?", "choices": [{"label": "x"}, {"value": 2}]}, [("A?", ("x", "2"), False)]),
    (
        {"questions": [{"text": "A?", "choices": '["x", "x"]', "multiSelect": "true"}]},
        [("A?", ("x",), True)],
    ),
    ({"questions": []}, []),
    ({}, []),
    ({"questions": [None, {}, 3.5, True]}, [("3.5", (), False)]),
]


@pytest.mark.parametrize(("arguments", "expected"), NEAR_MISSES)
def test_questions_are_understood_in_every_near_miss(arguments: dict[str, Any], expected: list[Any]) -> None:
    assert [(p.text, p.choices, p.multiple) for p in prompts(arguments)] == expected


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["questions", "question", "choices", "text", "x"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["questions", "question", "choices", "x"]), json_values))
def test_whatever_is_sent_is_questions_or_a_mistake(arguments: dict[str, Any]) -> None:
    found = prompts(arguments)
    assert all(prompt.text for prompt in found)
    assert bool(found) or builtin_tools()["ask_user"].check(arguments)


def test_too_many_questions_are_refused() -> None:
    assert "at most 10" in builtin_tools()["ask_user"].check({"questions": ["?"] * 11})


async def test_ask_user_alone_has_nobody_to_ask() -> None:
    assert (await run_tool(builtin_tools()["ask_user"], {"questions": ["?"]})).is_error
