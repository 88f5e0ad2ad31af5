"""People: the owner of a small installation, administrators, their passwords."""

from __future__ import annotations

__all__ = ()
