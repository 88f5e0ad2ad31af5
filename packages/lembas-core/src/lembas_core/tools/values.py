"""A tool as a plain value, what it returns, and the fixed set that is offered to a model."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, Final, Literal, get_args

from lembas_core.endpoints.values import ToolSpec
from lembas_core.frozen import frozen

__all__ = ("RESULT_CHARACTERS", "Prompt", "Risk", "Tool", "ToolResult", "Toolset")

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")

RESULT_CHARACTERS: Final = 50_000
"""How long a result may be unless somebody says otherwise."""

Risk = Literal["read", "write", "execute", "network"]
"""What a tool may do to the world; a permission is decided from it."""


@frozen
class Prompt:
    """Something the model asks: `choices` may be empty (free text); `multiple` allows several choices."""

    id: str
    text: str
    choices: tuple[str, ...] = ()
    multiple: bool = False


@frozen
class ToolResult:
    """What a model is told of a call."""

    text: str
    is_error: bool = False


def _no_mistake(_arguments: Mapping[str, Any]) -> str:
    return ""


@frozen(kw_only=True)
class Tool:
    """Something a model may call.

    Raises:
        ValueError: The name is not one that every endpoint accepts, or there is no such risk.

    Attributes:
        name: Letters, digits, `_` and `-`, at most 64; unique among the tools that are offered together.
        description: What the model reads to decide when to call it.
        parameters: A JSON schema of an object.
        risk: What it may do.
        family: What it is switched on and off with.
        timeout: Seconds a call may take; None sets no bound.
        run: Runs one call; `run_tool` turns what it raises into a result.
        check: "" or what is wrong with the arguments, asked before a person is bothered.
        prompts: For a tool that asks a person: what to ask. The answers are its result, nothing is run.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    run: Callable[[Mapping[str, Any]], Awaitable[ToolResult]]
    risk: Risk = "read"
    family: str = "custom"
    timeout: float | None = 60.0
    check: Callable[[Mapping[str, Any]], str] = _no_mistake
    prompts: Callable[[Mapping[str, Any]], tuple[Prompt, ...]] | None = None

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(
                f"A tool cannot be called {self.name[:80]!r}: use up to 64 letters, digits, _ and -."
            )
        # Permissions go by the exact word: a misspelt one would run without asking anybody.
        if self.risk not in get_args(Risk):
            raise ValueError(
                f"The tool {self.name!r} cannot have the risk {self.risk!r}: "
                "say read, write, execute or network."
            )

    @property
    def spec(self) -> ToolSpec:
        """The tool as a model is told of it."""
        return ToolSpec(self.name, self.description, self.parameters)


class Toolset:
    """Tools in a fixed order with unique names: exactly what a request offers and what may run.

    Raises:
        TypeError: Something is no tool, such as a function that was not decorated.
        ValueError: Two tools have the same name.
    """

    __slots__ = ("_tools", "specs")

    def __init__(self, *tools: Tool) -> None:
        for given in tools:
            if not isinstance(given, Tool):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"{given!r} is no tool: decorate a function with @tool.")
        self._tools = {tool.name: tool for tool in tools}
        if len(self._tools) < len(tools):
            names = [tool.name for tool in tools]
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"Two tools are called {twice!r}.")
        self.specs: tuple[ToolSpec, ...] = tuple(tool.spec for tool in tools)

    def get(self, name: str) -> Tool | None:
        """The tool of that name, or None."""
        return self._tools.get(name)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)
