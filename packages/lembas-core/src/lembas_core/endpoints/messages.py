"""Finding the message in an error, whatever its shape. No I/O."""

from __future__ import annotations

import re
from typing import Any, Final, cast

__all__ = ("facts_of", "is_error", "message_of", "plain", "status_in")

_DEPTH: Final = 6
_LONGEST_FACT: Final = 2000
_ECHOES: Final = ("input", "body", "prompt", "messages", "request", "params")
_KEYS: Final = ("message", "error", "detail", "msg", "errors", "error_description", "title", "reason", "code")
_STATUSES: Final[dict[str, int]] = {
    "authentication_error": 401,
    "invalid_api_key": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "model_not_found": 404,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "overloaded_error": 529,
    "invalid_request_error": 400,
    "exceed_context_size_error": 400,
}


def is_error(said: Any) -> bool:
    """Whether a JSON value is an error object: `error: null` is none."""
    if not isinstance(said, dict):
        return False
    known = cast("dict[str, Any]", said)
    return bool(known.get("error")) or known.get("object") == "error"


def message_of(said: Any, depth: int = _DEPTH) -> str:
    """The words for a person in an error object; "" when there are none."""
    if isinstance(said, str):
        return said
    if depth == 0 or not said or isinstance(said, bool):
        return ""
    if isinstance(said, list):
        found = [message_of(item, depth - 1) for item in cast("list[Any]", said)[:5]]
        return "; ".join(dict.fromkeys(filter(None, found)))
    if not isinstance(said, dict):
        return str(said)
    known = cast("dict[str, Any]", said)
    message = next(filter(None, (message_of(known.get(key), depth - 1) for key in _KEYS)), "")
    where, raw = known.get("loc"), _raw(known)
    if isinstance(where, list) and message:
        message = f"{'.'.join(map(str, cast('list[Any]', where)))}: {message}"
    return f"{message} ({raw})" if raw and raw not in message else message


def _raw(known: dict[str, Any]) -> str:
    """What OpenRouter's upstream said."""
    metadata = known.get("metadata")
    raw = cast("dict[str, Any]", metadata).get("raw") if isinstance(metadata, dict) else None
    return raw if isinstance(raw, str) else ""


def facts_of(said: Any, depth: int = _DEPTH) -> str:
    """All short texts and numbers in an error object with their names, for looking up what it tells of.

    What an error repeats of the request is left out: a prompt may speak of anything.
    """
    if isinstance(said, (dict, list)) and depth == 0:
        return ""
    if isinstance(said, list):
        return "\n".join(facts_of(item, depth - 1) for item in cast("list[Any]", said)[:5])
    if not isinstance(said, dict):
        return str(said)[:_LONGEST_FACT]
    known = cast("dict[str, Any]", said).items()
    return "\n".join(f"{key}: {facts_of(value, depth - 1)}" for key, value in known if key not in _ECHOES)


def status_in(said: Any) -> int:
    """The HTTP status that an error object names in its `code`, `status` or `type`; 0 for none."""
    if not isinstance(said, dict):
        return 0
    known = cast("dict[str, Any]", said)
    for key in ("code", "status_code", "status", "type"):
        value = known.get(key)
        if isinstance(value, str):
            value = int(value) if value.isdecimal() and len(value) == 3 else _STATUSES.get(value, 0)
        if isinstance(value, int) and 400 <= value < 600:
            return value
    return status_in(known.get("error"))


def plain(body: bytes) -> str:
    """The words of a body that is no JSON; "" for a web page."""
    text = body[:4096].decode("utf-8", "replace").strip()
    return "" if re.match(r"(?:<!doctype|<\w)", text, re.IGNORECASE) else text
