"""Ctrl-C, a request to end and a time limit stop a reply; they do not throw it away."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final

__all__ = ("Interrupts",)

_NAMES: Final = ("SIGINT", "SIGTERM", "SIGHUP")


class Interrupts:
    """What asked a reply to stop: `signal` is its number, `timed_out` is the time limit.

    The first signal stops the reply, which then ends by itself as `stopped` with everything that had
    arrived; the second one leaves at once. While a person is asked, the first one already raises
    `KeyboardInterrupt`, since only that wakes the prompt.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self.timed_out = False
        self._stop: Callable[[], None] = _nothing
        self._raising = False

    @property
    def happened(self) -> bool:
        """Whether anything asked the reply to stop."""
        return self.timed_out or self.signal is not None

    @property
    def exit_code(self) -> int:
        """128 and the signal's number, as shells count; 130 for Ctrl-C."""
        return 128 + (self.signal or signal.SIGINT)

    @contextmanager
    def stopping(self, stop: Callable[[], None], seconds: float | None = None) -> Generator[None]:
        """Within this, signals call `stop`, and so does the time limit after `seconds`."""
        self._stop = stop
        timer = threading.Timer(seconds, self._out_of_time) if seconds is not None else None
        before = {number: signal.signal(number, self._received) for number in _numbers()}
        if timer is not None:
            timer.daemon = True
            timer.start()
        try:
            yield
        finally:
            if timer is not None:
                timer.cancel()
            for number, handler in before.items():
                signal.signal(number, handler)
            self._stop = _nothing

    @contextmanager
    def raising(self) -> Generator[None]:
        """Within this a signal raises `KeyboardInterrupt`."""
        self._raising = True
        try:
            yield
        finally:
            self._raising = False

    def stop(self) -> None:
        """Stop as Ctrl-C would."""
        self.signal = self.signal or signal.SIGINT
        self._stop_elsewhere()

    def _received(self, number: int, frame: FrameType | None) -> None:
        if self._raising or self.signal is not None:
            self.signal = number
            raise KeyboardInterrupt
        self.signal = number
        self._stop_elsewhere()

    def _out_of_time(self) -> None:
        self.timed_out = True
        self._stop_quietly()

    def _stop_elsewhere(self) -> None:
        # A signal interrupts this thread anywhere, also where it holds what stopping waits for.
        threading.Thread(target=self._stop_quietly, daemon=True).start()

    def _stop_quietly(self) -> None:
        with suppress(RuntimeError):  # the instance has closed meanwhile: nothing runs any more
            self._stop()


def _numbers() -> list[signal.Signals]:
    return [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]


def _nothing() -> None:
    """No reply runs, so there is nothing to stop."""
