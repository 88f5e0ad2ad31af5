"""Read a docstring in Google's style: what the function does, and what its arguments are."""

from __future__ import annotations

import re

__all__ = ("described",)

_SECTION = re.compile(r"^(Args|Arguments|Parameters|Returns|Raises|Yields|Examples?|Notes?|Attributes):\s*$")
_ARGUMENTS = ("Args", "Arguments", "Parameters")
_ARGUMENT = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")


def described(docstring: str) -> tuple[str, dict[str, str]]:
    """The text before the first section, and the description of each argument."""
    before: list[str] = []
    arguments: dict[str, str] = {}
    section = name = ""
    for line in docstring.splitlines():
        if match := _SECTION.match(line):
            section, name = match[1], ""
        elif not section:
            before.append(line)
        elif section in _ARGUMENTS:
            name = _argument(line, name, arguments)
    return "\n".join(before).strip(), arguments


def _argument(line: str, name: str, arguments: dict[str, str]) -> str:
    """Take a line of the section into `arguments`; the name it, or the lines after it, belong to."""
    indent = len(line) - len(line.lstrip())
    match = _ARGUMENT.match(line.strip())
    if match and indent <= 4:
        arguments[match[1]] = match[2]
        return match[1]
    if name and line.strip():
        arguments[name] = f"{arguments[name]} {line.strip()}".strip()
    return name
