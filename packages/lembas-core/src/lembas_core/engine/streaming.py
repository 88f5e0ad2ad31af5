"""Stream one request and tell what arrives."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

from lembas_core.clock import Clock
from lembas_core.endpoints.values import (
    CallsPart,
    EndPart,
    ModelClient,
    Part,
    ReasoningPart,
    RecastPart,
    Request,
    TextPart,
)
from lembas_core.engine.emitter import Emitter
from lembas_core.engine.limits import Limits
from lembas_core.engine.metering import Meter
from lembas_core.engine.retrying import retry_status, retry_wait
from lembas_core.errors import EndpointError

__all__ = ("Streamer",)


@dataclass(slots=True)
class Streamer:
    """Sends requests to one model, again where a fault before the first part may pass."""

    model: ModelClient
    tell: Emitter
    meter: Meter
    limits: Limits
    clock: Clock

    async def stream(self, request: Request) -> EndPart:
        """Send a request, tell its parts, return the last one.

        Raises:
            EndpointError: A fault before the first part that stands.
        """
        for attempt in count(1):
            try:
                return await self._once(request)
            except EndpointError as error:
                wait = retry_wait(error, attempt, self.limits)
                if wait is None:
                    raise
                self.tell.status(retry_status(error, wait, attempt, self.limits))
            await self.clock.sleep(wait)
        raise AssertionError("count() has no end")

    async def _once(self, request: Request) -> EndPart:
        heard = False
        async with self.model.stream(request) as parts:
            async for part in parts:
                if not heard:
                    heard = True
                    self._hear()
                if isinstance(part, TextPart):
                    self.tell.text(part.text)
                elif isinstance(part, EndPart):
                    return part
                else:
                    self._take(part)
        return EndPart("incomplete")

    def _hear(self) -> None:
        self.tell.status("")
        if self.meter.heard():
            self.tell.usage(self.meter.metrics())

    def _take(self, part: Part) -> None:
        match part:
            case ReasoningPart():
                self.tell.reasoning(part.text, self.meter.writing_for)
            case RecastPart():
                self.tell.rethought(self.meter.writing_for)
            case CallsPart():
                self.tell.status(f"Calling {', '.join(part.names)}" if part.names else "Calling a tool")
            case _:
                pass
