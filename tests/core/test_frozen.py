"""Frozen values against the dataclasses they stand in for."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace
from typing import ClassVar, Generic, TypeVar

import pytest
from lembas_core.frozen import frozen

T = TypeVar("T")


@frozen
class Point:
    """A value with everything a value has."""

    kind: ClassVar[str] = "point"

    x: int
    y: int = 0
    marks: Mapping[str, int] = field(default_factory=dict[str, int])
    secret: str = field(default="", repr=False)
    seen: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("left of everything")


@dataclass(frozen=True, slots=True)
class Plain:
    """The same, made by the standard library."""

    kind: ClassVar[str] = "point"

    x: int
    y: int = 0
    marks: Mapping[str, int] = field(default_factory=dict[str, int])
    secret: str = field(default="", repr=False)
    seen: int = field(default=0, compare=False)


@frozen(kw_only=True)
class Named(Generic[T]):
    """Fields by name only."""

    first: T
    second: int


@frozen(kw_only=True)
class Longer(Named[T]):
    """A field more than its base; its own words about itself."""

    third: str = "three"

    def __repr__(self) -> str:
        return "longer"


def test_it_prints_and_compares_as_a_dataclass_does():
    assert repr(Point(1, 2, {"a": 1}, "hidden", 4)) == "Point(x=1, y=2, marks={'a': 1}, seen=4)"
    assert repr(Point(1, secret="s")) == repr(Plain(1, secret="s")).replace("Plain", "Point")
    assert Point(1, seen=1) == Point(1, seen=2)
    assert Point(1) != Point(2)
    assert Point(1) != Plain(1)
    assert hash(Named(first=1, second=2)) == hash(Named(first=1, second=2))


def test_it_has_the_fields_and_the_signature_of_a_dataclass():
    assert [f.name for f in fields(Point)] == [f.name for f in fields(Plain)]
    assert list(inspect.signature(Point).parameters) == list(inspect.signature(Plain).parameters)
    assert asdict(Point(1)) == asdict(Plain(1))
    assert replace(Point(1), y=3) == Point(1, 3)
    match Point(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)


def test_each_value_has_a_default_of_its_own():
    assert Point(1).marks == {}
    assert Point(1).marks is not Point(1).marks


def test_nothing_of_it_can_be_changed():
    point = Point(1)
    with pytest.raises(FrozenInstanceError, match="'x'"):
        setattr(point, "x", 2)  # noqa: B010
    with pytest.raises(FrozenInstanceError, match="'x'"):
        delattr(point, "x")
    with pytest.raises(FrozenInstanceError):
        setattr(point, "other", 2)  # noqa: B010
    assert not hasattr(point, "__dict__")


def test_arguments_that_do_not_fit_are_refused():
    with pytest.raises(TypeError, match=r"Point\.__init__\(\) missing 1 required positional argument: 'x'"):
        Point()  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match="positional"):
        Named(1, 2)  # pyright: ignore[reportCallIssue]
    with pytest.raises(ValueError, match="left"):
        Point(-1)


def test_a_value_may_have_a_base_and_say_itself_what_it_is():
    longer = Longer(first="one", second=2)
    assert (longer.first, longer.second, longer.third) == ("one", 2, "three")
    assert repr(longer) == "longer"
    assert longer != Named(first="one", second=2)


def test_copies_are_equal():
    point = Point(1, 2, {"a": 1})
    assert copy.deepcopy(point) == point
    assert copy.copy(point) == point
    assert pickle.loads(pickle.dumps(point)) == point
