"""When a request that failed before its first token is sent again."""

from __future__ import annotations

from typing import Final

from lembas_core.engine.limits import Limits
from lembas_core.errors import BadResponse, EndpointError, RateLimited, Unreachable

__all__ = ("retry_status", "retry_wait")

FIRST_WAIT: Final = 0.5
"""Seconds before the first repetition where the endpoint names no wait; each further wait is doubled."""

_PASSING_STATUSES: Final = (502, 503)


def retry_wait(error: EndpointError, attempt: int, limits: Limits) -> float | None:
    """Seconds to wait after the failed `attempt` (from 1), or None when the error stands.

    A time-out is not repeated: it has cost a person enough waiting already.
    """
    if attempt > limits.retries or not _may_pass(error):
        return None
    asked = error.retry_after if isinstance(error, RateLimited) else None
    if asked is None:
        return min(FIRST_WAIT * 2.0 ** (attempt - 1), limits.retry_longest)
    return asked if asked <= limits.retry_longest else None


def retry_status(error: EndpointError, seconds: float, attempt: int, limits: Limits) -> str:
    """What a person is told meanwhile."""
    why = "No connection to the endpoint" if isinstance(error, Unreachable) else "The endpoint is busy"
    return f"{why}; trying again in {seconds:g} s ({attempt} of {limits.retries})"


def _may_pass(error: EndpointError) -> bool:
    match error:
        case Unreachable():
            return not error.timed_out
        case BadResponse():
            return error.status in _PASSING_STATUSES
        case _:
            return isinstance(error, RateLimited)
