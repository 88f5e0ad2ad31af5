"""A model that was looked up: the client and everything that is known of it."""

from __future__ import annotations

from dataclasses import field

from lembas_core.endpoints.values import ModelClient, Parameters
from lembas_core.frozen import frozen

__all__ = ("Resolved",)


@frozen(kw_only=True)
class Resolved:
    """A model ready to be asked; None is unknown.

    Attributes:
        client: What answers requests.
        ref: The name that finds it again (`CONNECTION/NAME`); its own name for a client that was handed in.
        name: The model's name as the endpoint knows it.
        tools: Whether it takes tools.
        vision: Whether it takes images.
        reasoning: Whether it thinks before it answers.
        context_window: Its window in tokens.
        parameters: How it samples unless a chat says otherwise.
        system: The system prompt of the model; a chat's own wins over it outright.
    """

    client: ModelClient
    ref: str
    name: str
    tools: bool | None = None
    vision: bool | None = None
    reasoning: bool | None = None
    context_window: int | None = None
    parameters: Parameters = field(default_factory=Parameters)
    system: str | None = None
