"""Identifiers that sort by the moment they were made (UUID version 7, RFC 9562)."""

from __future__ import annotations

import os
import threading
import time

__all__ = ("new_id",)

_lock = threading.Lock()
_last = 0


def new_id() -> str:
    """A new UUIDv7 as 36 characters; within one process each is greater than the one before.

    The 12 bits after the milliseconds are a finer clock, as RFC 9562 section 6.2 (method 3) allows.
    """
    global _last
    with _lock:
        stamp = (time.time_ns() << 12) // 1_000_000
        _last = stamp = max(stamp, _last + 1)
    milliseconds, fraction = stamp >> 12, stamp & 0xFFF
    tail = (0b10 << 62) | (int.from_bytes(os.urandom(8), "big") >> 2)
    whole = (milliseconds << 80) | (0x7 << 76) | (fraction << 64) | tail
    text = f"{whole:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
