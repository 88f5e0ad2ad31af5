"""Make a tool of a Python function."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Generic, ParamSpec, TypeVar, overload

from lembas_core.frozen import frozen
from lembas_core.tools.docstring import described
from lembas_core.tools.schema import Arguments, BadArguments
from lembas_core.tools.threads import in_thread
from lembas_core.tools.values import Risk, Tool, ToolResult

__all__ = ("FunctionTool", "tool")

P = ParamSpec("P")
R = TypeVar("R")


@frozen(kw_only=True)
class FunctionTool(Tool, Generic[P, R]):
    """A tool made of a function; calling it calls the function."""

    function: Callable[P, R]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function as it was written."""
        return self.function(*args, **kwargs)


@overload
def tool(fn: Callable[P, R], /) -> FunctionTool[P, R]: ...
@overload
def tool(
    fn: None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    risk: Risk = "read",
    family: str = "custom",
    timeout: float | None = 60.0,
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...
def tool(
    fn: Callable[P, R] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    risk: Risk = "read",
    family: str = "custom",
    timeout: float | None = 60.0,
) -> FunctionTool[P, R] | Callable[[Callable[P, R]], FunctionTool[P, R]]:
    """Make a tool of a function with type hints and a docstring; a plain function runs in a thread.

    Args:
        fn: The function, when the decorator is used bare.
        name: What the model calls it; the function's name by default.
        description: What the model is told; the docstring's text before its sections by default.
        risk: What it may do; `write` and `execute` ask a person first.
        family: What it is switched on and off with.
        timeout: Seconds a call may take; None sets no bound.

    Raises:
        TypeError: A parameter cannot be sent by a model.
        ValueError: There is no description, no such risk, or the name is not one for a tool.
    """

    def make(function: Callable[P, R]) -> FunctionTool[P, R]:
        said, parameters = described(inspect.getdoc(function) or "")
        called = name or getattr(function, "__name__", "")
        if not (description or said):
            raise ValueError(f"The tool {called!r} needs a docstring or a description.")
        arguments = Arguments(function, parameters)
        return FunctionTool(
            name=called,
            description=description or said,
            parameters=arguments.schema,
            run=partial(_run, function, arguments),
            check=partial(_check, arguments),
            risk=risk,
            family=family,
            timeout=timeout,
            function=function,
        )

    return make if fn is None else make(fn)


def _check(arguments: Arguments, sent: Mapping[str, Any]) -> str:
    try:
        arguments.validated(sent)
    except BadArguments as error:
        return str(error)
    except Exception as error:
        # A validator of the tool's author broke: the call cannot run, the reply goes on.
        return f"The arguments cannot be checked: {error!r}."
    return ""


async def _run(function: Callable[..., Any], arguments: Arguments, sent: Mapping[str, Any]) -> ToolResult:
    try:
        values = arguments.validated(sent)
    except BadArguments as error:
        return ToolResult(str(error), is_error=True)
    if inspect.iscoroutinefunction(function):
        return _result(await function(**values))
    returned = await in_thread(partial(function, **values))
    return _result(await returned if isinstance(returned, Awaitable) else returned)


def _result(returned: Any) -> ToolResult:
    if isinstance(returned, ToolResult):
        return returned
    if isinstance(returned, str):
        return ToolResult(returned)
    if returned is None:
        return ToolResult("Done.")
    from pydantic_core import to_json

    return ToolResult(to_json(returned, fallback=str).decode())
