"""Sampling parameters in layers."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from lembas_core.context import merge_parameters, parameters_from_json, parameters_to_json
from lembas_core.endpoints.values import Parameters

parameters = st.builds(
    Parameters,
    temperature=st.none() | st.floats(0, 2),
    top_p=st.none() | st.floats(0, 1),
    max_tokens=st.none() | st.integers(1, 9),
    seed=st.none() | st.integers(0, 9),
    stop=st.lists(st.text(max_size=3), max_size=2).map(tuple),
    effort=st.none() | st.sampled_from(["low", "high"]),
    extra=st.dictionaries(st.sampled_from("ab"), st.integers(), max_size=2),
)


def test_a_later_layer_wins_where_it_says_something() -> None:
    model = Parameters(temperature=0.7, seed=1, stop=("\n",), extra={"top_k": 40, "min_p": 0.1})
    chat = Parameters(temperature=0.0, extra={"top_k": 20})
    assert merge_parameters(model, chat) == Parameters(
        temperature=0.0, seed=1, stop=("\n",), extra={"top_k": 20, "min_p": 0.1}
    )


@settings(deadline=None)
@given(parameters)
def test_parameters_survive_json(value: Parameters) -> None:
    assert parameters_from_json(parameters_to_json(value)) == value


def test_nothing_set_is_an_empty_object() -> None:
    assert parameters_to_json(Parameters()) == {}
    assert parameters_from_json(None) == Parameters()


def test_a_field_of_a_newer_version_is_left_out() -> None:
    assert parameters_from_json({"seed": 3, "mirostat": 2}) == Parameters(seed=3)
