"""What an update leaves as it is, where None would remove it."""

from __future__ import annotations

import enum
from typing import Final

__all__ = ("KEEP", "Keep")


class Keep(enum.Enum):
    """The type of `KEEP`."""

    KEEP = "keep"


KEEP: Final = Keep.KEEP
"""Leave it as it is."""
