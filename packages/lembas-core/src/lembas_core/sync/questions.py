"""A callback without `await` that asks a person."""

from __future__ import annotations

from collections.abc import Callable

from lembas_core.engine.questions import Answer, Question
from lembas_core.engine.questions import OnQuestion as AsyncOnQuestion
from lembas_core.tools import threads

__all__ = ("OnQuestion", "in_thread")

OnQuestion = Callable[[Question], Answer]


def in_thread(asks: OnQuestion | None) -> AsyncOnQuestion | None:
    """The same for the engine: it waits in a thread, since a person takes longer than a loop can stand."""
    if asks is None:
        return None

    async def waits(question: Question) -> Answer:
        return await threads.in_thread(lambda: asks(question))

    return waits
