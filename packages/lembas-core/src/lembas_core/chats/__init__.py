"""What a person has said and been answered: chats, their messages, their versions."""

from __future__ import annotations

from lembas_core.chats.export import SCHEMA, chat_document, chat_markdown, chat_schema
from lembas_core.chats.service import Chats, sweep_temporary_chats
from lembas_core.chats.values import ChatInfo, ChatSetup, MessageInfo, MessageStatus, Page, RunWith, Sent

__all__ = (
    "SCHEMA",
    "ChatInfo",
    "ChatSetup",
    "Chats",
    "MessageInfo",
    "MessageStatus",
    "Page",
    "RunWith",
    "Sent",
    "chat_document",
    "chat_markdown",
    "chat_schema",
    "sweep_temporary_chats",
)
