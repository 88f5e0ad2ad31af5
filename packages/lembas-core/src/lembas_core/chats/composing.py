"""From a stored conversation to what the engine is given."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from lembas_core.context.parameters import merge_parameters
from lembas_core.context.transcript import Turn, system_prompt, transcript
from lembas_core.endpoints.values import Parameters, Request
from lembas_core.engine.limits import Limits, default_permit
from lembas_core.replies.job import Work
from lembas_core.tools.values import Toolset

if TYPE_CHECKING:
    from lembas_core.chats.ports import Setting
    from lembas_core.chats.values import RunWith
    from lembas_core.endpoints.resolved import Resolved
    from lembas_core.endpoints.values import Message

__all__ = ("compose", "with_effort")


async def compose(
    turns: Iterable[Turn],
    *,
    system: str | None,
    parameters: Parameters,
    model: Resolved,
    run: RunWith,
    setting: Setting,
    more: tuple[Message, ...] = (),
) -> Work:
    """What answers, with what request, tools and bounds.

    Args:
        turns: The conversation up to the turn that is answered.
        system: The chat's own system prompt, None when it has none.
        parameters: The chat's own, effort included.
        model: What answers.
        run: What this reply runs with.
        setting: The instance's settings.
        more: Messages after the conversation, to continue a reply.
    """
    prompt = system_prompt(system, model.system, await setting("system_prompt"))
    messages = transcript(turns, system=prompt, vision=model.vision) + more
    # An endpoint without tools refuses the whole request; one of which nothing is known gets them.
    tools = run.tools if run.tools is not None and model.tools is not False else Toolset()
    asked = merge_parameters(model.parameters, parameters, run.parameters)
    return Work(
        model=model.client,
        request=Request(model.name, messages, tools.specs, asked),
        tools=tools,
        permit=run.permit or default_permit,
        limits=run.limits or Limits(),
        context_window=model.context_window,
    )


def with_effort(parameters: Parameters, effort: str | None) -> Parameters:
    """A chat's parameters with its effort."""
    return parameters if effort is None else replace(parameters, effort=effort)
