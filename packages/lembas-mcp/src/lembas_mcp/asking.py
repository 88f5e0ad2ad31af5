"""Asking a model for a client: watched, stopped when the client leaves, never in a circle."""

from __future__ import annotations

from collections.abc import AsyncIterable
from math import inf
from typing import TYPE_CHECKING, Any

import anyio
from lembas_core import events
from mcp.server.mcpserver.exceptions import ToolError

from lembas_mcp.places import to_id
from lembas_mcp.results import CHARACTERS, Answered, Usage

if TYPE_CHECKING:
    from lembas_core import Chat, Lembas, MessageInfo, Reply
    from mcp.server.mcpserver.context import Context

__all__ = ("DEEPEST", "DEPTH_KEY", "Progress", "put")

DEPTH_KEY = "lembas/depth"
"""In a call's `_meta`: how many replies of ours the call already hangs on."""

DEEPEST = 2

PAUSE = 0.25
"""Seconds between two progress notes; the text that arrives meanwhile is joined."""


async def put(
    lembas: Lembas, prompt: str, context: Context[Any, Any], *, model: str, chat_id: str
) -> Answered:
    """Ask, tell the client how it goes, and give the whole answer.

    The reply belongs to the call: when the client hangs up or cancels, it is stopped; what arrived is kept.

    Raises:
        LembasError: When the chat or the model does not exist, or the prompt is empty.
        ToolError: When the call would go in a circle, or the endpoint failed.
    """
    _refuse_circles(context)
    chat = await _chat(lembas, model, chat_id)
    async with chat.reply(prompt) as stream:
        await Progress(context).watch(stream)
    reply = stream.reply
    if reply.error is not None:
        kept = f" What had arrived is kept in chat {stream.chat_id}." if reply.text else ""
        raise ToolError(f"{reply.error}{kept}")
    return _answered(reply, await lembas.chats.message(stream.id))


def _refuse_circles(context: Context[Any, Any]) -> None:
    """Refuse a call that a reply of ours made through a reply of ours.

    Raises:
        ToolError: At depth 2.
    """
    depth = (context.request_context.meta or {}).get(DEPTH_KEY, 0)
    if isinstance(depth, int) and depth >= DEEPEST:
        raise ToolError("This call came from LLeMbas itself and would go in a circle; answer without ask.")


class Progress:
    """Tells a client what a reply does, a few times a second: text that is new, or what happens instead."""

    def __init__(self, context: Context[Any, Any]) -> None:
        self._context = context
        self._text = ""
        self._note = ""
        self._told = -inf

    async def watch(self, stream: AsyncIterable[events.Event]) -> None:
        """Follow `stream` to its end."""
        number = 0
        async for event in stream:
            number = event.number
            self._take(event)
            if anyio.current_time() - self._told >= PAUSE:
                await self._tell(number)
        await self._tell(number)

    def _take(self, event: events.Event) -> None:
        match event:
            case events.Text():
                self._text += event.added
            case events.Reasoning():
                self._note = "Thinking…"
            case events.Status():
                self._note = event.text
            case _:
                pass

    async def _tell(self, number: int) -> None:
        if message := self._text or self._note:
            # Event numbers rise with every event, as progress must.
            await self._context.report_progress(number, message=message)
            self._told = anyio.current_time()
            self._text = self._note = ""


async def _chat(lembas: Lembas, model: str, chat_id: str) -> Chat:
    if not chat_id:
        return lembas.chat(model=model or None)
    return await lembas.open_chat(chat_id, model=model or None)


def _answered(reply: Reply, message: MessageInfo) -> Answered:
    metrics = reply.metrics
    return Answered(
        text=reply.text[:CHARACTERS],
        chat=message.chat_id,
        model=message.model,
        finish=reply.finish if reply.outcome == "done" else reply.outcome,
        usage=Usage(
            prompt_tokens=metrics.prompt_tokens,
            completion_tokens=metrics.completion_tokens,
            cached_tokens=metrics.cached_tokens,
            reasoning_tokens=metrics.reasoning_tokens,
            estimated=metrics.estimated,
        ),
        next=to_id(message.chat_id, message.id) if len(reply.text) > CHARACTERS else "",
    )
