"""The library without `await`, for scripts and notebooks: the same names, the same arguments."""

from __future__ import annotations

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
