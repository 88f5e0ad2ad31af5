"""Where the question of a running reply lies until the first answer comes."""

from __future__ import annotations

import anyio

from lembas_core.engine.events import Answered, Asking, Event
from lembas_core.engine.questions import Answer

__all__ = ("Desk",)


class Desk:
    """Takes answers from the moment a question is told, and one only.

    Who hears of a question may answer at once, before the engine has begun to wait.
    """

    def __init__(self) -> None:
        self._open = ""
        self._answer = Answer.nobody()
        self._came = anyio.Event()

    def note(self, event: Event) -> None:
        """Open with a question, close when it has an answer or its time is over."""
        if isinstance(event, Asking):
            self._open, self._came = event.question.id, anyio.Event()
        elif isinstance(event, Answered):
            self.close()

    def close(self) -> None:
        """Take no answer any more."""
        self._open = ""

    def answer(self, question_id: str, answer: Answer) -> bool:
        """Answer the question; False when it is not open (any more), which changes nothing."""
        if not self._open or self._open != question_id:
            return False
        self._open, self._answer = "", answer
        self._came.set()
        return True

    async def wait(self) -> Answer:
        """The first answer to the question that was told last."""
        await self._came.wait()
        return self._answer
