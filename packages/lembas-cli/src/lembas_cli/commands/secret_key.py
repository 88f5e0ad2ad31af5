"""`lembas secret-key`: what stored secrets are encrypted with."""

from __future__ import annotations

import click

from lembas_cli.session import Session, pass_session

__all__ = ("secret_key",)


@click.command("secret-key")
@click.option("--new", is_flag=True, help="Print a fresh key, for LEMBAS_SECRET_KEY; nothing is stored.")
@click.option("--show", is_flag=True, help="Print the key in use. Who has it can read every stored secret.")
@pass_session
def secret_key(session: Session, new: bool, show: bool) -> None:
    """Say where the key of stored secrets is, print it, or make a fresh one."""
    if new and show:
        raise click.UsageError("Give --new or --show, not both.")
    if new:
        from lembas_core.store.secrets import new_key

        session.out.line(new_key())
    elif show:
        session.out.line(_key(session))
    else:
        session.out.line(_where(session))


def _key(session: Session) -> str:
    from lembas_core.errors import SecretMissing
    from lembas_core.store.secrets import load_vault

    key = load_vault(session.config()).key()
    if key is None:
        raise SecretMissing(_where(session))
    return key


def _where(session: Session) -> str:
    config = session.config()
    if config.secret_key is not None:
        return "The key comes from LEMBAS_SECRET_KEY."
    if config.key_file.is_file():
        return f"The key is in {config.key_file}. Keep a copy: without it stored keys cannot be read."
    with session.lembas() as lembas:
        sealed = [info.name for info in lembas.connections.list() if info.key or info.header_names]
    if not sealed:
        return f"There is no key yet: {config.key_file} is made with the first stored secret."
    return (
        f"The key of the stored secrets is missing: put it back into {config.key_file}, set "
        f"LEMBAS_SECRET_KEY to it, or remove what it sealed ({', '.join(sealed)}) and add it anew."
    )
