"""Search a person's messages and titles: the database finds, this ranks and cuts snippets.

The newest few hundred rows that hold every word are ranked, not all of them: ranking every row with a common
word costs SQLite a quarter of a second at 100,000 messages, and what is old and common is not what one looks
for. A rare word is in fewer rows than that, so there all of them compete.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection

from lembas_core.errors import Invalid
from lembas_core.frozen import frozen
from lembas_core.store.columns import clean
from lembas_core.store.snippets import cut
from lembas_core.store.words import Piece, aligned, count, pieces, spans

__all__ = ("Hit", "search")

_CANDIDATES: Final = 200
_PIECES: Final = 16
_LOOKED_AT: Final = 5000  # characters of a message that count towards its rank
_TITLE: Final = 1.5  # a word in a title weighs more than one in a message


@frozen(kw_only=True)
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


def _find(
    connection: Connection, person_id: str, asked: Sequence[Piece], since: datetime | None
) -> Iterable[Any]:
    if connection.dialect.name == "sqlite":
        from lembas_core.store.sqlite_search import find
    else:
        from lembas_core.store.postgresql_search import find
    return find(connection, person_id, asked, since, _CANDIDATES)


class _Ranked(NamedTuple):
    """What one sorts by: the score, then the newer first."""

    score: float
    number: int
    row: Any


def _rank(row: Any, asked: Sequence[Piece]) -> _Ranked:
    said = row.said[:_LOOKED_AT]
    if not all(piece.unspaced for piece in asked):  # those scripts know no case: their rank can do without
        said = aligned(said)
    # As in BM25: more is better, but less and less so, and the longer the text the less it means.
    norm = 0.4 + len(said) / 2000
    counts = [count(said, piece) for piece in asked]
    score = sum(n / (n + norm) for n in counts) / len(asked)
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
