"""The pages about the command line tell the truth."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest
from lembas_cli.app import root
from lembas_cli.slash import SLASHES
from lembas_cli.toolboxes import toolset
from lembas_cli.wire import answer_from_line
from lembas_core.tools.values import Tool
from support.cli_reference import PAGE, commands, reference

HOW_TO = PAGE.parents[1] / "how-to"
PAGES = ("ask-from-a-script", "talk-in-a-terminal", "connect-a-model-server", "give-a-model-tools")


def test_the_reference_is_what_the_commands_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference(), "run `python -m support.cli_reference` in tests/"


def test_every_command_and_every_option_explains_itself() -> None:
    for name, command, _ in commands():
        assert command.help, name
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{name} {parameter.opts[0]}"


def shown(page: str) -> list[str]:
    """The `lembas` calls in the console blocks of a page, without what stands before and behind the pipe."""
    text = (HOW_TO / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
    return [part.strip() for line in lines for part in re.split(r" \| | > ", line) if "lembas" in part]


@pytest.mark.parametrize("page", PAGES)
def test_every_call_in_a_how_to_is_understood(page: str) -> None:
    assert shown(page)
    for call in shown(page):
        name, *arguments = shlex.split(call)
        assert name == "lembas"
        parse(root, arguments)


def parse(command: click.Command, arguments: list[str], above: click.Context | None = None) -> None:
    """Read arguments as the command would, and run nothing."""
    context = command.make_context(command.name, list(arguments), parent=above)
    if isinstance(command, click.Group):
        inner = command.get_command(context, arguments[0])
        assert inner is not None, arguments
        parse(inner, arguments[1:], context)


def test_the_how_to_lists_every_slash_command() -> None:
    text = (HOW_TO / "talk-in-a-terminal.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(/\w+)", text, re.MULTILINE)
    assert listed == list(SLASHES)


def test_the_answers_of_the_how_to_are_answers() -> None:
    text = (HOW_TO / "ask-from-a-script.md").read_text(encoding="utf-8")
    block = text.partition("```json\n")[2].partition("```")[0]
    assert [answer_from_line(line).kind for line in block.splitlines()] == ["allow", "deny", "deny", "allow"]


def test_the_tool_of_the_how_to_is_a_tool(tmp_path: Path) -> None:
    text = (HOW_TO / "give-a-model-tools.md").read_text(encoding="utf-8")
    (tmp_path / "notes.py").write_text(text.partition("```python\n")[2].partition("```")[0])
    (tool,) = toolset([str(tmp_path / "notes.py")])
    assert isinstance(tool, Tool)
    assert (tool.name, tool.risk) == ("add_note", "write")
    assert set(tool.parameters["properties"]) == {"title", "body"}
