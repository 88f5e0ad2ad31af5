"""Run one tool call so that nothing it does can reach its caller but a bounded result."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import anyio

from lembas_core.clock import Clock, SystemClock
from lembas_core.tools.values import RESULT_CHARACTERS, Tool, ToolResult

__all__ = ("bounded", "run_tool", "within")

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")

T = TypeVar("T")


async def run_tool(
    tool: Tool,
    arguments: Mapping[str, Any],
    *,
    characters: int = RESULT_CHARACTERS,
    clock: Clock | None = None,
) -> ToolResult:
    """Run a call; a time-out, an exception or too long an output become its result.

    Args:
        tool: What to run.
        arguments: The call's arguments, decoded.
        characters: How long the result may be.
        clock: What the time-out is measured with.
    """

    async def call() -> ToolResult:
        try:
            return await tool.run(arguments)
        except (Exception, SystemExit) as error:
            return ToolResult(f"The tool failed: {_sentence(error)}", is_error=True)

    result = await within(tool.timeout, call, clock=clock or SystemClock())
    if result is None:
        result = _without_result(tool)
    return ToolResult(bounded(result.text, characters), result.is_error)


async def within(seconds: float | None, work: Callable[[], Awaitable[T]], *, clock: Clock) -> T | None:
    """The result of `work`, or None when it took longer than `seconds` and was cancelled.

    What `work` raises is raised. A cancellation that `work` raises of its own accord counts as no result.
    """
    results: list[T] = []
    errors: list[Exception] = []

    async def run() -> None:
        # A task of its own: what it raises stays here, a stray cancellation ends nobody else.
        try:
            results.append(await work())
        except Exception as error:
            errors.append(error)
        finally:
            group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        await (anyio.sleep_forever() if seconds is None else clock.sleep(seconds))
        group.cancel_scope.cancel()
    if errors:
        raise errors[0]
    return results[0] if results else None


def bounded(text: str, characters: int) -> str:
    """`text` without what no database holds, cut to `characters` with a statement of how much was cut."""
    if len(text) <= characters:
        return _UNSTORABLE.sub("\ufffd", text)
    statement = "\n[Cut: {} of {} characters are left out.]"
    kept = max(0, characters - len(statement.format(len(text), len(text))))
    return _UNSTORABLE.sub("\ufffd", text[:kept]) + statement.format(len(text) - kept, len(text))


def _without_result(tool: Tool) -> ToolResult:
    if tool.timeout is None:
        return ToolResult("The tool was cancelled.", is_error=True)
    return ToolResult(f"The tool did not finish within {tool.timeout:g} seconds.", is_error=True)


def _sentence(error: BaseException) -> str:
    said = str(error)
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
