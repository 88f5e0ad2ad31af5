"""A server on stdio for the tests of another process: the real tools, and one that prints.

Started with a database, the URL of a scripted model ("" for none), and `legacy` or nothing.
"""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import anyio
from lembas_core import Config, Lembas
from lembas_mcp.server import Server
from lembas_mcp.stdio import serve_server
from lembas_mcp.tools import tools_for
from mcp.server.mcpserver.tools import Tool


def chatter() -> str:
    """Print where nobody may print."""
    print("printed with a newline")
    print("printed without one", end="")
    subprocess.run([sys.executable, "-c", "print('printed by a child')"], check=True)
    heard = subprocess.run([sys.executable, "-c", "print(len(input()))"], capture_output=True, check=False)
    return f"a child read {heard.stdout!r}"


async def main(database: str, model_url: str, *flags: str) -> None:
    """Serve until the client leaves."""
    config = Config.load(data_dir=Path(database).parent, environ={})
    async with Lembas.open(database, config=config, origin="mcp") as lembas:
        if model_url:
            await lembas.settings.set("titles", False)
            await lembas.connections.add(model_url, name="fake", kind="openai")
        await serve_server(
            Server([*tools_for(lembas), Tool.from_function(chatter)], legacy="legacy" in flags)
        )
    print("closed in order", file=sys.stderr)


if __name__ == "__main__":
    anyio.run(partial(main, *sys.argv[1:]))
