"""The embedded default: a small model that answers offline, served by a child process."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from lembas_core.local.fetch import Progress, fetch_weights
    from lembas_core.local.server import LocalServer
    from lembas_core.local.weights import find_weights, require_gguf

__all__ = ("LocalServer", "Progress", "fetch_weights", "find_weights", "require_gguf")

# Lazy, because the child that serves a model is started from this package and needs none of it.
_HOMES: Final = {
    "LocalServer": "server",
    "Progress": "fetch",
    "fetch_weights": "fetch",
    "find_weights": "weights",
    "require_gguf": "weights",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
