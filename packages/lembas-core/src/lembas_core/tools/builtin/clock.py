"""A tool that tells the date and the time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from lembas_core.clock import Clock
from lembas_core.tools.values import Tool, ToolResult

__all__ = ("clock_tool",)

PARAMETERS: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "timezone": {
            "type": "string",
            "description": "An IANA name such as Europe/Paris; this machine's own zone when left out.",
        }
    },
}


def clock_tool(clock: Clock) -> Tool:
    """The tool, reading `clock`."""

    async def run(arguments: Mapping[str, Any]) -> ToolResult:
        name = str(arguments.get("timezone") or "").strip()
        try:
            return ToolResult(_told(clock.now(), name))
        except (ValueError, OSError, KeyError):
            return ToolResult(f"There is no time zone {name[:80]!r}; use an IANA name.", is_error=True)

    return Tool(
        name="clock",
        description="Tell the current date, weekday and time.",
        parameters=PARAMETERS,
        run=run,
        family="clock",
        timeout=5.0,
    )


def _told(moment: datetime, name: str) -> str:
    zone: tzinfo | None = ZoneInfo(name) if name else None
    there = moment.astimezone(zone)
    return f"{there:%A}, {there.isoformat(sep=' ', timespec='seconds')} ({name or there.tzname()})"
