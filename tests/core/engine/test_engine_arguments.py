from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from lembas_core.endpoints.values import ToolCall
from lembas_core.engine.arguments import decoded, replayable

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
objects = st.dictionaries(st.text(max_size=5), values, max_size=4)


@given(objects, st.booleans(), st.sampled_from([None, 2]))
def test_what_is_shown_is_what_runs_and_what_was_sent(
    sent: dict[str, Any], ascii_only: bool, indent: int | None
) -> None:
    written = json.dumps(sent, ensure_ascii=ascii_only, indent=indent)
    arguments, shown, problem = decoded(ToolCall("a", "look", written))
    assert problem == ""
    assert json.loads(shown) == arguments == sent


@given(
    st.text(max_size=60)
    | objects.map(json.dumps).flatmap(lambda s: st.integers(0, len(s)).map(lambda at: s[:at]))
)
def test_whatever_a_model_writes_is_decoded_or_refused_in_words(written: str) -> None:
    arguments, _, problem = decoded(ToolCall("a", "look", written))
    assert problem or isinstance(arguments, dict)
    assert isinstance(json.loads(replayable(ToolCall("a", "look", written)).arguments), dict)


@given(st.text(st.characters(categories=["Cs", "L"]), max_size=9))
def test_lone_surrogates_reach_no_tool(said: str) -> None:
    arguments, shown, _ = decoded(ToolCall("a", "look", json.dumps({"x": said})))
    assert (shown + arguments["x"]).encode()


def test_no_arguments_are_an_empty_object() -> None:
    assert decoded(ToolCall("a", "look", "")) == ({}, "{}", "")
