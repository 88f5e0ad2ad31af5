"""From the bytes of one reply to parts, whichever wire format carries it. No I/O."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, cast

import orjson

from lembas_core.endpoints.faults import Faults
from lembas_core.endpoints.framing import Framing
from lembas_core.endpoints.gathering import Gathering
from lembas_core.endpoints.messages import is_error
from lembas_core.endpoints.sse import ErrorEvent
from lembas_core.endpoints.values import EndPart, Part
from lembas_core.endpoints.wire import OutOfBounds, load
from lembas_core.errors import EndpointError

__all__ = ("ReplyDecoder",)


class ReplyDecoder:
    """Decodes the body of one reply. Give it what each read brought, then call `finish` once.

    Args:
        faults: Makes the errors.
        model: The model that was asked, for errors.
        taken: Ids that calls of earlier rounds have.

    Attributes:
        done: The reply is complete (or broken for good): nothing more needs to be read.
    """

    __slots__ = (
        "_arrived",
        "_error",
        "_events",
        "_faults",
        "_framing",
        "_known",
        "_model",
        "done",
        "gathering",
    )

    def __init__(self, faults: Faults, *, model: str = "", taken: Iterable[str] = ()) -> None:
        self.gathering: Gathering = Gathering(taken)
        self.done: bool = False
        self._faults = faults
        self._model = model
        self._framing = Framing()
        self._error: EndpointError | None = None
        self._arrived = False  # a part was given
        self._events = 0
        self._known = False  # something of the protocol was seen

    @property
    def finishing(self) -> bool:
        """The model said that it is done; only usage may still come."""
        return self.gathering.finish is not None

    def feed(self, data: bytes) -> list[Part]:
        """The parts that `data` brings: one for text, where nothing else comes between."""
        try:
            texts = self._framing.feed(data)
        except OutOfBounds as error:
            self._break(self._faults.garbled(str(error)))
            texts = []
        for text in texts:
            if self.done:
                break
            self._take(text)
        if self._framing.shape == "html":
            self.done = True
        parts = self.gathering.take()
        self._arrived = self._arrived or bool(parts)
        return parts

    def finish(
        self, cut: Literal["incomplete", "timeout"] | None = None, error: EndpointError | None = None
    ) -> list[Part]:
        """The last parts; the very last is an `EndPart`.

        Args:
            cut: How the connection ended the stream, None for a clean close.
            error: What to tell of a `cut`.

        Raises:
            EndpointError: Nothing had arrived.
        """
        if not self.done:
            for text in self._framing.finish():
                self._take(text)
        parts = self.gathering.rest()
        end = self._end(cut, error)
        if not (parts or self._arrived or end.calls):
            self._raise_for_nothing(end)
        return [*parts, end]

    def _read(self, chunk: dict[str, Any]) -> bool:
        """Take one object of the stream; False when the protocol knows no such thing."""
        raise NotImplementedError

    def _take(self, text: bytes) -> None:
        self._events += 1
        try:
            chunk = orjson.loads(text)
        except ValueError:
            chunk = self._forgiven(text)
        if chunk.__class__ is not dict:
            self._take_oddity(text, chunk)
        elif "choices" in chunk and "error" not in chunk:
            self._known = self._read(chunk) or self._known
        elif is_error(chunk) or text.__class__ is ErrorEvent:
            self._fail(chunk)
        else:
            self._known = self._read(chunk) or self._known

    def _forgiven(self, text: bytes) -> Any:
        """What can be made of a text that is no JSON: the sentinel, or several lines of JSON."""
        if text.strip(b" \t\"'").upper() in (b"[DONE]", b"DONE"):
            return "[DONE]"
        value = load(text)
        if value is None and text.__class__ is not ErrorEvent and b"\n" in text:
            for line in text.split(b"\n"):
                if not self.done:
                    self._take(line)
        return value

    def _take_oddity(self, text: bytes, value: Any) -> None:
        """A JSON value that is no object."""
        if isinstance(value, str) and value.strip().upper() == "[DONE]":
            self.done = True
        elif text.__class__ is ErrorEvent:
            self._fail(value or text.decode("utf-8", "replace"))
        elif isinstance(value, list):
            for item in cast("list[Any]", value):
                if is_error(item):
                    self._fail(item)

    def _fail(self, said: Any) -> None:
        """The endpoint tells of an error within the stream."""
        self._break(self._faults.told(said, model=self._model))

    def _break(self, error: EndpointError) -> None:
        self._error = self._error or error
        self.done = True

    def _end(self, cut: Literal["incomplete", "timeout"] | None, error: EndpointError | None) -> EndPart:
        if self._error is not None:
            return self.gathering.end("error", self._error)
        if self.finishing or self.done:
            return self.gathering.end(None)
        return self.gathering.end(cut or "incomplete", error)

    def _raise_for_nothing(self, end: EndPart) -> None:
        """A stream that brought nothing is a fault, but for a model that ran out of tokens."""
        if end.error is not None:
            raise end.error
        if end.finish == "content_filter":
            raise self._faults.withheld()
        if end.finish == "length":
            return
        if self._known and end.finish == "incomplete":
            raise self._faults.dropped("before the reply began")
        if self._known or (self.done and self._events) or (self._framing.pinged and not self._events):
            raise self._faults.empty()
        if self._framing.shape == "sse" and self._events:
            raise self._faults.garbled("no event is part of a reply")
        raise self._faults.not_an_api()
