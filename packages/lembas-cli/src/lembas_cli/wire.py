"""Events and answers as JSON, a line each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from lembas_core.engine.events import Event
    from lembas_core.engine.questions import Answer

__all__ = ("answer_from_line", "as_json", "event_line")


def event_line(event: Event) -> str:
    """An event as one line: `kind` and `number` first, then its own fields."""
    values = {"kind": event.kind, "number": event.number, **as_json(event)}
    return json.dumps(values, ensure_ascii=False) + "\n"


def as_json(value: Any) -> Any:
    """Plain JSON values of a frozen value; an error becomes its class, its sentence and its facts."""
    if names := _names(value):
        return {name: as_json(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value)
        return {str(key): as_json(item) for key, item in pairs.items()}
    if isinstance(value, tuple | list):
        return [as_json(item) for item in cast("Iterable[object]", value)]
    if isinstance(value, BaseException):
        return {"kind": type(value).__name__, "message": str(value), **as_json(vars(value))}
    return value


def answer_from_line(line: str) -> Answer:
    """The answer that a line of JSON gives.

    It is `{"kind": "allow"}`, `{"kind": "deny", "reason": …}`, `{"decisions": {call: true}}` or
    `{"texts": {prompt: "…"}}`.

    Raises:
        Invalid: The line is no such thing.
    """
    from lembas_core.engine.questions import Answer

    given = _object(line)
    kind = given.get("kind", "deny" if "decisions" in given else "allow")
    decisions, texts, reason = given.get("decisions", {}), given.get("texts", {}), given.get("reason", "")
    if (
        kind not in ("allow", "deny", "none")
        or given.keys() - {"question", "kind", "decisions", "texts", "reason"}
        or not _maps(decisions, bool)
        or not _maps(texts, str)
        or not isinstance(reason, str)
    ):
        raise _no_answer(line)
    return Answer(kind=kind, decisions=decisions, texts=texts, reason=reason)


def _object(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        raise _no_answer(line) from None
    if not isinstance(value, dict):
        raise _no_answer(line)
    return cast("dict[str, Any]", value)


def _maps(value: Any, kind: type) -> bool:
    return isinstance(value, dict) and all(
        type(item) is kind for item in cast("dict[str, Any]", value).values()
    )


def _no_answer(line: str) -> Exception:
    from lembas_core.errors import Invalid

    return Invalid(f'Not an answer: {line.strip()[:100]!r}. It looks like {{"kind": "allow"}}.')


def _names(value: Any) -> list[str]:
    """The fields of a value; `growing` is left out, the text that the events of a stretch share."""
    if isinstance(value, tuple):
        return list(getattr(cast("object", value), "_fields", ()))
    if not is_dataclass(value) or isinstance(value, type):
        return []
    return [field.name for field in fields(value) if field.name != "growing"]
