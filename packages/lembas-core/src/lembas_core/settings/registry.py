"""The settings of an instance: which there are, of what type, and what they mean.

`InstanceSettings` is the whole list: a field is a setting, its type is checked, its default is what holds
when nobody said anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from lembas_core.errors import Invalid, NotFound
from lembas_core.frozen import frozen
from lembas_core.near import near

__all__ = ("REGISTRY", "InstanceSettings", "Setting", "checked", "setting")

Kind = Literal["text", "flag", "file"]


def _named(kind: Kind, description: str, default: object = None) -> Any:
    return field(default=default, metadata={"kind": kind, "description": description})


@frozen(kw_only=True)
class InstanceSettings:
    """Every setting's value at one moment; None is "not set"."""

    default_model: str | None = _named(
        "text", "The model of a chat that names none: NAME or CONNECTION/NAME."
    )
    task_model: str | None = _named(
        "text", "The model for small tasks such as titles; the chat's when not set."
    )
    system_prompt: str | None = _named(
        "text", "What every model is told, unless the model or the chat says more."
    )
    titles: bool = _named("flag", "Whether the model names a chat after the first exchange.", True)
    local_model: str | None = _named(
        "file", "A GGUF file to serve as the local model in place of the small one."
    )


class Setting(NamedTuple):
    """One setting: its key, what it takes, what holds by default, and one sentence for a person."""

    key: str
    kind: Kind
    default: object
    description: str


REGISTRY: Final[Mapping[str, Setting]] = MappingProxyType(
    {
        each.name: Setting(each.name, each.metadata["kind"], each.default, each.metadata["description"])
        for each in fields(InstanceSettings)
    }
)

_FLAGS: Final = {"on": True, "true": True, "yes": True, "1": True} | {
    "off": False, "false": False, "no": False, "0": False,
}  # fmt: skip


def setting(key: str) -> Setting:
    """The setting of that key.

    Raises:
        NotFound: There is none; the sentence names the nearest.
    """
    if key in REGISTRY:
        return REGISTRY[key]
    hint = near(key, REGISTRY) or f" There are {', '.join(REGISTRY)}."
    raise NotFound(f"There is no setting {key!r}.{hint}")


def checked(key: str, value: object) -> object:
    """The value as it is kept; text is understood for every setting, as a shell gives it.

    A path is kept absolute, so that it means the same file from every folder.

    Raises:
        NotFound: There is no such setting.
        Invalid: The value is of another type.
    """
    wanted = setting(key)
    if value is None:
        return wanted.default
    if wanted.kind == "file" and isinstance(value, str) and value:
        return str(Path(value).expanduser().absolute())
    if wanted.kind != "flag" and isinstance(value, str):
        return value
    if wanted.kind == "flag":
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value.strip().lower() in _FLAGS:
            return _FLAGS[value.strip().lower()]
    takes = {"text": "text", "flag": "on or off", "file": "the path of a file"}[wanted.kind]
    raise Invalid(f"The setting {key!r} takes {takes}, not {value!r}.")
