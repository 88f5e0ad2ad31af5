"""How values become columns: text that any database takes, moments in UTC, JSON."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

import orjson
from sqlalchemy import DateTime, Dialect, String, Text, TypeDecorator
from sqlalchemy.types import TypeEngine

__all__ = ("CleanText", "Json", "Moment", "clean")


def clean(text: str) -> str:
    """`text` as every database takes it: NUL left out, lone surrogates replaced, pairs of them joined.

    PostgreSQL refuses NUL in text, and neither database can encode a lone surrogate.
    """
    if "\0" in text:
        text = text.replace("\0", "")
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


class CleanText(TypeDecorator[str]):
    """Text of any length, or of at most `length` characters, cleaned on its way in."""

    impl: Any = Text
    cache_ok: bool | None = True

    def __init__(self, length: int | None = None) -> None:
        super().__init__()
        self.length = length

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """The database's own type."""
        return dialect.type_descriptor(String(self.length) if self.length else Text())

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Clean what goes in."""
        return None if value is None else clean(value)


class Moment(TypeDecorator[datetime]):
    """A moment in UTC: `timestamptz` on PostgreSQL, ISO 8601 text that sorts on SQLite."""

    impl: Any = DateTime
    cache_ok: bool | None = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """The database's own type."""
        sqlite = dialect.name == "sqlite"
        return dialect.type_descriptor(String(32) if sqlite else DateTime(timezone=True))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """UTC goes in; a moment without a time zone is a mistake and raises ValueError."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone")
        moment = value.astimezone(UTC)
        return moment.isoformat(timespec="microseconds") if dialect.name == "sqlite" else moment

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """UTC comes out, whatever the server's time zone."""
        if value is None:
            return None
        return datetime.fromisoformat(value) if dialect.name == "sqlite" else value.astimezone(UTC)


class Json(TypeDecorator[Any]):
    """A JSON value as compact text; None is NULL."""

    impl: Any = Text
    cache_ok: bool | None = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        """Encode, with the strings inside cleaned."""
        return None if value is None else _dump(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        """Decode."""
        return None if value is None else orjson.loads(value)


def _dump(value: Any) -> str:
    try:
        text = orjson.dumps(value).decode()
    except orjson.JSONEncodeError:  # a lone surrogate somewhere, or no JSON at all: the second try tells
        return orjson.dumps(_cleaned(value)).decode()
    return orjson.dumps(_cleaned(value)).decode() if "\\u0000" in text else text


def _cleaned(value: Any) -> Any:
    match value:
        case str():
            return clean(value)
        case dict():
            pairs = cast("dict[Any, Any]", value).items()
            return {_cleaned(key): _cleaned(item) for key, item in pairs}
        case list() | tuple():
            return [_cleaned(item) for item in cast("list[Any]", value)]
        case _:
            return value
