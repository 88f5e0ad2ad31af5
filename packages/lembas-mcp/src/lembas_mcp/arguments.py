"""Arguments as models write them: flat, with the names they guess, lists also as one line with commas."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import AliasChoices, BeforeValidator, Field

__all__ = (
    "Before",
    "ChatId",
    "Cursor",
    "GoOn",
    "Kinds",
    "Limit",
    "ModelRef",
    "Prompt",
    "Query",
    "Since",
    "check_kinds",
    "moment",
    "within",
)


def _named(description: str, *names: str, **more: Any) -> Any:
    """A field that is described, and found under each of `names`; schemas show the first."""
    return Field(description=description, validation_alias=AliasChoices(*names), **more)


def _listed(value: Any) -> Any:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


Query = Annotated[str, _named("Words to look for, or a question.", "query", "q", "text", max_length=1000)]
Kinds = Annotated[
    Sequence[str],
    BeforeValidator(_listed),
    _named("What to look through; only chats so far.", "kinds", "kind"),
]
Since = Annotated[
    str, _named("Only what is newer than this ISO date, for example 2026-11-30.", "since", "after")
]
Limit = Annotated[int, _named("How many at most.", "limit", "page_size", "max_results")]
Cursor = Annotated[str, _named("`next` of the answer before.", "cursor", "next")]
ChatId = Annotated[str, _named("`id` of a result, or its url.", "id", "chat", "chat_id", "url")]
Before = Annotated[str, _named("`previous` of the answer before.", "before", "previous", "cursor")]
Prompt = Annotated[str, _named("What to say to the model.", "prompt", "question", "message", "text")]
ModelRef = Annotated[str, _named("`id` of a model; empty for the person's default.", "model", "model_id")]
GoOn = Annotated[str, _named("Go on in this chat; empty for a new one.", "chat", "chat_id", "id")]


def within(limit: int, most: int) -> int:
    """`limit`, brought between 1 and `most`: a page that is too large is no mistake worth a round."""
    return min(max(limit, 1), most)


def check_kinds(kinds: Sequence[str]) -> None:
    """Refuse kinds that cannot be looked through.

    Raises:
        ToolError: Naming the kind.
    """
    for kind in kinds:
        if kind.casefold() not in {"chats", "chat", "all"}:
            raise ToolError(f"There are no {kind} to look through, only chats.")


def moment(since: str) -> datetime | None:
    """The moment that `since` names, in UTC where it names no zone; None when it is empty.

    Raises:
        ToolError: When it is not an ISO date.
    """
    if not since:
        return None
    try:
        when = datetime.fromisoformat(since)
    except ValueError:
        raise ToolError(f"`since` is an ISO date like 2026-11-30, not {since!r}.") from None
    return when if when.tzinfo else when.replace(tzinfo=UTC)
