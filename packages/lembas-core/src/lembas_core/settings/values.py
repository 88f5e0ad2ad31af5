"""Connections, models and settings as people see them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from lembas_core.endpoints import Timeouts
from lembas_core.endpoints.values import ModelInfo
from lembas_core.frozen import frozen
from lembas_core.settings.catalogue import Kind
from lembas_core.settings.shelf import ModelSetup

__all__ = ("ConnectionInfo", "ConnectionTest", "ModelEntry", "SettingInfo", "Source")

Source = Literal["default", "environment", "database", "file"]


@frozen(kw_only=True)
class ConnectionInfo:
    """A connection as a person may see it.

    Attributes:
        id: Unique.
        name: What models are found under: `NAME/MODEL`.
        url: The base URL.
        kind: What the person said; `auto` is detected.
        found_kind: What it turned out to be; `auto` until it was asked.
        key: The key, masked; None when there is none.
        header_names: The names of the extra headers; their values may be secrets.
        timeouts: How long it may take.
        enabled: Whether its models are offered.
        model_count: How many models it listed; None when it was never asked.
        asked_at: When it was asked last.
        problem: "" or the sentence of the fault that asking met: then it is down.
    """

    id: str
    name: str
    url: str
    kind: Kind
    found_kind: Kind
    key: str | None
    header_names: tuple[str, ...]
    timeouts: Timeouts
    enabled: bool
    model_count: int | None
    asked_at: datetime | None
    problem: str


@frozen(kw_only=True)
class ConnectionTest:
    """How a test went: `problem` is "" when it went well; `seconds` is what it took."""

    problem: str
    kind: Kind
    models: tuple[ModelInfo, ...]
    seconds: float


@frozen(kw_only=True)
class ModelEntry:
    """A model as a list shows it; None is unknown.

    Attributes:
        ref: The name that finds exactly this one: `CONNECTION/NAME`.
        name: Its name at the endpoint.
        connection: The connection's name; `local` for the embedded one.
        offered: Whether it and its connection are switched on.
        is_default: Whether a chat that names no model gets this one.
        tools: Whether it takes tools.
        vision: Whether it takes images.
        reasoning: Whether it thinks before it answers.
        context_window: Its window in tokens.
        problem: "" or the sentence of why its endpoint is down.
        setup: What an administrator said of it.
    """

    ref: str
    name: str
    connection: str
    offered: bool
    is_default: bool
    tools: bool | None
    vision: bool | None
    reasoning: bool | None
    context_window: int | None
    problem: str
    setup: ModelSetup


@frozen(kw_only=True)
class SettingInfo:
    """A setting with its value, where that comes from, and whether the file locks it."""

    key: str
    value: Any
    default: Any
    description: str
    source: Source
    locked: bool
