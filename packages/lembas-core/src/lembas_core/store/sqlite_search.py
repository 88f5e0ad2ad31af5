"""Find rows in SQLite: the newest of the index that hold every word, and those that wait to be indexed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cache
from itertools import islice
from typing import Any, Final
from unicodedata import ucd_3_2_0

from sqlalchemy import Connection, Executable, bindparam, text

from lembas_core.store.columns import Moment
from lembas_core.store.sqlite_index import owner_term
from lembas_core.store.words import Piece, fold, holds

__all__ = ("find",)

_CHECKED: Final = 10_000  # rows that hold every word and are read to see whether those stand in a row
_WAITING: Final = 1000  # rows that wait to be indexed and are read instead

_MESSAGE: Final = "m.number, m.id AS message_id, m.role, m.created_at AS at, m.text AS said"
_CHAT: Final = "-c.number AS number, NULL AS message_id, NULL AS role, c.updated_at AS at, c.title AS said"
_SEEN: Final = "c.person_id = :person AND c.deleted_at IS NULL AND NOT c.temporary"
# What the index says of a row that waits is old.
_NEWS: Final = "w.rowid NOT IN (SELECT number FROM search_queue)"

# "CROSS JOIN" holds SQLite to the order: the newest rows first, until there are enough.
_INDEX: Final = (
    f"""
SELECT c.id AS chat_id, c.title, {_MESSAGE} FROM search_words(:asked) w
CROSS JOIN messages m ON m.number = w.rowid JOIN chats c ON c.id = m.chat_id
WHERE w.rowid > 0 AND {_NEWS} AND {_SEEN} AND (:since IS NULL OR m.created_at >= :since)
ORDER BY w.rowid DESC LIMIT :most""",
    f"""
SELECT c.id AS chat_id, c.title, {_CHAT} FROM search_words(:asked) w
CROSS JOIN chats c ON c.number = -w.rowid
WHERE w.rowid < 0 AND {_NEWS} AND {_SEEN} AND (:since IS NULL OR c.updated_at >= :since)
ORDER BY w.rowid LIMIT :most""",
)
_QUEUE: Final = (
    f"""
SELECT c.id AS chat_id, c.title, {_MESSAGE} FROM search_queue w
CROSS JOIN messages m ON m.number = w.number AND m.status <> 'running' JOIN chats c ON c.id = m.chat_id
WHERE w.number > 0 AND {_SEEN} AND (:since IS NULL OR m.created_at >= :since)
ORDER BY w.number DESC LIMIT :most""",
    f"""
SELECT c.id AS chat_id, c.title, {_CHAT} FROM search_queue w CROSS JOIN chats c ON c.number = -w.number
WHERE w.number < 0 AND {_SEEN} AND (:since IS NULL OR c.updated_at >= :since)
ORDER BY w.number LIMIT :most""",
)


def find(
    connection: Connection, person_id: str, asked: Sequence[Piece], since: datetime | None, most: int
) -> Iterator[Any]:
    """A person's newest messages and titles that hold everything that is asked, `most` of each at most."""
    values: dict[str, Any] = {"person": person_id, "since": since}
    for sql in _INDEX:
        yield from _indexed(connection, sql, values, asked, most)
    for sql in _QUEUE:
        yield from _run(connection, sql, values | {"most": _WAITING}, asked)


def _indexed(
    connection: Connection, sql: str, values: dict[str, Any], asked: Sequence[Piece], most: int
) -> list[Any]:
    """The newest rows that hold everything; longer words are only looked for when whole ones are too few.

    To find the words that begin so, FTS5 goes through every row that has one of them, newest or not.
    """
    doubts = () if all(map(_is_told_by_the_index, asked)) else asked
    values = values | {"most": _CHECKED if doubts else most}
    found: list[Any] = []
    for terms in _queries(values["person"], asked):
        found = [*islice(_run(connection, sql, values | {"asked": terms}, doubts), most)]
        if len(found) >= most:
            break
    return found


def _run(connection: Connection, sql: str, values: dict[str, Any], doubts: Sequence[Piece]) -> Iterator[Any]:
    with connection.execute(_statement(sql), values) as rows:
        yield from (row for row in rows if not doubts or _holds(row, doubts))


@cache
def _statement(sql: str) -> Executable:
    return text(sql).bindparams(bindparam("since", type_=Moment())).columns(at=Moment())


def _queries(person_id: str, asked: Sequence[Piece]) -> Iterator[str]:
    """The question as FTS5 wants it: with whole words, then with the last one as a beginning.

    Between quotes nothing is syntax, and no term holds a quote.
    """
    terms = [owner_term(person_id), *(term for piece in asked for term in piece.terms if _is_a_term(term))]
    whole = " AND ".join(f'"{term}"' for term in terms)
    yield whole
    if asked[-1].prefix and _is_a_term(asked[-1].words[-1]):
        yield f"{whole} *"


def _is_told_by_the_index(piece: Piece) -> bool:
    return len(piece.terms) == 1 and _is_a_term(piece.terms[0])


def _is_a_term(term: str) -> bool:
    """Whether FTS5, which knows an old Unicode, takes this as one word; else only the text can tell."""
    return all(ucd_3_2_0.category(character)[0] in "LMN" for character in term)


def _holds(row: Any, asked: Sequence[Piece]) -> bool:
    said = fold(row.said)
    return all(holds(said, piece) for piece in asked)
