"""The library's face: an instance, its chats, a reply as it arrives."""

from __future__ import annotations

from lembas_core.instance.chat import Chat
from lembas_core.instance.lembas import Lembas
from lembas_core.instance.streaming import ReplyStream

__all__ = ("Chat", "Lembas", "ReplyStream")
