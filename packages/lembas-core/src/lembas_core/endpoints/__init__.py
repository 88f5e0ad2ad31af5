"""Floor 0: model servers, and the wire formats they speak."""

from __future__ import annotations

from lembas_core.endpoints.endpoint import Endpoint, Model
from lembas_core.endpoints.streaming import Timeouts

__all__ = ("Endpoint", "Model", "Timeouts")
