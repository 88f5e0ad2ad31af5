"""Ask a model once: no database, no chat."""

from __future__ import annotations

from collections.abc import Iterable

from lembas_core.endpoints.values import Image, Message, ModelClient, Parameters, Request
from lembas_core.engine.limits import Limits, Permit, default_permit
from lembas_core.engine.questions import OnQuestion
from lembas_core.engine.reply import Reply
from lembas_core.engine.run import run_reply
from lembas_core.engine.state import ReplyState
from lembas_core.given import expect
from lembas_core.tools.values import Tool, Toolset

__all__ = ("ask",)


async def ask(
    prompt: str,
    *,
    model: ModelClient,
    system: str | None = None,
    images: Iterable[Image] = (),
    tools: Iterable[Tool] = (),
    parameters: Parameters | None = None,
    on_question: OnQuestion | None = None,
    permit: Permit = default_permit,
    limits: Limits | None = None,
) -> Reply:
    """Ask a model and wait for its whole reply.

    Args:
        prompt: What is asked.
        model: What answers.
        system: The system message.
        images: Pictures that belong to the prompt.
        tools: What the model may call.
        parameters: How to sample.
        on_question: Asks a person; without it nobody can be asked, so what needs permission is denied.
        permit: Decides for each call whether it runs, asks or is denied.
        limits: How far the reply may go.

    Raises:
        EndpointError: The reply failed; `partial` holds what had arrived.
        TypeError: Something is of another type; `model` is the name of one.
    """
    if not hasattr(model, "stream"):
        # Told here, since a script names models everywhere else; only an instance can look a name up.
        raise TypeError(f"`model` must be a model such as Endpoint(url).model(name), not {model!r}.")
    expect("prompt", prompt, str)
    expect("system", system, str, None)
    expect("parameters", parameters, Parameters, None)
    images = tuple(images)
    for image in images:
        expect("images", image, Image)
    messages = [Message("system", system)] if system else []
    messages.append(Message("user", prompt, images=images))
    state = ReplyState()
    finished = await run_reply(
        model,
        Request(model.name, tuple(messages), parameters=parameters or Parameters()),
        emit=state.apply,
        tools=Toolset(*tools),
        ask=on_question,
        permit=permit,
        limits=limits,
    )
    state.apply(finished)
    if finished.error is not None:
        raise finished.error
    return Reply.from_view(state.view())
