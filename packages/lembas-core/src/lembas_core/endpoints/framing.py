"""Which framing a body has, told by its first character and not by its Content-Type, which often lies."""

from __future__ import annotations

from typing import Literal

from lembas_core.endpoints.ndjson import LineDecoder
from lembas_core.endpoints.sse import SSEDecoder
from lembas_core.endpoints.wire import BOM, MAX_EVENT_BYTES, OutOfBounds, load

__all__ = ("Framing",)


class Framing:
    """Cuts a body into the JSON texts it holds: server-sent events, lines of JSON, or one document.

    Attributes:
        shape: What the body turned out to be; None before its first character. `lines` becomes
            `document` when the first line is no JSON by itself.
    """

    __slots__ = ("_decoder", "_document", "_head", "_size", "shape")

    def __init__(self) -> None:
        self.shape: Literal["sse", "lines", "document", "html"] | None = None
        self._head = b""
        self._decoder: SSEDecoder | LineDecoder = SSEDecoder()
        self._document: list[bytes] | None = None
        self._size = 0

    @property
    def pinged(self) -> bool:
        """Whether the body holds nothing but signs of life so far, or nothing at all."""
        return self.shape is None or (isinstance(self._decoder, SSEDecoder) and self._decoder.pinged)

    def feed(self, data: bytes) -> list[bytes]:
        """The JSON texts (or event data) that `data` completes.

        Raises:
            OutOfBounds: One of them is longer than `MAX_EVENT_BYTES`.
        """
        if self.shape is None:
            data = self._sniff(data)
        if self.shape is None or self.shape == "html":
            return []
        texts = self._decoder.feed(data)
        return texts if self.shape == "sse" else self._lines(texts)

    def finish(self) -> list[bytes]:
        """What the end of the body completes."""
        if self.shape is None or self.shape == "html":
            return []
        rest = self._decoder.finish()
        return [b"\n".join([*(self._document or ()), *rest])] if self.shape == "document" else rest

    def _sniff(self, data: bytes) -> bytes:
        """Everything so far once the first character decides, else nothing."""
        head = self._head + data
        start = head.removeprefix(BOM).lstrip()[:1]
        if not start or (len(head) < len(BOM) and BOM.startswith(head)):
            self._head = head if len(head) < 64 else b"\n"
            return b""
        self.shape = "html" if start == b"<" else "lines" if start in b"{[" else "sse"
        if self.shape == "lines":
            self._decoder, head = LineDecoder(), head.removeprefix(BOM)
        self._head = b""
        return head

    def _lines(self, lines: list[bytes]) -> list[bytes]:
        if not lines:
            return []
        if self._document is None:
            self._document = []
            if load(lines[0]) is None:
                self.shape = "document"
        if self.shape == "lines":
            return lines
        self._document += lines
        self._size += sum(map(len, lines))
        if self._size > MAX_EVENT_BYTES:
            raise OutOfBounds(f"a document is longer than {MAX_EVENT_BYTES} bytes")
        return []
