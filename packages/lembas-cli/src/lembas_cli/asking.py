"""Ask the person what a reply waits for, or decide without one."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Final, Literal

from lembas_cli.clean import visible

if TYPE_CHECKING:
    from lembas_core.engine.questions import Answer, PendingCall, Prompt, Question

    from lembas_cli.interrupts import Interrupts
    from lembas_cli.out import Out

__all__ = ("Approve", "Asker")

Approve = Literal["ask", "allow", "deny"]

_NOT_HERE: Final = "Nobody could be asked: there is no terminal."


class Asker:
    """Answers the questions of one run.

    Args:
        out: Where to ask.
        approve: What becomes of calls that need permission; `ask` without a terminal is `deny`.
        interrupts: What Ctrl-C at a prompt stops.
        answers: Whether answers are read from stdin, a line of JSON each.
    """

    def __init__(self, out: Out, approve: Approve, interrupts: Interrupts, *, answers: bool = False) -> None:
        self._out = out
        self._approve: Approve = approve
        self._interrupts = interrupts
        self._answers = answers

    def __call__(self, question: Question) -> Answer:
        """What the person says, else what was decided beforehand, else nobody's answer."""
        from lembas_core.engine.questions import Answer

        try:
            with self._interrupts.raising():
                return self._from_line() if self._answers else self._from_person(question)
        except KeyboardInterrupt:
            self._interrupts.stop()
            return Answer.nobody()

    def _from_line(self) -> Answer:
        from lembas_core.engine.questions import Answer

        from lembas_cli.wire import answer_from_line

        line = sys.stdin.readline()
        return answer_from_line(line) if line else Answer.nobody()

    def _from_person(self, question: Question) -> Answer:
        from lembas_core.engine.questions import Answer

        if not self._out.asks and (question.prompts or self._approve == "ask"):
            self._out.note(_NOT_HERE)
            return Answer(kind="allow" if self._approve == "allow" and question.calls else "none")
        decisions = {call.id: self._permits(call) for call in question.calls}
        texts = {prompt.id: said for prompt in question.prompts if (said := self._reply_to(prompt))}
        if question.prompts and not texts and not question.calls:
            return Answer.nobody()
        return Answer(kind="deny" if question.calls else "allow", decisions=decisions, texts=texts)

    def _permits(self, call: PendingCall) -> bool:
        if self._approve != "ask":
            return self._approve == "allow"
        self._say(f"The model wants to run {visible(call.name)} ({call.risk}):", strong=True)
        for line in _laid_out(call.arguments):
            self._say(f"  {line}")
        return self._read("Allow? [y/N] ").lower() in ("y", "yes")

    def _reply_to(self, prompt: Prompt) -> str:
        self._say(visible(prompt.text), strong=True)
        for number, choice in enumerate(prompt.choices, 1):
            self._say(f"  {number}) {visible(choice)}")
        several = "Numbers, parted by commas" if prompt.multiple else "A number"
        said = self._read(f"{several} or your own words: " if prompt.choices else "> ")
        return _chosen(said, prompt.choices, multiple=prompt.multiple)

    def _say(self, text: str, *, strong: bool = False) -> None:
        sys.stderr.write((self._out.styled(text, "strong", sys.stderr) if strong else text) + "\n")

    def _read(self, prompt: str) -> str:
        # Not input(): it writes its prompt to stdout where that is not a terminal.
        sys.stderr.write(prompt)
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            sys.stderr.write("\n")
        return line.strip()


def _laid_out(arguments: str) -> list[str]:
    """The arguments of a call, every one of them, so that what is allowed is what was seen."""
    try:
        text = json.dumps(json.loads(arguments), indent=2, ensure_ascii=False)
    except ValueError:
        text = arguments
    return [visible(line) for line in text.split("\n")]


def _chosen(said: str, choices: tuple[str, ...], *, multiple: bool) -> str:
    """Numbers as the choices they stand for; anything else is what was said."""
    parts = [part.strip() for part in said.split(",")] if multiple else [said]
    return ", ".join(
        choices[int(part) - 1] if part.isdecimal() and 0 < int(part) <= len(choices) else part
        for part in parts
        if part
    )
