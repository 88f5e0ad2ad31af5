"""What can be said before anything is loaded: the commands, their one line each, the version.

`lembas --help` and `lembas --version` are answered from here without importing click, which alone takes three
times as long as starting Python.
"""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ("COMMANDS", "OPTIONS", "Entry", "at_once", "root_help")


class Entry(NamedTuple):
    """A command: the module under `lembas_cli.commands` and the variable that hold it, and its one line."""

    module: str
    variable: str
    section: str
    line: str


COMMANDS: Final[dict[str, Entry]] = {
    "ask": Entry("ask", "ask", "Conversations", "Ask once and print the answer."),
    "chat": Entry("chat", "chat", "Conversations", "Talk with a model."),
    "chats": Entry("chats", "chats", "Conversations", "List, show, search, export, rename, delete chats."),
    "models": Entry("models", "models", "Models", "List models, choose the default, try one."),
    "connections": Entry("connections", "connections", "Models", "Add, list, test, remove model servers."),
    "tools": Entry("tools", "tools", "Models", "List the tools a model can be given."),
    "mcp": Entry("mcp", "mcp", "Models", "Serve chats and models to MCP clients."),
    "info": Entry("info", "info", "This installation", "Show paths, versions and counts."),
    "config": Entry("config", "config", "This installation", "List, read and change settings."),
    "secret-key": Entry(
        "secret_key", "secret_key", "This installation", "Say where the key of stored secrets is."
    ),
    "create-admin": Entry(
        "create_admin", "create_admin", "This installation", "Make an administrator's account."
    ),
    "completion": Entry("completion", "completion", "This installation", "Print the completion for a shell."),
    "help": Entry("help", "help_topics", "This installation", "Explain exit codes and the JSON schema."),
}

OPTIONS: Final[dict[str, str]] = {
    "--data-dir DIR": "Keep everything in this folder.",
    "--db URL": "Use this database: a path or a URL.",
    "--config FILE": "Read this lembas.toml.",
    "--color WHEN": "auto, always or never. NO_COLOR is heeded.",
    "-q, --quiet": "Say nothing on stderr but errors.",
    "-v, --verbose": "Say more on stderr; show tracebacks.",
    "--version": "Show the version and exit.",
    "-h, --help": "Show this message and exit.",
}

_HEAD: Final = """\
Usage: lembas [OPTIONS] COMMAND [ARGS]...

  Ask language models, talk with them, keep what was said.

    lembas ask "Three names for a pelican."     one answer
    git diff | lembas ask "Explain this."       about what is piped in
    lembas chat                                 a conversation
"""


def at_once(arguments: list[str], version: str) -> str | None:
    """The whole answer to `arguments`, or None when a command must be loaded for it."""
    if arguments == ["--version"]:
        return f"lembas {version}\n"
    if arguments in (["--help"], ["-h"]):
        return root_help()
    return None


def root_help() -> str:
    """What `lembas --help` prints: at most 80 columns wide."""
    parts = [_HEAD]
    for section in dict.fromkeys(entry.section for entry in COMMANDS.values()):
        lines = {name: entry.line for name, entry in COMMANDS.items() if entry.section == section}
        parts.append(_table(section, lines))
    return "\n".join([*parts, _table("Options", OPTIONS)])


def _table(title: str, lines: dict[str, str]) -> str:
    return "".join([f"{title}:\n", *(f"  {name:<16}{line}\n" for name, line in lines.items())])
