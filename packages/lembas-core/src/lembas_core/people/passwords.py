"""Passwords: what is asked of a new one, and argon2id (RFC 9106) around it.

The rules are those of OWASP ASVS 5.0 (V6.2): eight characters or more, any characters, no classes that must
appear, checked exactly as typed. Nothing is ever cut off: what is longer than the cap is refused, because
hashing a megabyte on request would be an attack.
"""

from __future__ import annotations

import functools
import secrets
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from lembas_core.errors import Invalid

__all__ = ("LONGEST", "SHORTEST", "hash_password", "matches", "outdated")

SHORTEST: Final = 8
LONGEST: Final = 1024

_hasher: Final = PasswordHasher()


def hash_password(password: str) -> str:
    """The argon2id hash of a new password; takes some 50 ms, so it belongs into a thread.

    Raises:
        Invalid: The password is too short, too long or not text.
    """
    if len(password) < SHORTEST:
        raise Invalid(f"The password is too short: it needs at least {SHORTEST} characters.")
    if len(password) > LONGEST:
        raise Invalid(f"The password is too long: at most {LONGEST} characters are accepted.")
    try:
        return _hasher.hash(password)
    except UnicodeEncodeError:
        raise Invalid("The password holds characters that are not valid text.") from None


def matches(hashed: str | None, password: str) -> bool:
    """Whether `password` is the one behind `hashed`; it takes as long when there is no hash.

    An account that does not exist must cost what one costs that does, or the time tells which exist.
    """
    nobodys = _nobodys()
    if len(password) > LONGEST:
        password, hashed = "", None
    try:
        return _hasher.verify(hashed or nobodys, password) and hashed is not None
    except (VerificationError, InvalidHashError, UnicodeEncodeError):
        return False


def outdated(hashed: str) -> bool:
    """Whether the hash was made with weaker parameters than today's."""
    return _hasher.check_needs_rehash(hashed)


@functools.cache
def _nobodys() -> str:
    return _hasher.hash(secrets.token_urlsafe(32))
