"""Every public method of the async face has a twin of the same name and parameters."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from lembas_core import chats, endpoints, instance, sync
from lembas_core.engine.ask import ask
from lembas_core.people.accounts import People
from lembas_core.settings.connections import Connections
from lembas_core.settings.models import Models
from lembas_core.settings.service import Settings

TWINS: list[tuple[type[Any], type[Any]]] = [
    (instance.Lembas, sync.Lembas),
    (instance.Chat, sync.Chat),
    (instance.ReplyStream, sync.ReplyStream),
    (chats.Chats, sync.Chats),
    (Connections, sync.Connections),
    (Models, sync.Models),
    (People, sync.People),
    (Settings, sync.Settings),
    (endpoints.Endpoint, sync.Endpoint),
]

# Closing is the end of a `with` block; `read` and `stream` are for the inside.
LEFT_OUT = {"aclose", "read", "stream"}


def public(cls: type[Any]) -> dict[str, Any]:
    names = (name for name in dir(cls) if not name.startswith("_") and name not in LEFT_OUT)
    return {name: inspect.getattr_static(cls, name) for name in names}


def parameters(function: Any) -> list[tuple[str, Any, Any]]:
    function = getattr(function, "__func__", function)
    signature = inspect.signature(inspect.unwrap(function))
    return [(p.name, p.kind, p.default) for p in signature.parameters.values()]


@pytest.mark.parametrize(("one", "other"), TWINS, ids=lambda cls: cls.__name__)
def test_each_method_has_a_twin(one: type[Any], other: type[Any]) -> None:
    twins = public(other)
    for name, member in public(one).items():
        assert name in twins, f"sync.{other.__name__} has no {name}"
        if callable(member) or isinstance(member, classmethod):
            assert parameters(member) == parameters(twins[name]), name


@pytest.mark.parametrize(("one", "other"), TWINS, ids=lambda cls: cls.__name__)
def test_no_twin_needs_await(one: type[Any], other: type[Any]) -> None:
    for name, member in public(other).items():
        assert not inspect.iscoroutinefunction(member), name


def test_asking_once_takes_the_same_arguments() -> None:
    assert parameters(ask) == parameters(sync.ask)


def test_the_attributes_of_an_instance_are_there_on_both_faces() -> None:
    made = {"me", "config", "models", "settings", "chats", "connections", "people"}
    source = inspect.getsource(sync.Lembas)
    assert all(f"self.{name}" in source or f"def {name}" in source for name in made)
