"""A reply as the columns of its message, and back.

The text stands in one column. Blocks of text are kept as ranges into it and a reply that is nothing but text
keeps none, so that a database holds what was said once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

from lembas_core import errors
from lembas_core.engine.blocks import Block, TextBlock, blocks_from_json, blocks_to_json
from lembas_core.engine.events import Metrics
from lembas_core.engine.state import ReplyView
from lembas_core.replies.mail import question_from_json, question_to_json
from lembas_core.store.columns import clean

if TYPE_CHECKING:
    from sqlalchemy import Row

__all__ = ("blocks_of", "columns_of", "error_of", "metrics_of", "view_of")

_METRICS: Final = tuple(field.name for field in fields(Metrics))


def columns_of(view: ReplyView) -> dict[str, Any]:
    """What a row holds of `view`, but for how the reply ended."""
    return {
        "text": view.text,
        "blocks": _pack(view),
        "question": question_to_json(view.question),
        "event_number": view.number,
        **{name: getattr(view.metrics, name) for name in _METRICS},
    }


def view_of(row: Row[Any]) -> ReplyView:
    """The view that a row holds; `outcome` is None while the reply runs."""
    return ReplyView(
        number=row.event_number,
        blocks=blocks_of(row.text, row.blocks),
        text=row.text,
        question=question_from_json(row.question),
        metrics=metrics_of(row),
        outcome=None if row.status == "running" else row.status,
        finish=row.finish,
        error=row.error,
    )


def metrics_of(row: Row[Any]) -> Metrics:
    """The metrics that a row holds."""
    return Metrics(**{name: getattr(row, name) for name in _METRICS})


def error_of(row: Row[Any]) -> errors.LembasError | None:
    """The error a row tells of, of the class it was; facts beside its sentence are not kept."""
    if not row.error:
        return None
    cls = getattr(errors, row.error_kind, None)
    if isinstance(cls, type) and issubclass(cls, errors.EndpointError):
        return cls(row.error, partial=row.text)
    if isinstance(cls, type) and issubclass(cls, errors.LembasError):
        return cls(row.error)
    return errors.LembasError(row.error)


def _pack(view: ReplyView) -> list[dict[str, Any]]:
    if clean(view.text) != view.text:
        return blocks_to_json(view.blocks)  # the column will hold other text, so ranges would point wrong
    if view.blocks == (TextBlock(view.text),):
        return []
    return [
        {"kind": "text", "start": block.start, "length": len(block.text)}
        if isinstance(block, TextBlock)
        else values
        for block, values in zip(view.blocks, blocks_to_json(view.blocks), strict=True)
    ]


def blocks_of(text: str, packed: Sequence[Mapping[str, Any]]) -> tuple[Block, ...]:
    """The blocks of a reply whose whole answer is `text`."""
    if not packed:
        return (TextBlock(text),) if text else ()
    return blocks_from_json(_unpacked(text, values) for values in packed)


def _unpacked(text: str, values: Mapping[str, Any]) -> Mapping[str, Any]:
    if values.get("kind") != "text" or "length" not in values:
        return values
    start = values["start"]
    return {"kind": "text", "start": start, "text": text[start : start + values["length"]]}
