"""Watch one reply to its end, and say what the end means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lembas_core.frozen import frozen

if TYPE_CHECKING:
    from lembas_core.engine.events import Event, Finished
    from lembas_core.sync import ReplyStream

    from lembas_cli.asking import Asker
    from lembas_cli.interrupts import Interrupts
    from lembas_cli.out import Out
    from lembas_cli.screens import Screen

__all__ = ("LIMITED", "UNANSWERED", "Ending", "watch")

UNANSWERED: Final = 8
LIMITED: Final = 9
_UNREACHABLE: Final = 3

# Why an answer that ended without an error is not whole, and what the shell is told.
_CUT_SHORT: Final = {
    "length": (LIMITED, "The answer stops at the token limit."),
    "content_filter": (LIMITED, "The endpoint's content filter ended the answer."),
    "incomplete": (_UNREACHABLE, "The connection closed before the model said that it was done."),
    "timeout": (_UNREACHABLE, "The endpoint fell silent before the model said that it was done."),
}


@frozen
class Ending:
    """How a reply ended: its last event, whether a question was left or denied, what stopped it."""

    finished: Finished
    unanswered: bool
    interrupts: Interrupts

    @property
    def exit_code(self) -> int:
        """What the shell is told."""
        return self._code_and_sentence()[0]

    def tell(self, out: Out) -> None:
        """Say on stderr what was not as it should be."""
        code, sentence = self._code_and_sentence()
        if sentence and (self.finished.error is not None or self.interrupts.timed_out):
            out.error(sentence)
        elif sentence and code:
            out.note(sentence)

    def _code_and_sentence(self) -> tuple[int, str]:
        from lembas_core.errors import exit_code

        finished = self.finished
        if self.interrupts.signal is not None:
            return self.interrupts.exit_code, "Stopped. What had arrived is kept."
        if self.interrupts.timed_out:
            return _UNREACHABLE, "The time was up before the answer was whole. What had arrived is kept."
        if finished.error is not None:
            return exit_code(finished.error), str(finished.error)
        if finished.outcome == "stopped":
            return 130, "The reply was stopped from elsewhere."
        if finished.outcome != "done":
            return 1, "The reply was interrupted."
        if finished.finish in _CUT_SHORT:
            return _CUT_SHORT[finished.finish]
        return (UNANSWERED, "A question was denied or not answered.") if self.unanswered else (0, "")


def watch(
    reply: ReplyStream, screen: Screen, asker: Asker, interrupts: Interrupts, seconds: float | None = None
) -> Ending:
    """Draw a reply until it ends, ask what it asks, stop it when a signal or the time says so."""
    finished: Finished | None = None
    unanswered = False
    with interrupts.stopping(reply.stop, seconds):
        for event in reply:
            screen.show(event)
            if event.kind == "asking":
                with screen.aside():
                    answer = asker(event.question)
                reply.answer(event.question.id, answer)
            unanswered = unanswered or _is_refusal(event)
            finished = event if event.kind == "finished" else finished
    assert finished is not None
    return Ending(finished, unanswered, interrupts)


def _is_refusal(event: Event) -> bool:
    if event.kind != "answered":
        return False
    answer = event.answer
    if answer.kind == "none":
        return True
    return (
        not all(answer.decisions.values()) if answer.decisions else answer.kind == "deny" and not answer.texts
    )
