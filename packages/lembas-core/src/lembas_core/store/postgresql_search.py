"""Find rows in PostgreSQL: the newest whose words match."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cache
from typing import Any, Final

from sqlalchemy import Connection, Executable, bindparam, text

from lembas_core.store.columns import Moment
from lembas_core.store.words import Piece, fold, holds

__all__ = ("find",)

_ASKED: Final = "words @@ (CAST(:owner AS tsquery) && to_tsquery('lembas', :asked))"
_SEEN: Final = "c.person_id = :person AND c.deleted_at IS NULL AND NOT c.temporary"
_SQL: Final = (
    f"""
SELECT c.id AS chat_id, c.title, m.number, m.id AS message_id, m.role, m.created_at AS at, m.text AS said
FROM messages m JOIN chats c ON c.id = m.chat_id
WHERE m.{_ASKED} AND {_SEEN} AND (CAST(:since AS timestamptz) IS NULL OR m.created_at >= :since)
ORDER BY m.number DESC LIMIT :most""",
    f"""
SELECT c.id AS chat_id, c.title, -c.number AS number, NULL AS message_id, NULL AS role, c.updated_at AS at,
       c.title AS said
FROM chats c
WHERE c.{_ASKED} AND {_SEEN} AND (CAST(:since AS timestamptz) IS NULL OR c.updated_at >= :since)
ORDER BY c.number DESC LIMIT :most""",
)


def find(
    connection: Connection, person_id: str, asked: Sequence[Piece], since: datetime | None, most: int
) -> Iterator[Any]:
    """A person's newest messages and titles that hold everything that is asked, `most` of each at most."""
    terms = " & ".join(f"({_term(piece)})" for piece in asked)
    owner = "'person:{}'".format(person_id.replace("'", "''").replace("\\", "\\\\"))
    values = {"person": person_id, "since": since, "asked": terms, "owner": owner, "most": most}
    runs = [piece for piece in asked if len(piece.terms) > 1 and piece.unspaced]
    for sql in _SQL:
        rows = connection.execute(_statement(sql), values)
        yield from (row for row in rows if not runs or _holds(row, runs))


@cache
def _statement(sql: str) -> Executable:
    return text(sql).bindparams(bindparam("since", type_=Moment())).columns(at=Moment())


def _term(piece: Piece) -> str:
    joint = " & " if piece.unspaced else " <-> "
    return joint.join(f"'{term}'" for term in piece.terms) + (":*" if piece.prefix else "")


def _holds(row: Any, runs: Sequence[Piece]) -> bool:
    """Whether the pairs of each run, which the index knows to be there, stand in a row."""
    said = fold(row.said)
    return all(holds(said, run) for run in runs)
