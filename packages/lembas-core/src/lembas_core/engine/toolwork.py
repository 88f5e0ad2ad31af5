"""Run the calls of one round together and tell how each goes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import anyio

from lembas_core.clock import Clock
from lembas_core.engine.calls import Job
from lembas_core.engine.emitter import Emitter
from lembas_core.engine.limits import Limits
from lembas_core.tools.running import bounded, run_tool
from lembas_core.tools.values import ToolResult

__all__ = ("STOPPED", "ToolWork")

STOPPED: Final = ToolResult("Stopped.", is_error=True)
"""The result of a call that ran when the reply was stopped."""


class ToolWork:
    """Runs calls, a few at a time, begun in their order."""

    def __init__(self, tell: Emitter, limits: Limits, clock: Clock) -> None:
        self._tell = tell
        self._limits = limits
        self._clock = clock

    async def run(self, jobs: Sequence[Job]) -> list[ToolResult]:
        """The results of `jobs`, in their order; never raises for what a tool does."""
        results: dict[int, ToolResult] = {}
        waiting = iter(enumerate(jobs))
        async with anyio.create_task_group() as group:
            for _ in range(min(self._limits.calls_at_once, len(jobs))):
                group.start_soon(self._work, waiting, results)
        return [results[index] for index in range(len(jobs))]

    async def _work(self, waiting: Iterator[tuple[int, Job]], results: dict[int, ToolResult]) -> None:
        for index, job in waiting:
            results[index] = await self._one(job)

    async def _one(self, job: Job) -> ToolResult:
        call = job.call
        self._tell.tool_started(call.id, call.name, call.arguments, job.risk)
        began, result = self._clock.monotonic(), STOPPED
        try:
            result = await self._result(job)
        finally:
            # Also when the reply is stopped meanwhile: a call that began has an end.
            self._tell.tool_finished(call.id, result, self._clock.monotonic() - began)
        return result

    async def _result(self, job: Job) -> ToolResult:
        longest = self._limits.result_characters
        if job.tool is None or job.result is not None:
            known = job.result or STOPPED
            return ToolResult(bounded(known.text, longest), known.is_error)
        return await run_tool(job.tool, job.arguments, characters=longest, clock=self._clock)
