"""Frozen slotted dataclasses that cost a fifth at import.

`dataclasses` compiles five methods for each class, which for the values of this library took a twelfth of the
time of a whole `lembas ask`. Here only `__init__` is compiled; the others are the same functions for all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from typing import Any, Final, TypeVar, dataclass_transform, overload

__all__ = ("frozen",)

T = TypeVar("T")


@overload
def frozen(cls: type[T], /) -> type[T]: ...
@overload
def frozen(*, kw_only: bool = False) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T] | None = None, /, *, kw_only: bool = False) -> Any:
    """Make a class what `dataclass(frozen=True, slots=True)` makes of it; `fields` and `replace` work.

    Every field is an argument: `field(init=False)` is not understood.

    Args:
        cls: The class.
        kw_only: Whether its fields are given by name only.
    """

    def made(cls: type[T]) -> type[T]:
        own = cls.__dict__
        plain = dataclass(init=False, eq=False, repr=False, slots=True, kw_only=kw_only)(cls)
        setattr(plain, "__init__", _initializer(plain))  # noqa: B010  # a class's __init__ is not assigned otherwise
        for method in _SHARED:
            if method.__name__ not in own:
                setattr(plain, method.__name__, method)
        return plain

    return made if cls is None else made(cls)


def _initializer(cls: type[Any]) -> Callable[..., None]:
    """Compile `__init__`: by position, then by name, past the `__setattr__` that refuses."""
    names: dict[str, Any] = {"_set": object.__setattr__, "_missing": MISSING}
    known = fields(cls)
    given = [_argument(f, names) for f in known if not f.kw_only]
    named = [_argument(f, names) for f in known if f.kw_only]
    lines = [f"_set(self, {f.name!r}, {_value(f)})" for f in known]
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    arguments = ", ".join(["self", *given, *(["*", *named] if named else [])])
    exec(f"def __init__({arguments}):\n {'; '.join(lines) or 'pass'}", names)
    made = names["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__annotations__ = {f.name: f.type for f in known} | {"return": None}
    return made


def _argument(f: Field[Any], names: dict[str, Any]) -> str:
    if f.default is not MISSING:
        names[f"_default_{f.name}"] = f.default
        return f"{f.name}=_default_{f.name}"
    if f.default_factory is not MISSING:
        names[f"_make_{f.name}"] = f.default_factory
        return f"{f.name}=_missing"
    return f.name


def _value(f: Field[Any]) -> str:
    if f.default_factory is MISSING:
        return f.name
    return f"_make_{f.name}() if {f.name} is _missing else {f.name}"


def _compared(value: Any) -> tuple[Any, ...]:
    return tuple([getattr(value, f.name) for f in fields(value) if f.compare])


def __eq__(self: Any, other: object) -> bool:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return _compared(self) == _compared(other)


def __hash__(self: Any) -> int:
    return hash(_compared(self))


def __repr__(self: Any) -> str:
    shown = ", ".join([f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr])
    return f"{self.__class__.__qualname__}({shown})"


def __setattr__(self: Any, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def __delattr__(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def __getstate__(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in fields(self)]


def __setstate__(self: Any, state: list[Any]) -> None:
    for f, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, f.name, value)


_SHARED: Final = (__eq__, __hash__, __repr__, __setattr__, __delattr__, __getstate__, __setstate__)
