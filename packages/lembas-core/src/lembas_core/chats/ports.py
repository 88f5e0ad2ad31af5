"""What the chats service asks of its neighbours on the same floor, which it may not know by name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from lembas_core.endpoints.resolved import Resolved
    from lembas_core.endpoints.values import ModelClient

__all__ = ("Person", "Resolve", "Setting")

Resolve = Callable[["str | ModelClient | None"], Awaitable["Resolved"]]
"""Look up a model by its name, or take the client that is given; None is the default model."""

Setting = Callable[[str], Awaitable[Any]]
"""The value of an instance setting: `system_prompt`, `titles`, `task_model`."""


class Person(Protocol):
    """Whose chats they are."""

    @property
    def id(self) -> str:
        """The person's id, known before there is a row."""
        ...

    def ensure(self, connection: Connection) -> None:
        """Make the person's row when it is not there."""
        ...
