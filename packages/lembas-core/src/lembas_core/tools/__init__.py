"""Tools: values a model may call, made of functions, run so that nothing they do reaches the caller."""

from __future__ import annotations

__all__ = ()
