"""Undoing a compression that was not asked for, in bounded steps. No I/O."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Final

__all__ = ("Inflater", "inflater_for")

_STEP: Final = 256 << 10
"""A kilobyte can hold a megabyte: what one read unpacks to is given in steps of this size."""


class Inflater:
    """Undoes gzip or deflate."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(wbits=47)  # 47: zlib or gzip, told by the header

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What `data` unpacks to, in steps.

        Raises:
            ValueError: The data is broken.
        """
        try:
            while data:
                yield self._zlib.decompress(data, _STEP)
                data = self._zlib.unconsumed_tail
        except zlib.error as error:
            raise ValueError(f"broken compression ({error})") from None


def inflater_for(encoding: str) -> Inflater | None:
    """What undoes a `Content-Encoding`; None when there is nothing to undo.

    Raises:
        ValueError: It cannot be undone; nothing but `identity` was asked for.
    """
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return None
    if name in ("gzip", "x-gzip", "deflate"):
        return Inflater()
    raise ValueError(f"compressed as {name[:40]!r}, which was not asked for")
