"""Chats and messages as rows, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from lembas_core.chats.values import ChatInfo, MessageInfo
from lembas_core.context.parameters import parameters_from_json
from lembas_core.context.transcript import Turn
from lembas_core.endpoints.values import Image
from lembas_core.replies.rows import blocks_of, metrics_of

if TYPE_CHECKING:
    from sqlalchemy import Row

__all__ = ("chat_of", "images_to_json", "message_of", "turn_of")


def chat_of(row: Row[Any]) -> ChatInfo:
    """The chat that a row holds."""
    return ChatInfo(
        id=row.id,
        title=row.title,
        title_source=row.title_source,
        model=row.model,
        system=row.system,
        parameters=parameters_from_json(row.parameters),
        effort=row.effort,
        pinned=row.pinned,
        archived=row.archived,
        temporary=row.temporary,
        unread=row.unread,
        origin=row.origin,
        head_id=row.head_id,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def message_of(row: Row[Any], version: int = 1, versions: int = 1) -> MessageInfo:
    """The message that a row holds, and which of its versions it is."""
    return MessageInfo(
        id=row.id,
        chat_id=row.chat_id,
        parent_id=row.parent_id,
        role=row.role,
        text=row.text,
        created_at=row.created_at,
        blocks=blocks_of(row.text, row.blocks) if row.role == "assistant" else (),
        images=_images(row.images),
        model=row.model or "",
        status=row.status,
        finish=row.finish,
        error=row.error,
        error_kind=row.error_kind,
        metrics=metrics_of(row),
        number=row.event_number,
        version=version,
        versions=versions,
    )


def turn_of(role: Any, text: str, images: Iterable[Mapping[str, str]] | None) -> Turn:
    """What a row of `tree.turns` adds to a conversation."""
    return Turn(role, text, _images(images) if images else ())


def images_to_json(images: Iterable[Image]) -> list[dict[str, str]] | None:
    """Pictures as JSON values."""
    return [image.to_json() for image in images] or None


def _images(values: Iterable[Mapping[str, str]] | None) -> tuple[Image, ...]:
    return tuple(Image.from_json(value) for value in values or ())
