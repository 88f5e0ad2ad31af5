"""The JSON schema of a function's arguments, and their validation, by pydantic."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from typing import Annotated, Any, NotRequired, cast, get_type_hints

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import ErrorDetails, to_jsonable_python
from typing_extensions import TypedDict

__all__ = ("Arguments", "BadArguments")

MOST_MISTAKES = 5


class BadArguments(Exception):
    """Arguments that do not fit; the sentence is written for the model that sent them."""


class Arguments:
    """The arguments of a function: their JSON schema, and what a model sent as Python values.

    Raises:
        TypeError: A parameter has no name a model could send, or a type that has no JSON schema.
    """

    def __init__(self, function: Callable[..., object], descriptions: Mapping[str, str]) -> None:
        name = getattr(function, "__name__", "tool")
        try:
            hints = get_type_hints(function, include_extras=True)
        except NameError as error:
            raise TypeError(
                f"{name}: the type {error.name!r} must be known where the module begins."
            ) from error
        items = {
            parameter.name: _item(name, parameter, hints, descriptions)
            for parameter in inspect.signature(function).parameters.values()
        }
        self._adapter: TypeAdapter[Any]
        self.schema: dict[str, Any]
        try:
            self._adapter, self.schema = _made(items)
        except PydanticUserError as error:
            raise TypeError(f"{name}: {_foreign(items, hints) or error.message}") from None

    def validated(self, sent: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as the function takes them.

        Raises:
            BadArguments: They do not fit the schema.
        """
        try:
            return self._adapter.validate_python(dict(sent))
        except ValidationError as error:
            mistakes = error.errors(include_url=False, include_context=False)
        unpacked = _unpacked(sent, mistakes)
        if unpacked is None:
            raise BadArguments(_told(mistakes))
        return self.validated(unpacked)


def _made(items: Mapping[str, Any]) -> tuple[TypeAdapter[Any], dict[str, Any]]:
    # Type checkers know TypedDict only with keys that are written down; these come from the function.
    shape = cast("Any", TypedDict)("Arguments", items)
    shape.__pydantic_config__ = ConfigDict(extra="forbid", arbitrary_types_allowed=False)
    adapter: TypeAdapter[Any] = TypeAdapter(shape)
    return adapter, _plain(adapter.json_schema(schema_generator=_WithoutTitles))


def _foreign(items: Mapping[str, Any], hints: Mapping[str, Any]) -> str:
    """Which parameter has a type that no model can send, and what to do."""
    for parameter, item in items.items():
        try:
            _made({parameter: item})
        except PydanticUserError:
            hint = inspect.formatannotation(hints[parameter])
            return (
                f"the parameter {parameter!r} cannot be {hint}, which no model can send: "
                "take text, numbers, lists or a dataclass of them."
            )
    return ""


def _item(
    function: str, parameter: inspect.Parameter, hints: Mapping[str, Any], descriptions: Mapping[str, str]
) -> Any:
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise TypeError(f"{function}: a tool takes arguments by name; {parameter} cannot be sent.")
    if parameter.name not in hints:
        raise TypeError(f"{function}: the parameter {parameter.name!r} needs a type.")
    optional = parameter.default is not parameter.empty
    about = Field(
        description=descriptions.get(parameter.name),
        json_schema_extra=_default(parameter.default) if optional else None,
    )
    typed = Annotated[hints[parameter.name], about]
    return NotRequired[typed] if optional else typed


def _default(value: object) -> dict[str, Any]:
    try:
        return {"default": to_jsonable_python(value)}
    except ValueError:
        return {}


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    schema.pop("title", None)
    schema.setdefault("properties", {})
    return schema


class _WithoutTitles(GenerateJsonSchema):
    """A model pays for every title in each request, and a title says no more than the name."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _unpacked(sent: Mapping[str, Any], mistakes: list[ErrorDetails]) -> dict[str, Any] | None:
    """What was sent with lists and objects taken out of strings (small models pack them in), or None."""
    unpacked = {
        str(mistake["loc"][0]): value
        for mistake in mistakes
        if len(mistake["loc"]) == 1 and (value := _packed(mistake["input"])) is not None
    }
    return {**sent, **unpacked} if unpacked else None


def _packed(value: object) -> list[Any] | dict[str, Any] | None:
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{")):
        return None
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def _told(mistakes: list[ErrorDetails]) -> str:
    lines = [_mistake(mistake) for mistake in mistakes[:MOST_MISTAKES]]
    if len(mistakes) > MOST_MISTAKES:
        lines.append(f"and {len(mistakes) - MOST_MISTAKES} more.")
    return " ".join(lines)


def _mistake(mistake: ErrorDetails) -> str:
    where = ".".join(str(step) for step in mistake["loc"])
    match mistake["type"]:
        case "missing":
            return f"`{where}` is required."
        case "extra_forbidden":
            return f"There is no argument `{where}`."
        case _:
            return f"`{where}`: {mistake['msg']} (got {_short(mistake['input'])})."


def _short(value: object) -> str:
    said = repr(value)
    return said if len(said) <= 80 else f"{said[:80]}…"
