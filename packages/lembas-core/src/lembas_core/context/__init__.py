"""What a model is told: the messages of a request, built from a conversation by pure functions."""

from __future__ import annotations

from lembas_core.context.parameters import merge_parameters, parameters_from_json, parameters_to_json
from lembas_core.context.transcript import Turn, system_prompt, transcript

__all__ = (
    "Turn",
    "merge_parameters",
    "parameters_from_json",
    "parameters_to_json",
    "system_prompt",
    "transcript",
)
