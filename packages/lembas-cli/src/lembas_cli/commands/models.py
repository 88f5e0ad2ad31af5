"""`lembas models`: what can be asked."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import click

from lembas_cli.session import Session, pass_session

if TYPE_CHECKING:
    from lembas_core.settings.values import ModelEntry
    from lembas_core.sync import Lembas

    from lembas_cli.out import Out

__all__ = ("models",)

# A list may wait this long for servers that were not asked lately; what takes longer comes next time.
_PATIENCE = 2.0


@click.group()
def models() -> None:
    """List models, choose the default, try one."""


@models.command("list")
@click.option("--connection", metavar="NAME", help="Only those of this connection.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_session
def list_models(session: Session, connection: str | None, as_json: bool) -> None:
    """List the models of every connection, the default marked with *."""
    from lembas_cli.tables import print_json, print_table

    with session.lembas() as lembas:
        lembas.models.refresh(within=_PATIENCE)
        entries = [e for e in lembas.models.list() if connection in (None, e.connection)]
        down = [info for info in lembas.connections.list() if info.problem]
    if as_json:
        print_json(session.out, [_as_json(entry) for entry in entries])
    else:
        print_table(session.out, [_row(entry) for entry in entries])
    for info in down:
        session.out.note(f"{info.name}: {info.problem}", style="error")
    if not entries:
        session.out.note("No models. `lembas connections add URL` adds a server that has some.")


@models.command("show")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_session
def show_model(session: Session, name: str, as_json: bool) -> None:
    """Show what is known of a model."""
    from lembas_cli.tables import print_json, print_table

    with session.lembas() as lembas:
        values = _as_json(lembas.models.get(name))
    if as_json:
        print_json(session.out, values)
    else:
        print_table(session.out, [(key.replace("_", " "), _said(value)) for key, value in values.items()])


@models.command("default")
@click.argument("name", required=False)
@pass_session
def default_model(session: Session, name: str | None) -> None:
    """Print the default model, or choose it."""
    with session.lembas() as lembas:
        if name is not None:
            ref = name if _is_locked(lembas) else lembas.models.get(name).ref
            lembas.settings.set("default_model", ref)
            session.out.note(f"New chats talk with {ref} unless they name another model.")
            return
        entry = next((e for e in lembas.models.list() if e.is_default), None)
    if entry is None:
        from lembas_core.errors import NotFound

        raise NotFound("There is no default model; `lembas models default NAME` chooses one.")
    session.out.line(entry.ref)


@models.command("test")
@click.argument("name", required=False)
@pass_session
def test_model(session: Session, name: str | None) -> int:
    """Ask a model one short question and say how fast it answers. Nothing is kept."""
    from lembas_core.endpoints.values import Parameters

    from lembas_cli.telling import usage

    with session.lembas() as lembas:
        chat = lembas.chat(model=name, temporary=True, titled=False, parameters=Parameters(max_tokens=64))
        began = time.monotonic()
        try:
            reply = chat.say("Say hello in one short sentence.")
        finally:
            if chat.id is not None:
                chat.delete()
    session.out.line(reply.text.strip())
    session.out.note(f"Answered in {time.monotonic() - began:.1f} s.\n{usage(reply.metrics)}")
    return 0


@models.command("fetch")
@pass_session
def fetch_model(session: Session) -> None:
    """Bring the small local model, so that a chat works without any server."""
    import anyio
    from lembas_core.local import fetch_weights

    progress = _Progress(session.out)
    path = anyio.run(fetch_weights, session.config().data_dir / "models", progress)
    progress.end()
    session.out.note("The local model is here; `lembas chat` talks with it.")
    session.out.line(str(path))


def _is_locked(lembas: Lembas) -> bool:
    """Whether the configuration file has the say; then it matters little which model is named."""
    return any(setting.locked for setting in lembas.settings.list() if setting.key == "default_model")


class _Progress:
    """A bar on stderr where somebody looks; a word where nobody does."""

    def __init__(self, out: Out) -> None:
        from lembas_cli.out import is_terminal

        self._out = out
        self._on = is_terminal(sys.stderr) and not out.quiet
        self._step = ""
        self._drawn_at = 0.0

    def __call__(self, step: str, done: int, whole: int) -> None:
        """Draw how far `step` is, in bytes."""
        if step != self._step and not self._on:
            self._out.note({"bring": "Bringing the model …", "check": "Checking it …"}.get(step, step))
        self._step = step
        now = time.monotonic()
        if self._on and (now - self._drawn_at > 0.1 or done >= whole):
            self._drawn_at = now
            filled = round(40 * done / whole) if whole else 0
            bar = "█" * filled + "░" * (40 - filled)
            sys.stderr.write(f"\r\x1b[2K{step:<6} {bar} {done / 1e6:.0f}/{whole / 1e6:.0f} MB")
            sys.stderr.flush()

    def end(self) -> None:
        """Leave the line."""
        if self._on and self._step:
            sys.stderr.write("\r\x1b[2K")


def _row(entry: ModelEntry) -> tuple[str, ...]:
    able = [name for name in ("tools", "vision", "reasoning") if getattr(entry, name)]
    window = f"{entry.context_window:,}" if entry.context_window else ""
    state = "" if entry.offered else "switched off"
    return ("*" if entry.is_default else " ", entry.ref, window, " ".join(able) or state)


def _as_json(entry: ModelEntry) -> dict[str, Any]:
    names = ("ref", "name", "connection", "offered", "is_default", "tools", "vision", "reasoning")
    return {name: getattr(entry, name) for name in (*names, "context_window", "problem")}


def _said(value: object) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)
