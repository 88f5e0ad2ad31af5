"""Run a reply against a script and keep everything it tells."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import anyio
from lembas_core.endpoints.values import Message, ModelClient, Request
from lembas_core.engine.events import Event, Finished
from lembas_core.engine.run import run_reply
from lembas_core.engine.state import ReplyView, ToolBlock, fold
from lembas_core.testing import Script
from lembas_core.tools.values import Tool, Toolset


@dataclass
class Watched:
    """A reply that was watched from its beginning."""

    start: ReplyView | None = None
    events: list[Event] = field(default_factory=list[Event])
    finished: Finished | None = None

    @property
    def view(self) -> ReplyView:
        told = [*self.events, self.finished] if self.finished else self.events
        return fold(told, self.start)

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.events]

    @property
    def results(self) -> list[tuple[str | None, bool]]:
        """Text and whether it is an error, of each tool call."""
        return [(b.result, b.is_error) for b in self.view.blocks if isinstance(b, ToolBlock)]


def asked(model: ModelClient, prompt: str = "Hello") -> Request:
    return Request(model.name, (Message("user", prompt),))


async def watch(model: ModelClient, *tools: Tool, start: ReplyView | None = None, **more: Any) -> Watched:
    """Run a reply to its end."""
    watched = Watched(start)
    request = more.pop("request", None) or asked(model)
    watched.finished = await run_reply(
        model, request, emit=watched.events.append, tools=Toolset(*tools), start=start, **more
    )
    return watched


async def stop_when(
    model: ModelClient, ready: Callable[[], Any], tools: Iterable[Tool] = (), **more: Any
) -> Watched:
    """Run a reply and stop it as soon as `ready` has returned; fails when stopping takes long."""
    watched = Watched()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:

            async def run() -> None:
                await run_reply(
                    model, asked(model), emit=watched.events.append, tools=Toolset(*tools), **more
                )

            group.start_soon(run)
            await ready()
            group.cancel_scope.cancel()
    return watched


def told(script: Script, request: int = -1) -> list[str]:
    """The tool results that a request carried."""
    return [message.text for message in script.requests[request].messages if message.role == "tool"]
