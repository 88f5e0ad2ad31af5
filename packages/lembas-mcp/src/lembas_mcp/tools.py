"""The tools: flat arguments, bounded answers, everything in the structured content."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, ToolAnnotations

from lembas_mcp.arguments import (
    Before,
    ChatId,
    Cursor,
    GoOn,
    Kinds,
    Limit,
    ModelRef,
    Prompt,
    Query,
    Since,
    check_kinds,
    moment,
    within,
)
from lembas_mcp.asking import put
from lembas_mcp.places import Place, fit, parse_before, parse_id, to_id, to_url
from lembas_mcp.results import CHARACTERS, Answered, Hit, Hits, ModelEntry, Models, Said, Transcript, answer
from lembas_mcp.schemas import plain

if TYPE_CHECKING:
    from lembas_core import ChatInfo, Lembas, MessageInfo
    from lembas_core import ModelEntry as ListedModel
    from lembas_core.store.search import Hit as FoundHit

__all__ = ("ChatTools", "tools_for")

READ = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
ASK = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=True
)

FIRST_LIST_SECONDS = 2.0
"""How long a look at the models may wait while there are endpoints that were never asked."""


class ChatTools:
    """What a client may do with one person's chats and models."""

    def __init__(self, lembas: Lembas) -> None:
        self._lembas = lembas

    async def search(
        self,
        query: Query,
        kinds: Kinds = ("chats",),
        since: Since = "",
        limit: Limit = 8,
        cursor: Cursor = "",
    ) -> Annotated[CallToolResult, Hits]:
        """Search the person's conversations, titles and messages.

        Use a few distinctive words. Best match first; read_chat opens a result at the place that matched.
        """
        check_kinds(kinds)
        if not query.strip():
            raise ToolError("There is nothing to search for; use recent to list the newest chats.")
        page = await self._lembas.chats.search(
            query, since=moment(since), limit=within(limit, 20), cursor=cursor or None
        )
        return answer(Hits(results=[_hit(hit) for hit in page.items], next=page.cursor or ""))

    async def recent(
        self, kinds: Kinds = ("chats",), limit: Limit = 20, cursor: Cursor = ""
    ) -> Annotated[CallToolResult, Hits]:
        """List the person's newest conversations, the one that moved last first."""
        check_kinds(kinds)
        page = await self._lembas.chats.list(limit=within(limit, 50), cursor=cursor or None)
        return answer(Hits(results=[_recent(chat) for chat in page.items], next=page.cursor or ""))

    async def read_chat(
        self, id: ChatId, before: Before = "", limit: Limit = 20
    ) -> Annotated[CallToolResult, Transcript]:
        """Read a conversation: the newest messages, or those up to the place a search result names.

        Oldest first. Go on with `previous` as `before`.
        """
        chat_id, place = parse_id(id)
        chat = await self._lembas.chats.get(chat_id)
        place = parse_before(before) if before else place
        messages = await self._messages(chat, place, within(limit, 100))
        stretch = fit(messages, CHARACTERS, place.characters)
        said = [_said(m, stretch.texts[m.id]) for m in messages if m.id in stretch.texts]
        return answer(
            Transcript(
                id=chat.id,
                title=chat.title,
                model=chat.model or "",
                url=to_url(chat.id),
                messages=said,
                previous=stretch.previous,
            )
        )

    async def list_models(self, limit: Limit = 50, cursor: Cursor = "") -> Annotated[CallToolResult, Models]:
        """List the models this person can ask, with what is known of each."""
        offered = [_model(entry) for entry in await self._models() if entry.offered]
        start = next((place for place, model in enumerate(offered, 1) if model.id == cursor), 0)
        if cursor and not start:
            raise ToolError("That is not a place in the list of models; list them from the beginning.")
        page = offered[start : start + within(limit, 100)]
        more = start + len(page) < len(offered)
        return answer(Models(models=page, next=page[-1].id if more else ""))

    async def ask(
        self, prompt: Prompt, context: Context[Any, Any], model: ModelRef = "", chat: GoOn = ""
    ) -> Annotated[CallToolResult, Answered]:
        """Ask one of the person's models and keep the conversation.

        Starts a new one, or goes on in `chat`. Takes as long as that model takes.
        """
        return answer(await put(self._lembas, prompt, context, model=model, chat_id=parse_id(chat)[0]))

    async def _messages(self, chat: ChatInfo, place: Place, limit: int) -> Sequence[MessageInfo]:
        chats = self._lembas.chats
        if not place.inclusive:
            return await chats.messages(chat.id, limit=limit, before=place.message_id or None)
        last = await chats.message(place.message_id)
        if last.chat_id != chat.id:
            raise ToolError("That message belongs to another chat.")
        return [*await chats.messages(chat.id, limit=limit - 1, before=last.id), last]

    async def _models(self) -> tuple[ListedModel, ...]:
        connections = await self._lembas.connections.list()
        if any(each.enabled and each.asked_at is None for each in connections):
            await self._lembas.models.refresh(within=FIRST_LIST_SECONDS)
        return await self._lembas.models.list()


def tools_for(lembas: Lembas) -> list[Tool]:
    """The tools in the order they are listed, which never changes."""
    chats = ChatTools(lembas)
    return [
        _tool(chats.search, "Search conversations", READ),
        _tool(chats.recent, "List recent conversations", READ),
        _tool(chats.read_chat, "Read a conversation", READ),
        _tool(chats.list_models, "List models", READ),
        _tool(chats.ask, "Ask a model", ASK),
    ]


def _hit(hit: FoundHit) -> Hit:
    return Hit(
        id=to_id(hit.chat_id, hit.message_id),
        kind="chat",
        title=hit.title,
        url=to_url(hit.chat_id, hit.message_id),
        text=hit.snippet.replace("\x02", "**").replace("\x03", "**"),
        where=hit.role or "title",
        updated=_iso(hit.at),
    )


def _recent(chat: ChatInfo) -> Hit:
    return Hit(
        id=chat.id,
        kind="chat",
        title=chat.title,
        url=to_url(chat.id),
        text="",
        where="",
        updated=_iso(chat.updated_at),
    )


def _said(message: MessageInfo, text: str) -> Said:
    return Said(
        id=message.id,
        role=message.role,
        text=text,
        at=_iso(message.created_at),
        tools=[block.name for block in message.blocks if block.kind == "tool"],
        status=None if message.status == "done" else message.status,
    )


def _model(entry: ListedModel) -> ModelEntry:
    return ModelEntry(
        id=entry.ref,
        name=entry.setup.display_name or entry.name,
        context=entry.context_window,
        vision=entry.vision,
        tools=entry.tools,
    )


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _tool(function: Callable[..., Any], title: str, annotations: ToolAnnotations) -> Tool:
    description = " ".join((function.__doc__ or "").split())
    tool = Tool.from_function(function, title=title, description=description, annotations=annotations)
    tool.parameters = plain(tool.parameters)
    tool.fn_metadata.output_schema = plain(tool.fn_metadata.output_schema or {})
    return tool
