"""Tools by name: the built-in ones, and those in a Python file of one's own."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from lembas_core.errors import Invalid, NotFound
from lembas_core.near import near

if TYPE_CHECKING:
    from lembas_core.tools.values import Tool, Toolset

__all__ = ("toolset",)


def toolset(names: Iterable[str]) -> Toolset:
    """The tools that `names` stand for: `clock`, `tools.py` (all in it), `tools.py:add_note`.

    Raises:
        NotFound: There is no such tool or file.
        Invalid: The file cannot be run, or a tool is named twice.
    """
    from lembas_core.tools.values import Toolset

    tools = [tool for name in names for tool in _named(name)]
    try:
        return Toolset(*tools)
    except ValueError as error:
        raise Invalid(str(error)) from None


def _named(name: str) -> list[Tool]:
    path, _, wanted = name.partition(".py")
    if name == path:
        return [_builtin(name)]
    return _from_file(Path(f"{path}.py").expanduser(), wanted.removeprefix(":"))


def _builtin(name: str) -> Tool:
    from lembas_core.tools.builtin import builtin_tools

    tools = builtin_tools()
    if name in tools:
        return tools[name]
    hint = near(name, tools) or f" There are {', '.join(sorted(tools))}."
    raise NotFound(f"There is no tool called {name!r}.{hint}")


def _from_file(path: Path, wanted: str) -> list[Tool]:
    from lembas_core.tools.values import Tool

    tools = [value for value in vars(_run(path)).values() if isinstance(value, Tool)]
    chosen = [tool for tool in tools if tool.name == wanted] if wanted else tools
    if not chosen:
        what = f"no tool called {wanted!r}" if wanted else "no function marked with @tool"
        raise NotFound(f"There is {what} in {path}.")
    return chosen


def _run(path: Path) -> ModuleType:
    """The file as a module. It runs with one's own rights: who names a file trusts it."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise NotFound(f"There is no file {path}.")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise Invalid(f"{path} cannot be run: {type(error).__name__}: {error}.") from error
    return module
