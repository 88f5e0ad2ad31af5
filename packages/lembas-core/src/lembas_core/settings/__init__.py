"""What an instance is told: its settings, the connections to endpoints, the models they offer."""

from __future__ import annotations

__all__ = ()
