"""Sampling parameters in layers, and as JSON for a row or a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from lembas_core.endpoints.values import Parameters

__all__ = ("merge_parameters", "parameters_from_json", "parameters_to_json")

_NAMES = tuple(field.name for field in fields(Parameters))


def merge_parameters(*layers: Parameters) -> Parameters:
    """One set of parameters: field by field, the last layer that says something wins.

    `extra` is merged key by key in the same order.
    """
    merged = Parameters()
    for layer in layers:
        said = {name: value for name in _NAMES if (value := getattr(layer, name)) not in (None, (), {})}
        if "extra" in said:
            said["extra"] = {**merged.extra, **layer.extra}
        merged = replace(merged, **said)
    return merged


def parameters_to_json(parameters: Parameters) -> dict[str, Any]:
    """What is set, as JSON values; nothing set is {}."""
    values = {name: getattr(parameters, name) for name in _NAMES}
    values["stop"] = list(parameters.stop)
    values["extra"] = dict(parameters.extra)
    return {name: value for name, value in values.items() if value not in (None, [], {})}


def parameters_from_json(values: Mapping[str, Any] | None) -> Parameters:
    """Parameters from `parameters_to_json`; fields of a newer version are left out."""
    known = {name: value for name, value in (values or {}).items() if name in _NAMES}
    if "stop" in known:
        known["stop"] = tuple(known["stop"])
    return Parameters(**known)
