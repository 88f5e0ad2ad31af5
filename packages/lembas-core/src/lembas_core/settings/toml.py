"""Settings as the text of a `lembas.toml`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lembas_core.settings.values import SettingInfo

__all__ = ("to_toml",)


def to_toml(infos: Iterable[SettingInfo]) -> str:
    """A `[settings]` table: what is set as it is, what is not as a comment that shows the default."""
    lines = ["[settings]"]
    for info in infos:
        lines += ["", f"# {info.description}"]
        chosen = info.source != "default"
        value = _literal(info.value if chosen else info.default)
        lines.append(f"{'' if chosen else '# '}{info.key} = {value}")
    return "\n".join(lines) + "\n"


def _literal(value: object) -> str:
    """A TOML value: JSON's text escapes are TOML's, but for DEL, which TOML wants escaped too."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = "" if value is None else str(value)
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
