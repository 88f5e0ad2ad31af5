"""What a database's error means, as one sentence for a person."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Final

from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError

from lembas_core.errors import Conflict, LembasError, StoreError

__all__ = ("is_damage", "is_retriable", "told")

# SQLite's primary result codes: https://sqlite.org/rescode.html
_BUSY, _LOCKED, _READONLY, _IOERR, _CORRUPT, _FULL, _CANTOPEN, _NOTADB = 5, 6, 8, 10, 11, 13, 14, 26
_SENTENCES: Final = {
    _BUSY: "The database {where} is locked by another program; close that program or try again.",
    _LOCKED: "The database {where} is locked by another program; close that program or try again.",
    _READONLY: "The database {where} cannot be written to; check who owns the file and its folder.",
    _IOERR: "The disk failed while reading or writing the database {where} ({said}).",
    _CORRUPT: "The database {where} is damaged; restore it from a backup or from a copy beside it.",
    _FULL: "The disk is full, so nothing more can be stored in the database {where}; free some space.",
    _CANTOPEN: "The database {where} cannot be opened; check that the folder exists and may be written to.",
    _NOTADB: "The file {where} is not a database of LLeMbas; choose another file.",
}

_ROOM: Final = 64 * 1024  # bytes that SQLite needs beside a database to open it

# PostgreSQL's: https://www.postgresql.org/docs/current/errcodes-appendix.html
_AGAIN: Final = frozenset({"40001", "40P01"})
_STATES: Final = {
    "28": "The database {where} refused the user or password; check the database URL.",
    "3D": "The database {where} does not exist; create it first.",
    "42501": "The database user may not do that in {where}; give it the right to create and change tables.",
    "53100": "The disk is full, so nothing more can be stored in the database {where}; free some space.",
    "53300": "The database {where} has too many connections; try again or raise its limit.",
    "57P": "The database {where} is shutting down or starting up; try again in a moment.",
}


def told(error: Exception, where: str) -> Exception:
    """`error` as a StoreError with one sentence; what did not come from a database stays as it is.

    A broken constraint becomes a Conflict: somebody else changed or made the same thing first.
    """
    if isinstance(error, LembasError):
        return error
    if isinstance(error, IntegrityError | sqlite3.IntegrityError):
        return Conflict("Somebody else changed the same thing first, or a thing of that name exists already.")
    if isinstance(error, IsADirectoryError):
        return StoreError(f"{where} is a folder; give the name of a file in it.")
    cause = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(cause, sqlite3.Error):
        return StoreError(_sqlite_sentence(cause, where))
    if isinstance(error, DBAPIError):
        return StoreError(_postgresql_sentence(error, where))
    if isinstance(error, OSError):
        return StoreError(f"The database {where} cannot be opened: {error.strerror or error}.")
    return error


def is_damage(error: sqlite3.Error) -> bool:
    """Whether SQLite found what it reads to be damaged."""
    return _code(error) == _CORRUPT


def is_retriable(error: Exception) -> bool:
    """Whether the same transaction, begun anew, may well succeed."""
    return isinstance(error, DBAPIError) and _state(error) in _AGAIN


def _sqlite_sentence(error: sqlite3.Error, where: str) -> str:
    code = _code(error)
    if code == _IOERR and _is_disk_full(where):  # what SQLite says when its shared memory finds no room
        code = _FULL
    sentence = _SENTENCES.get(code)
    return (sentence or "The database {where} refused that ({said}).").format(where=where, said=error)


def _is_disk_full(where: str) -> bool:
    try:
        return shutil.disk_usage(Path(where).parent).free < _ROOM
    except OSError:
        return False


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _state(error: DBAPIError) -> str:
    return getattr(error.orig, "sqlstate", None) or ""


def _postgresql_sentence(error: DBAPIError, where: str) -> str:
    state = _state(error)
    for length in (5, 3, 2):
        if sentence := _STATES.get(state[:length]):
            return sentence.format(where=where)
    said = str(error.orig).strip().partition("\n")[0]
    if isinstance(error, OperationalError) and (not state or state.startswith("08")):
        # What the server said while one connected comes without a code.
        for words, code in (("authentication", "28"), ("password", "28"), ("does not exist", "3D")):
            if words in said:
                return _STATES[code].format(where=where)
        return f"The database {where} cannot be reached; check that its server runs and the URL is right."
    return f"The database {where} refused that ({said})."
