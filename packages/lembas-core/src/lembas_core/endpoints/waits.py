"""How long an endpoint asks to be left alone. No I/O."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

__all__ = ("LONGEST_WAIT", "retry_after")

LONGEST_WAIT: Final = 300.0
"""The longest wait in seconds that an endpoint can ask for; a longer one counts as this."""

_SAID: Final = re.compile(
    r"(?:(?:try again|retry)(?: in| after)?|\"?retryDelay\"?:) ?\"?"
    r"(?:(?P<m>\d{1,6})m)?(?P<n>\d{1,9}(?:\.\d{1,9})?) ?(?P<unit>ms|s)",
    re.IGNORECASE,
)


def retry_after(headers: Mapping[str, str], said: str = "") -> float | None:
    """The wait in seconds, at most `LONGEST_WAIT`; None when the endpoint does not say.

    Args:
        headers: `Retry-After` (seconds or a date, RFC 9110 section 10.2.3) and `retry-after-ms` count.
            A date is measured against the answer's own `Date`, so that a wrong clock does no harm.
        said: The body; some endpoints tell the wait only in words.
    """
    wait = _number(headers.get("retry-after-ms"), 0.001)
    if wait is None:
        wait = _number(headers.get("retry-after"))
    if wait is None:
        wait = _until(headers.get("retry-after"), headers.get("date"))
    if wait is None and (match := _SAID.search(said)):
        unit = 0.001 if match["unit"] == "ms" else 1.0
        wait = float(match["m"] or 0) * 60 + float(match["n"]) * unit
    return None if wait is None else min(wait, LONGEST_WAIT)


def _number(value: str | None, unit: float = 1.0) -> float | None:
    try:
        number = float(value or "") * unit
    except ValueError:
        return None
    return max(number, 0.0) if not math.isnan(number) else None


def _until(value: str | None, now: str | None) -> float | None:
    when = _date(value)
    if when is None:
        return None
    return max((when - (_date(now) or datetime.now(UTC))).total_seconds(), 0.0)


def _date(value: str | None) -> datetime | None:
    try:
        when = parsedate_to_datetime(value or "")
    except (ValueError, TypeError, OverflowError):
        return None
    return when if when.tzinfo else when.replace(tzinfo=UTC)
