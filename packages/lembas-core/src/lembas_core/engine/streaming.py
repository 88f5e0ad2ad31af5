"""Stream one request and tell what arrives."""

from __future__ import annotations

from itertools import count
from typing import Final

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

NAMES_SHOWN: Final = 3
LONGEST_NAME: Final = 64


class Streamer:
    """Sends requests to one model, again where a fault before the first part may pass."""

    def __init__(self, model: ModelClient, tell: Emitter, meter: Meter, limits: Limits, clock: Clock) -> None:
        self._model = model
        self._tell = tell
        self._meter = meter
        self._limits = limits
        self._clock = clock

    async def stream(self, request: Request) -> EndPart:
        """Send a request, tell its parts, return the last one.

        Raises:
            EndpointError: A fault before the first part that stands.
        """
        for attempt in count(1):
            try:
                return await self._once(request)
            except EndpointError as error:
                wait = retry_wait(error, attempt, self._limits)
                if wait is None:
                    raise
                self._tell.status(retry_status(error, wait, attempt, self._limits))
            await self._clock.sleep(wait)
        raise AssertionError("count() has no end")

    async def _once(self, request: Request) -> EndPart:
        heard = False
        async with self._model.stream(request) as parts:
            async for part in parts:
                if not heard:
                    heard = True
                    self._hear()
                if isinstance(part, TextPart):
                    self._tell.text(part.text)
                elif isinstance(part, EndPart):
                    return part
                else:
                    self._take(part)
        return EndPart("incomplete")

    def _hear(self) -> None:
        self._tell.status("")
        if self._meter.heard():
            self._tell.usage(self._meter.metrics())

    def _take(self, part: Part) -> None:
        match part:
            case ReasoningPart():
                self._tell.reasoning(part.text, self._meter.writing_for)
            case RecastPart():
                self._tell.rethought(self._meter.writing_for)
            case CallsPart():
                self._tell.status(_calling(part.names))
            case _:
                pass


def _calling(names: tuple[str, ...]) -> str:
    """What a person is told while calls are being written; the names are the model's words."""
    known = list(dict.fromkeys(name[:LONGEST_NAME] for name in names if name))
    more = f" and {len(known) - NAMES_SHOWN} more" if len(known) > NAMES_SHOWN else ""
    return f"Calling {', '.join(known[:NAMES_SHOWN]) or 'a tool'}{more}"
