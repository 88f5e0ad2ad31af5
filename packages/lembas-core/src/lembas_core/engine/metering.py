"""Measure a reply: seconds here, tokens as the endpoint reports them."""

from __future__ import annotations

from dataclasses import replace

from lembas_core.clock import Clock
from lembas_core.endpoints.values import MOST_TOKENS, Usage
from lembas_core.frozen import frozen

__all__ = ("Meter", "Metrics")


@frozen
class Metrics:
    """How a reply went so far; None is unknown. Seconds are measured here, tokens are the endpoint's.

    `prompt_tokens` and `cached_tokens` are of the last round (what the context holds now);
    `completion_tokens` and `reasoning_tokens` sum over the rounds. `writing_seconds` leaves out the waiting
    for tools and people that `seconds` holds. `estimated` is true when a count is ours, not the endpoint's.
    """

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    context_window: int | None = None
    first_token_seconds: float | None = None
    writing_seconds: float | None = None
    seconds: float | None = None
    rounds: int = 1
    estimated: bool = False

    @property
    def tokens_per_second(self) -> float | None:
        """Completion tokens over the time in which the model was writing."""
        if self.completion_tokens is None or not self.writing_seconds:
            return None
        return self.completion_tokens / self.writing_seconds

    @property
    def context_share(self) -> float | None:
        """The part of the context window that the last request filled, 0 to 1; None when unknown."""
        if self.prompt_tokens is None or not self.context_window:
            return None
        return self.prompt_tokens / self.context_window


class Meter:
    """What is known of a reply's cost so far, going on from `start` when a reply is continued.

    A sum over rounds is unknown as soon as one round did not report: unknown is not zero.
    """

    def __init__(self, clock: Clock, start: Metrics | None, context_window: int | None) -> None:
        self._clock = clock
        self._began = clock.monotonic()
        self._before = start.seconds or 0.0 if start else 0.0
        self._earlier_rounds = start.rounds if start else 0
        self._written = start.writing_seconds or 0.0 if start else 0.0
        self._writing_since: float | None = None
        self._summed = start is not None
        window = context_window or (start.context_window if start else None)
        self._metrics = replace(start or Metrics(), context_window=window)

    @property
    def writing_for(self) -> float:
        """Seconds since the first part of this round."""
        return self._clock.monotonic() - self._writing_since if self._writing_since is not None else 0.0

    def round_started(self, number: int) -> None:
        """A request goes out."""
        self._metrics = replace(self._metrics, rounds=self._earlier_rounds + number)

    def heard(self) -> bool:
        """The first part of a round is here; true for the first of the whole reply."""
        now = self._clock.monotonic()
        self._writing_since = now
        if self._metrics.first_token_seconds is not None:
            return False
        self._metrics = replace(self._metrics, first_token_seconds=self._before + now - self._began)
        return True

    def round_ended(self, usage: Usage | None) -> None:
        """A round is over; the endpoint reported `usage`."""
        self._written += self.writing_for
        self._writing_since = None
        usage = usage or Usage()
        self._metrics = replace(
            self._metrics,
            prompt_tokens=usage.prompt_tokens,
            cached_tokens=usage.cached_tokens,
            completion_tokens=self._sum(self._metrics.completion_tokens, usage.completion_tokens),
            reasoning_tokens=self._sum(self._metrics.reasoning_tokens, usage.reasoning_tokens),
        )
        self._summed = True

    def _sum(self, so_far: int | None, more: int | None) -> int | None:
        if not self._summed:
            return more
        return None if so_far is None or more is None else min(so_far + more, MOST_TOKENS)

    def metrics(self) -> Metrics:
        """Everything known at this moment."""
        written = self._written + self.writing_for
        return replace(
            self._metrics,
            seconds=self._before + self._clock.monotonic() - self._began,
            writing_seconds=written if self._metrics.first_token_seconds is not None else None,
        )
