"""Slash commands of the interactive chat: what they are called and when a line is one."""

from __future__ import annotations

from typing import Final

from lembas_core.frozen import frozen

__all__ = ("SLASHES", "Slash", "help_text", "understood")


@frozen
class Slash:
    """A command that was given, and what stood behind it."""

    name: str
    argument: str = ""


@frozen
class _Kind:
    argument: str
    line: str


SLASHES: Final[dict[str, _Kind]] = {
    "/help": _Kind("", "List these commands."),
    "/model": _Kind("[NAME]", "Say which model answers, or let another one."),
    "/tools": _Kind("[NAME…|none]", "Say which tools are offered, or offer others."),
    "/multi": _Kind("", 'Write several lines, up to a line with """.'),
    "/edit": _Kind("[N]", "Rewrite your last turn, or the Nth last; go on from there."),
    "/regenerate": _Kind("", "Have another answer to your last turn."),
    "/resume": _Kind("", "Go on with an answer that was stopped or broke off."),
    "/versions": _Kind("[N|tN]", "List versions of the last answer and turn; go back to one."),
    "/fork": _Kind("", "Go on in a copy of this chat."),
    "/usage": _Kind("", "Show tokens and times of the last answer."),
    "/save": _Kind("FILE", "Write the chat as Markdown, or as JSON to FILE.json."),
    "/quit": _Kind("", "Leave; the chat is kept."),
}

_KEYS: Final = {
    '"""': "Begin and end several lines. A paste stays together.",
    "//word": "Send a line that begins with a slash.",
    "Ctrl-C": "Stop the answer; what arrived is kept.",
    "Ctrl-D": "Leave.",
}


def understood(line: str) -> Slash | str:
    """A command, or the text to send.

    Only an exact command is one: a known name, and nothing behind it where it takes nothing. `//` at the
    start sends one slash. Anything else goes out as it was written.
    """
    if line.startswith("//"):
        return line[1:]
    name, _, argument = line.strip().partition(" ")
    kind = SLASHES.get(name)
    if kind is None or "\n" in line.strip() or (argument.strip() and not kind.argument):
        return line
    return Slash(name, argument.strip())


def help_text() -> str:
    """The commands and keys, a line of at most 80 columns each."""
    commands = {f"{name} {kind.argument}": kind.line for name, kind in SLASHES.items()}
    return "\n".join(f"  {name:<20}{line}" for name, line in (commands | _KEYS).items())
