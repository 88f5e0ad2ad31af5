"""Whatever models are called, a full name finds exactly its own and a bare one the first that is offered."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st
from lembas_core.endpoints import Timeouts
from lembas_core.endpoints.values import ModelInfo
from lembas_core.settings.addresses import checked_url
from lembas_core.settings.catalogue import Catalogue, Entry, Kept
from lembas_core.settings.shelf import ModelSetup, Shelf

WORDS = st.sampled_from(["a", "b", "gpu", "org", "a/b", "gpu/a", "org/a", "a:latest", "b:8b", "gpu/gpu/a"])
CONNECTIONS = st.dictionaries(st.sampled_from(["a", "b", "gpu", "org"]), st.lists(WORDS, unique=True))


def kept(name: str, models: list[str] | None, *, enabled: bool = True) -> Kept:
    known = None if models is None else Catalogue("openai", tuple(Entry(ModelInfo(name=m)) for m in models))
    return Kept(
        id=f"id-{name}",
        name=name,
        kind="auto",
        url="http://h",
        key_sealed=None,
        headers_sealed=None,
        timeouts=Timeouts(),
        enabled=enabled,
        position=0,
        catalogue=known,
        catalogue_at=None,
        problem="",
    )


@given(CONNECTIONS)
def test_a_full_name_finds_exactly_its_own(connections: dict[str, list[str]]) -> None:
    shelf = Shelf(tuple(kept(name, models) for name, models in connections.items()), {})
    for place in shelf.places():
        found = shelf.find(place.ref)
        assert found is not None
        assert (found.kept.name, found.entry.info.name) == (place.kept.name, place.entry.info.name)


@given(CONNECTIONS, WORDS)
def test_a_bare_name_finds_the_first_that_has_it(connections: dict[str, list[str]], name: str) -> None:
    assume(name.partition("/")[0] not in connections)
    shelf = Shelf(tuple(kept(each, models) for each, models in connections.items()), {})
    found = shelf.find(name)
    having = [each for each, models in connections.items() if name in models or f"{name}:latest" in models]
    assert (found.kept.name if found is not None else None) == next(iter(having), None)


@given(CONNECTIONS, st.data())
def test_every_model_stands_in_the_list_once(connections: dict[str, list[str]], data: st.DataObject) -> None:
    setups = {
        (f"id-{each}", model): ModelSetup(position=data.draw(st.integers(0, 3)))
        for each, models in connections.items()
        for model in data.draw(st.lists(WORDS, unique=True, max_size=3)) + models[:1]
    }
    shelf = Shelf(tuple(kept(each, models) for each, models in connections.items()), setups)
    refs = [place.ref for place in shelf.places()]
    assert len(refs) == len(set(refs))
    assert {f"{each}/{model}" for each, models in connections.items() for model in models} <= set(refs)
    placed = [place.setup.position for place in shelf.places() if place.setup.position]
    assert placed == sorted(placed)


def test_a_connection_that_was_never_asked_is_trusted_only_when_it_is_named() -> None:
    shelf = Shelf((kept("gpu", None), kept("org", ["m"])), {})
    found = shelf.find("gpu/anything")
    assert found is not None
    assert found.ref == "gpu/anything"
    assert shelf.find("anything") is None


def test_of_two_with_the_name_the_one_that_is_switched_on_is_found() -> None:
    shelf = Shelf((kept("gpu", ["m"], enabled=False), kept("org", ["m"])), {})
    found = shelf.find("m")
    assert found is not None
    assert found.ref == "org/m"


@given(st.sampled_from(["http://h", "h:1", "https://h/v1/", "10.0.0.1:8080", "localhost/x/"]))
def test_an_address_that_was_checked_stays_as_it_is(typed: str) -> None:
    once = checked_url(typed)
    assert checked_url(once) == once
