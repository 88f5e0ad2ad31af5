"""lembas_core: conversations with language models, kept.

    from lembas_core import Endpoint, Lembas, ask, tool

    reply = await ask("Three names for a pelican.", model=Endpoint("http://localhost:11434").model("qwen3:8b"))

    async with Lembas.open("chats.db") as lembas:
        reply = await lembas.chat(model="qwen3:8b").say("When does the gate open?")

Names are imported when they are first used, so that a script pays only for what it needs.
`lembas_core.sync` is the same without `await`, `lembas_core.testing` a scripted model for tests.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from lembas_core.chats import ChatInfo as ChatInfo
    from lembas_core.chats import Chats as Chats
    from lembas_core.chats import ChatSetup as ChatSetup
    from lembas_core.chats import MessageInfo as MessageInfo
    from lembas_core.chats import Page as Page
    from lembas_core.chats import RunWith as RunWith
    from lembas_core.chats import Sent as Sent
    from lembas_core.config import Config as Config
    from lembas_core.endpoints import Endpoint as Endpoint
    from lembas_core.endpoints import Timeouts as Timeouts
    from lembas_core.endpoints.values import Image as Image
    from lembas_core.endpoints.values import Message as Message
    from lembas_core.endpoints.values import ModelClient as ModelClient
    from lembas_core.endpoints.values import ModelInfo as ModelInfo
    from lembas_core.endpoints.values import Parameters as Parameters
    from lembas_core.endpoints.values import Request as Request
    from lembas_core.engine import events as events
    from lembas_core.engine.ask import ask as ask
    from lembas_core.engine.events import Metrics as Metrics
    from lembas_core.engine.limits import Limits as Limits
    from lembas_core.engine.questions import Answer as Answer
    from lembas_core.engine.questions import Question as Question
    from lembas_core.engine.reply import Reply as Reply
    from lembas_core.engine.state import ReplyView as ReplyView
    from lembas_core.errors import BadResponse as BadResponse
    from lembas_core.errors import Conflict as Conflict
    from lembas_core.errors import ContentFiltered as ContentFiltered
    from lembas_core.errors import ContextExceeded as ContextExceeded
    from lembas_core.errors import EndpointError as EndpointError
    from lembas_core.errors import Forbidden as Forbidden
    from lembas_core.errors import Invalid as Invalid
    from lembas_core.errors import LembasError as LembasError
    from lembas_core.errors import ModelMissing as ModelMissing
    from lembas_core.errors import NewerDatabase as NewerDatabase
    from lembas_core.errors import NotFound as NotFound
    from lembas_core.errors import RateLimited as RateLimited
    from lembas_core.errors import SecretMissing as SecretMissing
    from lembas_core.errors import StoreError as StoreError
    from lembas_core.errors import TurnTooLarge as TurnTooLarge
    from lembas_core.errors import Unauthorised as Unauthorised
    from lembas_core.errors import Unreachable as Unreachable
    from lembas_core.instance import Chat as Chat
    from lembas_core.instance import Lembas as Lembas
    from lembas_core.instance import ReplyStream as ReplyStream
    from lembas_core.keep import KEEP as KEEP
    from lembas_core.people.owner import PersonInfo as PersonInfo
    from lembas_core.settings.shelf import ModelSetup as ModelSetup
    from lembas_core.settings.values import ConnectionInfo as ConnectionInfo
    from lembas_core.settings.values import ModelEntry as ModelEntry
    from lembas_core.settings.values import SettingInfo as SettingInfo
    from lembas_core.tools.decorator import tool as tool
    from lembas_core.tools.values import Tool as Tool
    from lembas_core.tools.values import ToolResult as ToolResult
    from lembas_core.tools.values import Toolset as Toolset

_FOUND_IN: Final = {
    "KEEP": "keep",
    "Answer": "engine.questions",
    "BadResponse": "errors",
    "Chat": "instance",
    "ChatInfo": "chats",
    "ChatSetup": "chats",
    "Chats": "chats",
    "Config": "config",
    "Conflict": "errors",
    "ConnectionInfo": "settings.values",
    "ContentFiltered": "errors",
    "ContextExceeded": "errors",
    "Endpoint": "endpoints",
    "EndpointError": "errors",
    "Forbidden": "errors",
    "Image": "endpoints.values",
    "Invalid": "errors",
    "Lembas": "instance",
    "LembasError": "errors",
    "Limits": "engine.limits",
    "Message": "endpoints.values",
    "MessageInfo": "chats",
    "Metrics": "engine.events",
    "ModelClient": "endpoints.values",
    "ModelEntry": "settings.values",
    "ModelInfo": "endpoints.values",
    "ModelMissing": "errors",
    "ModelSetup": "settings.shelf",
    "NewerDatabase": "errors",
    "NotFound": "errors",
    "Page": "chats",
    "Parameters": "endpoints.values",
    "PersonInfo": "people.owner",
    "Question": "engine.questions",
    "RateLimited": "errors",
    "Reply": "engine.reply",
    "ReplyStream": "instance",
    "ReplyView": "engine.state",
    "Request": "endpoints.values",
    "RunWith": "chats",
    "SecretMissing": "errors",
    "Sent": "chats",
    "SettingInfo": "settings.values",
    "StoreError": "errors",
    "Timeouts": "endpoints",
    "Tool": "tools.values",
    "ToolResult": "tools.values",
    "Toolset": "tools.values",
    "TurnTooLarge": "errors",
    "Unauthorised": "errors",
    "Unreachable": "errors",
    "ask": "engine.ask",
    "events": "engine.events",
    "tool": "tools.decorator",
}

__all__ = (
    "KEEP",
    "Answer",
    "BadResponse",
    "Chat",
    "ChatInfo",
    "ChatSetup",
    "Chats",
    "Config",
    "Conflict",
    "ConnectionInfo",
    "ContentFiltered",
    "ContextExceeded",
    "Endpoint",
    "EndpointError",
    "Forbidden",
    "Image",
    "Invalid",
    "Lembas",
    "LembasError",
    "Limits",
    "Message",
    "MessageInfo",
    "Metrics",
    "ModelClient",
    "ModelEntry",
    "ModelInfo",
    "ModelMissing",
    "ModelSetup",
    "NewerDatabase",
    "NotFound",
    "Page",
    "Parameters",
    "PersonInfo",
    "Question",
    "RateLimited",
    "Reply",
    "ReplyStream",
    "ReplyView",
    "Request",
    "RunWith",
    "SecretMissing",
    "Sent",
    "SettingInfo",
    "StoreError",
    "Timeouts",
    "Tool",
    "ToolResult",
    "Toolset",
    "TurnTooLarge",
    "Unauthorised",
    "Unreachable",
    "ask",
    "events",
    "tool",
)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used (PEP 562)."""
    where = _FOUND_IN.get(name)
    if where is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{where}")
    value = (
        module if where.rpartition(".")[2] == name and not hasattr(module, name) else getattr(module, name)
    )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
