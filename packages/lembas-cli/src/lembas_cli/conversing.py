"""What `ask` and `chat` share: their options, and the chat that these describe."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from lembas_core.frozen import frozen

from lembas_cli.asking import Approve
from lembas_cli.clean import short
from lembas_cli.files import text_of

if TYPE_CHECKING:
    from lembas_core.chats import ChatInfo
    from lembas_core.endpoints import Endpoint
    from lembas_core.endpoints.values import ModelClient
    from lembas_core.sync import Chat, Lembas

    from lembas_cli.out import Out

__all__ = ("Setup", "chat_options", "opened_chat", "reopened")

F = TypeVar("F", bound=Callable[..., Any])


@frozen(kw_only=True)
class Setup:
    """The options that say which chat, with which model and tools."""

    model: str | None
    url: str | None
    key_env: str | None
    system: str | None
    newest: bool
    chat_id: str | None
    fork: bool
    temporary: bool
    tools: tuple[str, ...]
    approve: Approve
    options: tuple[str, ...]
    effort: str | None
    max_rounds: int | None

    def __post_init__(self) -> None:
        if self.newest and self.chat_id:
            raise click.UsageError("Give --continue or --chat, not both.")
        if self.fork and not self.continues:
            raise click.UsageError("--fork needs the chat to fork: give --continue or --chat.")
        if self.temporary and self.continues:
            raise click.UsageError("--temporary is for new chats.")
        if self.key_env and not self.url:
            raise click.UsageError("--key-env belongs to --url.")

    @property
    def continues(self) -> bool:
        """Whether an earlier chat goes on."""
        return self.newest or self.chat_id is not None


def chat_options(command: F) -> F:
    """The options of `Setup`, in the order of the help."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option("-m", "--model", metavar="MODEL", help="NAME or CONNECTION/NAME; else the default model."),
    click.option("--url", metavar="URL", help="A model server for this time only; nothing of it is stored."),
    click.option("--key-env", metavar="NAME", help="The environment variable with the key for --url."),
    click.option("-s", "--system", metavar="TEXT|@FILE", help="The system prompt."),
    click.option("-c", "--continue", "newest", is_flag=True, help="Go on with the newest chat from here."),
    click.option(
        "--chat",
        "chat_id",
        metavar="ID",
        help="Go on with this chat; the last six characters of its id will do.",
    ),
    click.option("--fork", is_flag=True, help="Go on in a copy of that chat."),
    click.option("--temporary", is_flag=True, help="Never list the chat; it is gone a day later."),
    click.option(
        "--tool",
        "tools",
        metavar="NAME|FILE.py",
        multiple=True,
        help="Offer a tool: a built-in one or those of a Python file. Can be repeated.",
    ),
    click.option(
        "--approve",
        type=click.Choice(["ask", "allow", "deny"]),
        default="ask",
        help="What becomes of calls that need permission; without a terminal ask is deny.",
    ),
    click.option(
        "-o",
        "--option",
        "options",
        metavar="KEY=VALUE",
        multiple=True,
        help="temperature, top_p, max_tokens, seed, stop; any other key goes to the endpoint unchecked.",
    ),
    click.option(
        "--effort",
        metavar="LEVEL",
        help="Reasoning effort: low, medium, high or whatever the endpoint knows.",
    ),
    click.option(
        "--max-rounds", type=click.IntRange(min=1), metavar="N", help="Rounds of tool calls at most."
    ),
)


def opened_chat(lembas: Lembas, setup: Setup, out: Out, *, titled: bool) -> Chat:
    """The chat that goes on, or a new one that is stored with its first turn."""
    if not setup.continues:
        return _new_chat(lembas, setup, titled=titled)
    info = lembas.chats.get(setup.chat_id) if setup.chat_id else _newest(lembas)
    if setup.fork:
        last = lembas.chats.messages(info.id, limit=1)[-1]
        info = lembas.chats.fork(last.id)
    out.note(f"Continuing “{info.title}” ({short(info.id)}).")
    if setup.model and setup.model not in (info.model, info.model.rpartition("/")[2]):
        out.note(f"{setup.model} answers this time, not {info.model}.")
    if setup.system is not None:
        lembas.chats.update(info.id, system=_text_or_file(setup.system))
    return lembas.open_chat(info.id, model=_model(lembas, setup), **_given(setup))


def reopened(lembas: Lembas, setup: Setup, chat: Chat) -> Chat:
    """The same chat with another model or other tools."""
    if chat.id is None:
        return _new_chat(lembas, setup, titled=True)
    return lembas.open_chat(chat.id, model=_model(lembas, setup), **_given(setup))


def _new_chat(lembas: Lembas, setup: Setup, *, titled: bool) -> Chat:
    return lembas.chat(
        model=_model(lembas, setup),
        system=_text_or_file(setup.system),
        temporary=setup.temporary,
        titled=titled,
        **_given(setup),
    )


def _given(setup: Setup) -> dict[str, Any]:
    """What only this run has; imports what it needs only where it is needed."""
    given: dict[str, Any] = {}
    if setup.options or setup.effort:
        from lembas_cli.parameters import parameters_from

        given["parameters"] = parameters_from(setup.options, setup.effort)
    if setup.tools:
        from lembas_cli.toolboxes import toolset

        given["tools"] = toolset(setup.tools)
    if setup.max_rounds:
        from lembas_core.engine.limits import Limits

        given["limits"] = Limits(rounds=setup.max_rounds)
    return given


def _model(lembas: Lembas, setup: Setup) -> str | ModelClient | None:
    """The model that is named, or one of a server that is used this once and not stored."""
    if not setup.url:
        return setup.model
    from lembas_core.endpoints import Endpoint
    from lembas_core.errors import Invalid

    from lembas_cli.keys import from_environment

    key = from_environment(setup.key_env) if setup.key_env else None
    try:
        endpoint = Endpoint(setup.url, key=key)
    except ValueError as error:
        raise Invalid(str(error)) from None
    return endpoint.model(setup.model or _only_model(lembas, endpoint))


def _only_model(lembas: Lembas, endpoint: Endpoint) -> str:
    from lembas_core.errors import Invalid

    names = [info.name for info in lembas.call(endpoint.models)]
    if len(names) == 1:
        return names[0]
    listed = ", ".join(names[:10]) or "none"
    raise Invalid(f"Say which model with -m; the server lists {listed}{' …' if names[10:] else ''}.")


def _newest(lembas: Lembas) -> ChatInfo:
    from lembas_core.errors import NotFound

    page = lembas.chats.list(limit=1, origin="cli")
    if not page.items:
        raise NotFound("There is no chat from the command line to go on with.")
    return page.items[0]


def _text_or_file(text: str | None) -> str | None:
    if text is None or not text.startswith("@"):
        return text
    return text_of(Path(text[1:]).expanduser(), "The system prompt")
