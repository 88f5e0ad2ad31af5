"""`lembas completion`: for bash, zsh and fish."""

from __future__ import annotations

import click

from lembas_cli.session import Session, pass_session

__all__ = ("completion",)


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@pass_session
def completion(session: Session, shell: str) -> None:
    r"""Print the completion for a shell.

    \b
    bash:  lembas completion bash > ~/.local/share/bash-completion/completions/lembas
    zsh:   lembas completion zsh > "${fpath[1]}/_lembas"
    fish:  lembas completion fish > ~/.config/fish/completions/lembas.fish
    """
    from click.shell_completion import get_completion_class

    from lembas_cli.app import root

    made = get_completion_class(shell)
    assert made is not None
    session.out.answer(made(root, {}, "lembas", "_LEMBAS_COMPLETE").source())
