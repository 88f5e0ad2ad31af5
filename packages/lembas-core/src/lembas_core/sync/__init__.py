"""The library without `await`, for scripts and notebooks: the same names, the same arguments."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from lembas_core.sync.asking import Endpoint, Model, ask
    from lembas_core.sync.chat import Chat
    from lembas_core.sync.chats import Chats
    from lembas_core.sync.lembas import Lembas
    from lembas_core.sync.settings import Connections, Models, People, Settings
    from lembas_core.sync.streaming import Following, ReplyStream

__all__ = (
    "Chat",
    "Chats",
    "Connections",
    "Endpoint",
    "Following",
    "Lembas",
    "Model",
    "Models",
    "People",
    "ReplyStream",
    "Settings",
    "ask",
)

_FOUND_IN: Final = {
    "Chat": "chat",
    "Chats": "chats",
    "Connections": "settings",
    "Endpoint": "asking",
    "Following": "streaming",
    "Lembas": "lembas",
    "Model": "asking",
    "Models": "settings",
    "People": "settings",
    "ReplyStream": "streaming",
    "Settings": "settings",
    "ask": "asking",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: a script that asks once needs no database."""
    if name not in _FOUND_IN:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_FOUND_IN[name]}"), name)
