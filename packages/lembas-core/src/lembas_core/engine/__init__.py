"""The reply loop: events, their fold, questions to a person. No database, no globals."""

from __future__ import annotations

__all__ = ()
