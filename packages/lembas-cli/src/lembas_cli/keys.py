"""Keys and passwords: typed unseen, piped in, from the environment or from a command, never an argument."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from lembas_core.errors import Invalid

if TYPE_CHECKING:
    from lembas_cli.out import Out

__all__ = ("from_command", "from_environment", "from_stdin", "typed")


def from_environment(name: str) -> str:
    """The value of an environment variable.

    Raises:
        Invalid: It is not set, or empty.
    """
    if value := os.environ.get(name, "").strip():
        return value
    raise Invalid(f"The environment variable {name} is not set.")


def from_stdin(what: str) -> str:
    """The first line that is piped in.

    Raises:
        Invalid: There is none.
    """
    if value := sys.stdin.readline().strip():
        return value
    raise Invalid(f"No {what} came on stdin.")


def from_command(command: str) -> str:
    """The first line that a command of one's own prints, such as `pass show example`.

    Raises:
        Invalid: The command fails or prints nothing.
    """
    done = subprocess.run(command, shell=True, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise Invalid(f"The command for the key ended with exit code {done.returncode}.")
    if value := done.stdout.partition("\n")[0].strip():
        return value
    raise Invalid("The command for the key printed nothing.")


def typed(out: Out, prompt: str, *, instead: str) -> str:
    """What a person types without seeing it; "" when it is just Enter.

    Raises:
        Invalid: There is no terminal to type at; `instead` names the options to use.
    """
    if not out.asks:
        raise Invalid(f"There is no terminal to type at. Use {instead}.")
    import getpass

    return getpass.getpass(prompt, stream=sys.stderr).strip()
