"""Full-text search in SQLite: one FTS5 table over what messages and chats' titles say.

    search_words   the index, without the text; row n is message n, row -n chat n; its person is a word too
    search_queue   rows that changed and, where they were in the index, what they said there

Triggers of plain SQL fill the queue, so whatever program changes a row, it is in there. Now and then a
transaction of LLeMbas, in whatever process, empties it in Python, where unspaced scripts are cut into pairs:
many rows at once, because FTS5 writes as many pages for one row as for fifty. Until then `search` reads the
rows of the queue themselves. An index without a copy of the text must be told the old text to forget it: so
the queue keeps it. A reply that still runs is not indexed, because its row is rewritten every second.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from lembas_core.store.words import spread

__all__ = ("DDL", "catch_up", "owner_term", "refill")

# Without places and sizes the index is a third as large; whether words stand in a row, the text itself tells.
_TABLE: Final = """
CREATE VIRTUAL TABLE search_words USING fts5(
    said, content='', detail=none, columnsize=0,
    tokenize="porter unicode61 remove_diacritics 2 categories 'L* N* Co M*'"
)"""
_QUEUE: Final = "CREATE TABLE search_queue (number INTEGER PRIMARY KEY, who TEXT, said TEXT)"

# What the index holds of a row before a change, put into the queue unless an earlier change is there already.
_NOTE: Final = """
    INSERT INTO search_queue (number, who, said)
    SELECT {row}, {who}, {said} WHERE NOT EXISTS (SELECT 1 FROM search_queue WHERE number = {row});"""

_OWNER: Final = "(SELECT person_id FROM chats WHERE id = {}.chat_id)"
_SAID: Final = "CASE WHEN old.status <> 'running' THEN old.text END"


def _trigger(name: str, event: str, row: str, who: str, said: str) -> str:
    note = _NOTE.format(row=row, who=who, said=said)
    return f"CREATE TRIGGER {name} {event} BEGIN{note}\nEND"


DDL: Final = {
    "search_words": _TABLE.strip(),
    "search_queue": _QUEUE,
    "search_message_added": _trigger(
        "search_message_added",
        "AFTER INSERT ON messages WHEN new.status <> 'running'",
        "new.number", "NULL", "NULL",
    ),
    "search_message_changed": _trigger(
        "search_message_changed",
        "AFTER UPDATE OF text, status ON messages WHEN old.status <> 'running' OR new.status <> 'running'",
        "old.number", _OWNER.format("old"), _SAID,
    ),
    "search_message_deleted": _trigger(
        "search_message_deleted",
        "AFTER DELETE ON messages WHEN old.status <> 'running'",
        "old.number", _OWNER.format("old"), "old.text",
    ),
    "search_chat_added": _trigger(
        "search_chat_added", "AFTER INSERT ON chats", "-new.number", "NULL", "NULL"
    ),
    "search_chat_changed": _trigger(
        "search_chat_changed", "AFTER UPDATE OF title ON chats", "-old.number", "old.person_id", "old.title"
    ),
    # Before, and with its messages, whose triggers still need to see whose chat it was.
    "search_chat_deleted": _trigger(
        "search_chat_deleted", "BEFORE DELETE ON chats", "-old.number", "old.person_id", "old.title"
    ).replace("BEGIN", "BEGIN\n    DELETE FROM messages WHERE chat_id = old.id;"),
}  # fmt: skip
"""The objects by name, each exactly as SQLite keeps it in its schema table."""

_CHANGED: Final = """
SELECT q.number, q.who, q.said, c.person_id, m.text
FROM search_queue q
LEFT JOIN messages m ON m.number = q.number AND m.status <> 'running'
LEFT JOIN chats c ON c.id = m.chat_id
WHERE q.number > 0
UNION ALL
SELECT q.number, q.who, q.said, c.person_id, c.title
FROM search_queue q LEFT JOIN chats c ON c.number = -q.number
WHERE q.number < 0
LIMIT ?"""
_FORGET: Final = "INSERT INTO search_words (search_words, rowid, said) VALUES ('delete', ?, ?)"
_LEARN: Final = "INSERT INTO search_words (rowid, said) VALUES (?, ?)"
_SETTLED: Final = "DELETE FROM search_queue WHERE number = ?"
_WAITING: Final = "SELECT count(*) FROM (SELECT 1 FROM search_queue LIMIT ?)"
_AT_ONCE: Final = 1000  # so that a program that changed a million rows does not make the next message wait


def catch_up(connection: sqlite3.Connection, *, worth: int = 1) -> bool:
    """Index what changed, within the transaction that runs, when it is `worth` that many rows.

    Returns:
        Whether something is left to do at once.
    """
    if connection.execute(_WAITING, (worth,)).fetchone()[0] < worth:
        return False
    changed = connection.execute(_CHANGED, (_AT_ONCE,)).fetchall()
    forget = [(n, _indexed(who, said)) for n, who, said, _, _ in changed if who and said]
    learn = [(n, _indexed(who, says)) for n, _, _, who, says in changed if who and says]
    if forget:
        connection.executemany(_FORGET, forget)
    connection.executemany(_LEARN, learn)
    connection.executemany(_SETTLED, [(row[0],) for row in changed])
    return len(changed) == _AT_ONCE


def refill(connection: sqlite3.Connection) -> None:
    """Index everything anew, within the transaction that runs."""
    connection.execute("DROP TABLE search_words")
    connection.execute(DDL["search_words"])
    connection.execute("DELETE FROM search_queue")
    connection.execute(
        "INSERT INTO search_queue (number) SELECT number FROM messages WHERE status <> 'running'"
    )
    connection.execute("INSERT INTO search_queue (number) SELECT -number FROM chats")
    while catch_up(connection):
        pass


def _indexed(person_id: str, said: str) -> str:
    return f"{owner_term(person_id)} {spread(said)}"


def owner_term(person_id: str) -> str:
    """A person's id as one word of the index."""
    return person_id.replace("-", "")
