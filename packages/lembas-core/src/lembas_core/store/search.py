"""Search a person's messages and titles: the database finds, this ranks and cuts snippets.

The newest few hundred rows that hold every word are ranked, not all of them: ranking every row with a common
word costs SQLite a quarter of a second at 100,000 messages, and what is old and common is not what one looks
for. A rare word is in fewer rows than that, so there all of them compete.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Executable, bindparam, text

from lembas_core.errors import Invalid
from lembas_core.store.columns import Moment, clean
from lembas_core.store.snippets import cut
from lembas_core.store.sqlite_index import owner_term
from lembas_core.store.words import Piece, aligned, pieces, spans

__all__ = ("Hit", "search")

_CANDIDATES: Final = 300
_WAITING: Final = 1000  # rows that another program changed and nobody has indexed yet
_PIECES: Final = 16
_LOOKED_AT: Final = 20_000  # characters of a message that count towards its rank
_PROBES: Final = 64  # places per word and message that are looked at for it
_TITLE: Final = 1.5  # a word in a title weighs more than one in a message


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    r"""A message or a title that holds what was asked for.

    Attributes:
        chat_id: The chat.
        message_id: The message, None when it is the chat's title that matches.
        title: The chat's title.
        snippet: One line around the matches, each between "\x02" and "\x03".
        role: Who said it, None for a title.
        at: When it was said; of a title, the chat's last activity.
        score: Between 0 and 1.5, greater is better.
        cursor: What `search` takes as `after` to go on behind this hit.
    """

    chat_id: str
    message_id: str | None
    title: str
    snippet: str
    role: str | None
    at: datetime
    score: float
    cursor: str


def search(
    connection: Connection,
    person_id: str,
    query: str,
    *,
    limit: int = 20,
    after: str | None = None,
    since: datetime | None = None,
) -> list[Hit]:
    """The best hits for `query` among a person's chats that are neither deleted nor temporary.

    Args:
        connection: A transaction of the store.
        person_id: Whose chats are searched.
        query: Words that must all be there, `"words in a row"`; the last may be unfinished. No query is
            wrong: one that holds no word finds nothing.
        limit: How many hits at most.
        after: The `cursor` of the last hit of the page before.
        since: Only what was said, or chats that were active, since then.

    Raises:
        Invalid: `after` is not a cursor.
    """
    asked = pieces(clean(query))[:_PIECES]
    if not asked:
        return []
    ranked = sorted((_rank(row, asked) for row in _find(connection, person_id, asked, since)), reverse=True)
    if after is not None:
        behind = _position(after)
        ranked = [place for place in ranked if place[:2] < behind]
    return [_hit(score, row, asked) for score, _, row in ranked[:limit]]


class _Ranked(NamedTuple):
    """What one sorts by: the score, then the newer first."""

    score: float
    number: int
    row: Any


def _rank(row: Any, asked: Sequence[Piece]) -> _Ranked:
    said = aligned(row.said[:_LOOKED_AT])
    # As in BM25: more is better, but less and less so, and the longer the text the less it means.
    norm = 0.4 + len(said) / 2000
    counts = (len(spans(said, piece, most=_PROBES)) or 0.5 for piece in asked)
    score = sum(count / (count + norm) for count in counts) / len(asked)
    return _Ranked(round(score * (1 if row.message_id else _TITLE), 6), row.number, row)


def _position(cursor: str) -> tuple[float, int]:
    score, _, number = cursor.partition(":")
    try:
        return float(score), int(number)
    except ValueError:
        raise Invalid("That is not a place in a list of search results.") from None


def _hit(score: float, row: Any, asked: Sequence[Piece]) -> Hit:
    said = aligned(row.said)
    return Hit(
        chat_id=row.chat_id,
        message_id=row.message_id,
        title=row.title,
        snippet=cut(row.said, [spans(said, piece) for piece in asked]),
        role=row.role,
        at=row.at,
        score=score,
        cursor=f"{score}:{row.number}",
    )


def _find(
    connection: Connection, person_id: str, asked: Sequence[Piece], since: datetime | None
) -> Iterator[Any]:
    values = {"person": person_id, "since": since, "most": _CANDIDATES}
    if connection.dialect.name == "sqlite":
        yield from _run(connection, _SQLITE, values | _sqlite_query(person_id, asked))
        waiting = _run(connection, _SQLITE_WAITING, values | {"most": _WAITING})
        yield from (row for row in waiting if _holds(row, asked))
    else:
        yield from _run(connection, _POSTGRESQL, values | _postgresql_query(person_id, asked))


def _run(connection: Connection, statements: Sequence[Executable], values: dict[str, Any]) -> Iterator[Any]:
    for statement in statements:
        yield from connection.execute(statement, values)


def _holds(row: Any, asked: Sequence[Piece]) -> bool:
    said = aligned(row.said)
    return all(spans(said, piece, most=None) for piece in asked)


def _sqlite_query(person_id: str, asked: Sequence[Piece]) -> dict[str, Any]:
    body = " AND ".join(map(_sqlite_term, asked))
    return {"asked": f'who : "{owner_term(person_id)}" AND body : ({body})'}


def _sqlite_term(piece: Piece) -> str:
    """A term of FTS5. Between quotes nothing is syntax, and the folded words hold no quote."""
    words = piece.pairs if piece.unspaced else piece.words
    return f'"{" ".join(words)}"{" *" if _is_beginning(piece) else ""}'


def _postgresql_query(person_id: str, asked: Sequence[Piece]) -> dict[str, Any]:
    terms = " & ".join(f"({_postgresql_term(piece)})" for piece in asked)
    return {"asked": terms, "owner": f"'person:{person_id.replace(chr(39), '')}'"}


def _postgresql_term(piece: Piece) -> str:
    words = piece.pairs if piece.unspaced else piece.words
    joint = " & " if piece.unspaced else " <-> "
    return joint.join(f"'{word}'" for word in words) + (":*" if _is_beginning(piece) else "")


def _is_beginning(piece: Piece) -> bool:
    """A single character of an unspaced script begins a term of two."""
    return piece.prefix or (piece.unspaced and len(piece.words[0]) == 1)


_SHOWN: Final = "c.id AS chat_id, c.title"
_MESSAGE: Final = f"{_SHOWN}, m.number, m.id AS message_id, m.role, m.created_at AS at, m.text AS said"
_CHAT: Final = (
    f"{_SHOWN}, -c.number AS number, NULL AS message_id, NULL AS role, c.updated_at AS at, c.title AS said"
)
_SEEN: Final = "c.person_id = :person AND c.deleted_at IS NULL AND NOT c.temporary"

_INDEXED: Final = "w.rowid NOT IN (SELECT number FROM search_queue)"

# "CROSS JOIN" holds SQLite to the order: the newest rows of the index first, until there are enough.
_SQLITE_SQL: Final = (
    f"""
