"""One module a command; each is imported when it is called."""

from __future__ import annotations

__all__ = ()
