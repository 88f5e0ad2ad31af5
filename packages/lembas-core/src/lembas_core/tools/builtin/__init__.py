"""The tools that need nothing but this process; with schemas by hand, so that pydantic stays unloaded."""

from __future__ import annotations

from lembas_core.clock import Clock, SystemClock
from lembas_core.tools.builtin.ask_user import ask_user_tool
from lembas_core.tools.builtin.calculator import calculator_tool
from lembas_core.tools.builtin.clock import clock_tool
from lembas_core.tools.values import Tool

__all__ = ("builtin_tools",)


def builtin_tools(clock: Clock | None = None) -> dict[str, Tool]:
    """The built-in tools by their names; `clock` is what the clock tool reads."""
    tools = (ask_user_tool(), calculator_tool(), clock_tool(clock or SystemClock()))
    return {tool.name: tool for tool in tools}
