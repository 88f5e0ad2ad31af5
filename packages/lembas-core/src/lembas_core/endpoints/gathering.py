"""From the pieces of one reply to parts: what both wire formats have in common. No I/O."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from lembas_core.endpoints.calls import CallAssembler
from lembas_core.endpoints.reasoning import ReasoningSplitter
from lembas_core.endpoints.values import (
    MOST_TOKENS,
    CallsPart,
    EndPart,
    Finish,
    Part,
    ReasoningPart,
    Usage,
)
from lembas_core.endpoints.wire import Scrubber
from lembas_core.errors import EndpointError

__all__ = ("Gathering", "count", "finish_of")

_FINISHES: Final[dict[str, Finish]] = {
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "recitation": "content_filter",
    "prohibited_content": "content_filter",
    "refusal": "content_filter",
    "error": "error",
}


class Gathering:
    """Collects one reply: joins what one read brought, parts thinking from answer, puts calls together.

    Args:
        taken: Ids that calls of earlier rounds have.

    Attributes:
        finish: Why the model says that it ended; None until it does.
        usage: The last usage that was reported.
        calls: The tool calls so far.
    """

    __slots__ = (
        "_is_thought",
        "_named",
        "_parts",
        "_run",
        "_scrub_text",
        "_scrub_thought",
        "_splitter",
        "calls",
        "finish",
        "usage",
    )

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.finish: Finish | None = None
        self.usage: Usage | None = None
        self.calls: CallAssembler = CallAssembler(taken)
        self._splitter = ReasoningSplitter()
        self._scrub_text = Scrubber()
        self._scrub_thought = Scrubber()
        self._parts: list[Part] = []
        self._run: list[str] = []
        self._is_thought = False
        self._named = 0

    def text(self, piece: str) -> None:
        """More of the answer, as the endpoint tells it (thinking in tags included)."""
        if self._is_thought:
            self._close_run()
            self._is_thought = False
        self._run.append(piece)

    def thought(self, piece: str) -> None:
        """More of the thinking, told in a field of its own."""
        if not self._is_thought:
            self._close_run()
            self._is_thought = True
        self._run.append(piece)

    def take(self) -> list[Part]:
        """The parts since the last time."""
        self._close_run()
        if len(self.calls) != self._named:
            self._named = len(self.calls)
            self._parts.append(CallsPart(self.calls.names))
        parts, self._parts = self._parts, []
        return parts

    def rest(self) -> list[Part]:
        """The parts since the last time, and what was held back; nothing more comes."""
        self._close_run()
        self._add_thought(self._scrub_thought.finish())
        self._parts += self._splitter.feed(self._scrub_text.finish())
        self._parts += self._splitter.finish()
        return self.take()

    def end(self, finish: Finish | None, error: EndpointError | None = None) -> EndPart:
        """The last part. `finish` overrules what the model said; calls are given only at a good end."""
        finish = finish or self.finish or "stop"
        if error is None and finish in ("stop", "tool_calls"):
            calls = self.calls.finish()
            return EndPart("tool_calls" if calls else "stop", calls, self.usage)
        return EndPart(finish, usage=self.usage, error=error)

    def _close_run(self) -> None:
        if not self._run:
            return
        joined, self._run = "".join(self._run), []
        if self._is_thought:
            self._add_thought(self._scrub_thought.feed(joined))
        else:
            self._parts += self._splitter.feed(self._scrub_text.feed(joined))

    def _add_thought(self, text: str) -> None:
        if text:
            self._splitter.reasoned()
            self._parts.append(ReasoningPart(text))


def finish_of(reason: object) -> Finish | None:
    """What a `finish_reason` means, whatever its dialect; None for none."""
    if not isinstance(reason, str) or reason.strip().lower() in ("", "null", "none"):
        return None
    return _FINISHES.get(reason.strip().lower(), "stop")


def count(value: Any) -> int | None:
    """A token count, or None when it is no sensible one."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if 0 <= value <= MOST_TOKENS and value == int(value) else None
