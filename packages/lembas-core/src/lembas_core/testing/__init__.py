"""For tests: a strict scripted model, the same behind HTTP, and a clock that stands still."""

from __future__ import annotations

from lembas_core.testing.clock import FakeClock
from lembas_core.testing.script import Script
from lembas_core.testing.server import ScriptServer, serve_script
from lembas_core.testing.steps import (
    call,
    fault,
    finish,
    pause,
    raw,
    raw_call,
    reasoning,
    recast,
    text,
    usage,
)

__all__ = (
    "FakeClock",
    "Script",
    "ScriptServer",
    "call",
    "fault",
    "finish",
    "pause",
    "raw",
    "raw_call",
    "reasoning",
    "recast",
    "serve_script",
    "text",
    "usage",
)
