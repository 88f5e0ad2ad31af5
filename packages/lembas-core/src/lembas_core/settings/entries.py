"""Models as a list shows them, from where they stand on the shelf."""

from __future__ import annotations

from lembas_core.endpoints.resolved import Resolved
from lembas_core.settings.local import LOCAL
from lembas_core.settings.shelf import ModelSetup, Place
from lembas_core.settings.values import ModelEntry

__all__ = ("entry_of", "local_entry")


def entry_of(place: Place, default: str | None) -> ModelEntry:
    """The entry of a model at an endpoint; `default` is the ref of the default model."""
    facts = place.facts
    return ModelEntry(
        ref=place.ref,
        name=place.entry.info.name,
        connection=place.kept.name,
        offered=place.offered,
        is_default=place.ref == default,
        tools=facts.tools,
        vision=facts.vision,
        reasoning=facts.reasoning,
        context_window=facts.context_window,
        problem=place.kept.problem,
        setup=place.setup,
    )


def local_entry(resolved: Resolved, default: str | None) -> ModelEntry:
    """The entry of the embedded model."""
    return ModelEntry(
        ref=resolved.ref,
        name=resolved.name,
        connection=LOCAL,
        offered=True,
        is_default=resolved.ref == default,
        tools=resolved.tools,
        vision=resolved.vision,
        reasoning=resolved.reasoning,
        context_window=resolved.context_window,
        problem="",
        setup=ModelSetup(),
    )
