"""Wrong arguments, told where they are given and not deep inside."""

from __future__ import annotations

__all__ = ("expect", "expect_count")


def expect(name: str, value: object, *kinds: type | None) -> None:
    """Refuse an argument that is of none of `kinds`, before anything is done with it.

    Args:
        name: What the argument is called.
        value: What was given.
        kinds: What it may be; None is None itself.

    Raises:
        TypeError: It is something else.
    """
    if not any(value is None if kind is None else isinstance(value, kind) for kind in kinds):
        wanted = " or ".join("None" if kind is None else kind.__name__ for kind in kinds)
        raise TypeError(f"`{name}` must be {wanted}, not {_short(value)}.")


def expect_count(name: str, value: int) -> None:
    """Refuse a number of things that is not 1 or more.

    Raises:
        TypeError: It is no whole number.
        ValueError: It is less than 1.
    """
    expect(name, value, int)
    if value < 1:
        raise ValueError(f"`{name}` must be 1 or more, not {value}.")


def _short(value: object) -> str:
    said = repr(value)
    return f"{type(value).__name__} {said if len(said) <= 80 else f'{said[:80]}…'}"
