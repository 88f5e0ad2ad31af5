"""A title by a model, after the first exchange; whatever goes wrong, the first words of the turn stay."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import anyio

from lembas_core.chats.titles import clean_title, title_prompt
from lembas_core.chats.writing import give_title
from lembas_core.context.parameters import merge_parameters
from lembas_core.endpoints.values import Parameters
from lembas_core.engine.ask import ask
from lembas_core.errors import LembasError

if TYPE_CHECKING:
    from lembas_core.chats.ports import Resolve, Setting
    from lembas_core.endpoints.resolved import Resolved
    from lembas_core.store import Store

__all__ = ("name_chat",)

_log: Final = logging.getLogger(__name__)
# Room for a short thought; who thinks longer about a title leaves the chat with its first words.
_MOST_TOKENS: Final = 1024
_LONGEST: Final = 60.0


async def name_chat(
    store: Store,
    chat_id: str,
    turn: str,
    reply: str,
    *,
    model: Resolved | None,
    resolve: Resolve,
    setting: Setting,
) -> None:
    """Let the task model, or else the chat's, name a chat.

    Args:
        store: Where the chat is.
        chat_id: The chat.
        turn: What the person said first.
        reply: What was answered, without thinking.
        model: The chat's model; None when a script brought its own, which is then asked nothing unasked.
        resolve: Looks up the task model.
        setting: The instance's settings.
    """
    if not await setting("titles"):
        return
    try:
        task_model = await setting("task_model")
        namer = await resolve(task_model) if task_model else model
        if namer is not None and (title := await _title(namer, turn, reply)):
            await store.write(lambda c: give_title(c, chat_id, title))
    except LembasError as error:
        _log.info("No title by a model for the chat %s: %s", chat_id, error)


async def _title(namer: Resolved, turn: str, reply: str) -> str:
    parameters = merge_parameters(namer.parameters, Parameters(max_tokens=_MOST_TOKENS))
    with anyio.move_on_after(_LONGEST):
        answer = await ask(title_prompt(turn, reply), model=namer.client, parameters=parameters)
        return clean_title(answer.text)
    return ""