SELECT {_MESSAGE} FROM search_words(:asked) w
CROSS JOIN messages m ON m.number = w.rowid JOIN chats c ON c.id = m.chat_id
WHERE w.rowid > 0 AND {_INDEXED} AND {_SEEN} AND (:since IS NULL OR m.created_at >= :since)
ORDER BY w.rowid DESC LIMIT :most""",
    f"""
SELECT {_CHAT} FROM search_words(:asked) w
CROSS JOIN chats c ON c.number = -w.rowid
WHERE w.rowid < 0 AND {_INDEXED} AND {_SEEN} AND (:since IS NULL OR c.updated_at >= :since)
ORDER BY w.rowid LIMIT :most""",
)
# What waits to be indexed: what the index says of these rows is old.
_SQLITE_WAITING_SQL: Final = (
    f"""
SELECT {_MESSAGE} FROM search_queue w
CROSS JOIN messages m ON m.number = w.number AND m.status <> 'running' JOIN chats c ON c.id = m.chat_id
WHERE w.number > 0 AND {_SEEN} AND (:since IS NULL OR m.created_at >= :since)
ORDER BY w.number DESC LIMIT :most""",
    f"""
SELECT {_CHAT} FROM search_queue w CROSS JOIN chats c ON c.number = -w.number
WHERE w.number < 0 AND {_SEEN} AND (:since IS NULL OR c.updated_at >= :since)
ORDER BY w.number LIMIT :most""",
)
_POSTGRESQL_SQL: Final = (
    f"""
SELECT {_MESSAGE} FROM messages m JOIN chats c ON c.id = m.chat_id
WHERE m.words @@ (CAST(:owner AS tsquery) && to_tsquery('lembas', :asked))
AND {_SEEN} AND (CAST(:since AS timestamptz) IS NULL OR m.created_at >= :since)
ORDER BY m.number DESC LIMIT :most""",
    f"""
SELECT {_CHAT} FROM chats c
WHERE c.words @@ (CAST(:owner AS tsquery) && to_tsquery('lembas', :asked))
AND {_SEEN} AND (CAST(:since AS timestamptz) IS NULL OR c.updated_at >= :since)
ORDER BY c.number DESC LIMIT :most""",
)


def _statements(*sql: str) -> tuple[Executable, ...]:
    since = bindparam("since", type_=Moment())
    return tuple(text(one).bindparams(since).columns(at=Moment()) for one in sql)


_SQLITE: Final = _statements(*_SQLITE_SQL)
_SQLITE_WAITING: Final = _statements(*_SQLITE_WAITING_SQL)
_POSTGRESQL: Final = _statements(*_POSTGRESQL_SQL)
