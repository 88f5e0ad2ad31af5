"""The tables, as SQLAlchemy Core knows them.

What is added here reaches existing databases by itself at the next start (`schema`), so a new column is
nullable or has a `server_default`, and `SCHEMA` goes up by one with every change.
`number` is counted by the database; it is what full-text search points at. Everything else refers to `id`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, TypeVar, cast

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Named,
    Table,
    TypedColumns,
    UniqueConstraint,
)
from sqlalchemy import text as sql
from sqlalchemy.schema import SchemaItem
from sqlalchemy.sql.expression import false, true

from lembas_core.store.columns import CleanText, Json, Moment

__all__ = (
    "SCHEMA",
    "chats",
    "connections",
    "messages",
    "meta",
    "metadata",
    "models",
    "people",
    "settings",
)

SCHEMA: Final = 1
metadata: Final = MetaData()

# SQLite counts by itself only in a column that is exactly INTEGER.
_Number = BigInteger().with_variant(Integer(), "sqlite")
_EMPTY, _ZERO, _LIST, _OBJECT = sql("''"), sql("0"), sql("'[]'"), sql("'{}'")


class _Meta(TypedColumns):
    key: Named[str] = Column(CleanText(64), primary_key=True)
    value: Named[str] = Column(CleanText())


class _People(TypedColumns):
    id: Named[str] = Column(CleanText(36), primary_key=True)
    name: Named[str] = Column(CleanText(), unique=True)
    display_name: Named[str] = Column(CleanText(), server_default=_EMPTY)
    role: Named[str] = Column(CleanText(16), server_default=sql("'user'"))
    password_hash: Named[str | None] = Column(CleanText())
    active: Named[bool] = Column(Boolean(), server_default=true())
    is_owner: Named[bool] = Column(Boolean(), server_default=false())
    created_at: Named[datetime] = Column(Moment())


class _Chats(TypedColumns):
    number: Named[int] = Column(_Number, primary_key=True)
    id: Named[str] = Column(CleanText(36), unique=True)
    person_id: Named[str] = Column(CleanText(36), ForeignKey("people.id", ondelete="CASCADE"))
    title: Named[str] = Column(CleanText(), server_default=_EMPTY)
    title_source: Named[str] = Column(CleanText(16), server_default=sql("'turn'"))
    model: Named[str] = Column(CleanText(), server_default=_EMPTY)
    system: Named[str | None] = Column(CleanText())
    parameters: Named[Any] = Column(Json(), nullable=False, server_default=_OBJECT)
    effort: Named[str | None] = Column(CleanText(16))
    kind: Named[str] = Column(CleanText(16), server_default=sql("'chat'"))
    pinned: Named[bool] = Column(Boolean(), server_default=false())
    archived: Named[bool] = Column(Boolean(), server_default=false())
    temporary: Named[bool] = Column(Boolean(), server_default=false())
    # No foreign key: a chat and its first message come in one transaction, each naming the other.
    head_id: Named[str | None] = Column(CleanText(36))
    origin: Named[str] = Column(CleanText(16), server_default=sql("'library'"))
    unread: Named[bool] = Column(Boolean(), server_default=false())
    created_at: Named[datetime] = Column(Moment())
    updated_at: Named[datetime] = Column(Moment())
    deleted_at: Named[datetime | None] = Column(Moment())


class _Messages(TypedColumns):
    number: Named[int] = Column(_Number, primary_key=True)
    id: Named[str] = Column(CleanText(36), unique=True)
    chat_id: Named[str] = Column(CleanText(36), ForeignKey("chats.id", ondelete="CASCADE"))
    # No cascade: SQLite's ends after a thousand steps, and a chat may be longer.
    parent_id: Named[str | None] = Column(CleanText(36), ForeignKey("messages.id"))
    role: Named[str] = Column(CleanText(16))
    text: Named[str] = Column(CleanText(), server_default=_EMPTY)
    blocks: Named[Any] = Column(Json(), nullable=False, server_default=_LIST)
    images: Named[Any] = Column(Json(), nullable=True)
    model: Named[str | None] = Column(CleanText())
    status: Named[str] = Column(CleanText(16), server_default=sql("'done'"))
    finish: Named[str] = Column(CleanText(32), server_default=_EMPTY)
    error: Named[str] = Column(CleanText(), server_default=_EMPTY)
    error_kind: Named[str] = Column(CleanText(32), server_default=_EMPTY)
    generation: Named[str | None] = Column(CleanText(36))
    owner: Named[str | None] = Column(CleanText())
    checkpoint_at: Named[datetime | None] = Column(Moment())
    event_number: Named[int] = Column(Integer(), server_default=_ZERO)
    question: Named[Any] = Column(Json(), nullable=True)
    inbox: Named[Any] = Column(Json(), nullable=True)
    prompt_tokens: Named[int | None] = Column(Integer())
    completion_tokens: Named[int | None] = Column(Integer())
    cached_tokens: Named[int | None] = Column(Integer())
    reasoning_tokens: Named[int | None] = Column(Integer())
    context_window: Named[int | None] = Column(Integer())
    first_token_seconds: Named[float | None] = Column(Float(53))
    seconds: Named[float | None] = Column(Float(53))
    writing_seconds: Named[float | None] = Column(Float(53))
    rounds: Named[int] = Column(Integer(), server_default=_ZERO)
    estimated: Named[bool] = Column(Boolean(), server_default=false())
    created_at: Named[datetime] = Column(Moment())


class _Connections(TypedColumns):
    id: Named[str] = Column(CleanText(36), primary_key=True)
    name: Named[str] = Column(CleanText(), unique=True)
    kind: Named[str] = Column(CleanText(16), server_default=sql("'auto'"))
    url: Named[str] = Column(CleanText())
    key_sealed: Named[str | None] = Column(CleanText())
    headers_sealed: Named[str | None] = Column(CleanText())
    timeouts: Named[Any] = Column(Json(), nullable=False, server_default=_OBJECT)
    enabled: Named[bool] = Column(Boolean(), server_default=true())
    position: Named[int] = Column(Integer(), server_default=_ZERO)
    catalogue: Named[Any] = Column(Json(), nullable=False, server_default=_LIST)
    catalogue_at: Named[datetime | None] = Column(Moment())
    catalogue_error: Named[str] = Column(CleanText(), server_default=_EMPTY)
    created_at: Named[datetime] = Column(Moment())


class _Models(TypedColumns):
    id: Named[str] = Column(CleanText(36), primary_key=True)
    connection_id: Named[str] = Column(CleanText(36), ForeignKey("connections.id", ondelete="CASCADE"))
    name: Named[str] = Column(CleanText())
    display_name: Named[str] = Column(CleanText(), server_default=_EMPTY)
    description: Named[str] = Column(CleanText(), server_default=_EMPTY)
    enabled: Named[bool] = Column(Boolean(), server_default=true())
    pinned: Named[bool] = Column(Boolean(), server_default=false())
    position: Named[int] = Column(Integer(), server_default=_ZERO)
    tools: Named[bool | None] = Column(Boolean())
    vision: Named[bool | None] = Column(Boolean())
    reasoning: Named[bool | None] = Column(Boolean())
    context_window: Named[int | None] = Column(Integer())
    parameters: Named[Any] = Column(Json(), nullable=False, server_default=_OBJECT)
    effort: Named[str | None] = Column(CleanText(16))
    system: Named[str | None] = Column(CleanText())
    created_at: Named[datetime] = Column(Moment())


class _Settings(TypedColumns):
    key: Named[str] = Column(CleanText(128), primary_key=True)
    value: Named[Any] = Column(Json(), nullable=True)
    updated_at: Named[datetime] = Column(Moment())


C = TypeVar("C", bound=TypedColumns)


def _table(name: str, columns: type[C], *more: SchemaItem) -> Table[C]:
    """The table `Table(name, metadata, columns, *more)`, made in a third of the time.

    SQLAlchemy would copy every column and evaluate its annotation at each start; these belong to one table
    only and say by their spelling whether they may be empty.
    """
    own: dict[str, Column[Any]] = {k: v for k, v in vars(columns).items() if isinstance(v, Column)}
    for key, column in own.items():
        column.name = column.key = key
        annotation = columns.__annotations__[key]
        if annotation != "Named[Any]":
            column.nullable = annotation.endswith("| None]")
    return cast("Table[C]", Table(name, metadata, *own.values(), *more))


meta: Final = _table("meta", _Meta)
people: Final = _table("people", _People)
chats: Final = _table("chats", _Chats)
messages: Final = _table("messages", _Messages)
connections: Final = _table("connections", _Connections)
models: Final = _table(
    "models", _Models, UniqueConstraint("connection_id", "name", name="models_of_a_connection")
)
settings: Final = _table("settings", _Settings)

Index("chats_by_activity", chats.c.person_id, chats.c.updated_at, chats.c.id)
Index("messages_by_chat", messages.c.chat_id)
Index("messages_by_parent", messages.c.parent_id)
