"""The interactive chat: turns, answers, slash commands."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lembas_core.errors import Invalid, LembasError, NotFound, exit_code

from lembas_cli import telling
from lembas_cli.asking import Asker
from lembas_cli.clean import one_line
from lembas_cli.interrupts import Interrupts
from lembas_cli.screens import Live, Plain
from lembas_cli.slash import Slash, help_text, understood
from lembas_cli.watching import watch

if TYPE_CHECKING:
    from lembas_core.chats import MessageInfo
    from lembas_core.engine.events import Metrics
    from lembas_core.sync import Chat, Lembas, ReplyStream

    from lembas_cli.conversing import Setup
    from lembas_cli.lines import Lines
    from lembas_cli.out import Out
    from lembas_cli.screens import Screen

__all__ = ("Talk",)


class Talk:
    """One conversation at a terminal, or with the lines of a pipe.

    Args:
        out: Where words go.
        lembas: The open instance.
        chat: The chat; not stored yet when it is new.
        setup: What the chat was opened with.
        lines: Where the person's lines come from.
        thoughts: Whether the model's thinking is shown.
        raw: Whether Markdown is printed as it is.
    """

    def __init__(
        self, out: Out, lembas: Lembas, chat: Chat, setup: Setup, lines: Lines, *, thoughts: bool, raw: bool
    ) -> None:
        self._out = out
        self._lembas = lembas
        self.chat = chat
        self._setup = setup
        self._lines = lines
        self._thoughts = thoughts
        self._raw = raw
        self._metrics: Metrics | None = None
        self._commands: dict[str, Callable[[str], int | None]] = {
            "/help": self._help,
            "/model": self._model,
            "/tools": self._tools,
            "/multi": self._multi,
            "/edit": self._edit,
            "/regenerate": self._regenerate,
            "/resume": self._resume,
            "/versions": self._versions,
            "/fork": self._fork,
            "/usage": self._usage,
            "/save": self._save,
        }

    def run(self) -> int:
        """Talk until the person leaves. Piped lines end with the first turn that fails."""
        while True:
            try:
                line = self._lines.read()
            except KeyboardInterrupt:
                sys.stdout.write("\n")
                self._out.note("Ctrl-D or /quit leaves.")
                continue
            if line is None:
                return 0
            code = self._heard(line)
            if code is not None:
                return code

    def _heard(self, line: str) -> int | None:
        """Do what a line says; a number ends the talk."""
        said = understood(line)
        if isinstance(said, Slash) and said.name == "/quit":
            return 0
        try:
            if isinstance(said, Slash):
                code = self._commands[said.name](said.argument)
            else:
                code = self._turn(self.chat.reply(said)) if said.strip() else 0
        except LembasError as error:
            self._out.error(str(error))
            code = exit_code(error)
        return code if code and not self._lines.typed else None

    def _turn(self, stream: ReplyStream) -> int:
        interrupts = Interrupts()
        asker = Asker(self._out, self._setup.approve, interrupts)
        screen: Screen | None = None
        try:
            with stream as reply:
                screen = self._screen()
                ending = watch(reply, screen, asker, interrupts)
        finally:
            if screen is not None:
                screen.close()
        ending.tell(self._out)
        self._metrics = ending.finished.metrics
        if ending.finished.error is not None and self._lines.typed:
            self._out.note("Your turn is kept; /regenerate asks again.")
        return ending.exit_code

    def _screen(self) -> Screen:
        if self._out.draws and not self._raw:
            return Live(self._out, thoughts=self._thoughts)
        return Plain(self._out, thoughts=self._thoughts)

    def _help(self, _: str) -> None:
        self._out.note(help_text(), style="plain")

    def _model(self, name: str) -> None:
        if name:
            entry = self._lembas.models.get(name)
            if self.chat.id is not None:
                self._lembas.chats.update(self.chat.id, model=entry.ref)
            self._reopen(model=entry.ref, url=None, key_env=None)
        if self._setup.url:
            self._out.note(f"Talking with {self._setup.model or 'the one model'} at {self._setup.url}.")
        else:
            self._out.note(f"Talking with {self._lembas.models.resolve(self._setup.model).ref}.")

    def _tools(self, names: str) -> None:
        if names:
            self._reopen(tools=() if names == "none" else tuple(names.split()))
        self._out.note(f"Offered: {', '.join(self._setup.tools) or 'no tools'}.")

    def _reopen(self, **changes: Any) -> None:
        """The same chat with another model or other tools from here on."""
        from dataclasses import replace

        from lembas_cli.conversing import reopened

        setup = replace(self._setup, **changes)
        self.chat = reopened(self._lembas, setup, self.chat)
        self._setup = setup

    def _more(self, *, prefilled: str = "", several: bool = False) -> str:
        """What is typed for a command; Ctrl-C there takes the command back."""
        try:
            return self._lines.read(prefilled=prefilled, several=several) or ""
        except KeyboardInterrupt:
            sys.stdout.write("\n")
            return ""

    def _multi(self, _: str) -> int:
        self._out.note('Several lines, up to a line with """.')
        text = self._more(several=True)
        return self._turn(self.chat.reply(text)) if text.strip() else 0

    def _edit(self, number: str) -> int:
        turns = [m for m in self.chat.messages() if m.role == "user"]
        nth = int(number) if number.isdecimal() else 0 if number else 1
        if not 0 < nth <= len(turns):
            raise NotFound(f"There is no such turn: this chat has {len(turns)}.")
        turn = turns[-nth]
        text = self._more(prefilled=turn.text)
        if text.strip() and text != turn.text:
            return self._turn(self.chat.reply(text, instead_of=turn.id))
        self._out.note("Nothing changed.")
        return 0

    def _regenerate(self, _: str) -> int:
        return self._turn(self.chat.regenerating())

    def _resume(self, _: str) -> int:
        return self._turn(self.chat.resuming())

    def _versions(self, which: str) -> None:
        turn, reply = self._last_exchange()
        replies, turns = self.chat.versions(reply.id), self.chat.versions(turn.id)
        if which:
            chosen = _picked(which, replies, turns)
            self.chat.switch(chosen.id)
            self._out.note(f"Went back to {which}.")
            self._show_last()
            return
        for mark, versions, now in (("t", turns, turn), ("", replies, reply)):
            for number, version in enumerate(versions, 1):
                here = "*" if version.id == now.id else " "
                self._out.note(f"{here} {mark}{number}  {one_line(version.text, 70)}")

    def _fork(self, _: str) -> None:
        last = self.chat.messages(limit=1)
        if not last:
            raise NotFound("There is nothing to copy yet.")
        self.chat = self.chat.fork(last[-1].id)
        self._out.note("Going on in a copy; the chat it came from stays as it was.")

    def _usage(self, _: str) -> None:
        if self._metrics is None and self.chat.id is not None:
            self._metrics = self._last_exchange()[1].metrics
        if self._metrics is None:
            raise NotFound("There is no answer yet.")
        self._out.note(telling.usage(self._metrics))

    def _save(self, name: str) -> None:
        if not name:
            raise Invalid("Say where: /save FILE.")
        path = Path(name).expanduser()
        text = self.chat.export("json" if path.suffix == ".json" else "markdown")
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise Invalid(f"{path} cannot be written: {error.strerror}.") from None
        self._out.note(f"Written to {path}.")

    def show_last(self) -> None:
        """Print the last answer, so that a chat that goes on has a beginning on the screen."""
        self._show_last()

    def _show_last(self) -> None:
        messages = self.chat.messages(limit=1)
        text = messages[-1].text.strip() if messages else ""
        if self._out.draws and not self._raw:
            from lembas_cli.live import LiveMarkdown

            page = LiveMarkdown(color=self._out.colors(sys.stdout))
            page.add(text)
            page.close()
        elif text:
            self._out.answer(text + "\n")

    def _last_exchange(self) -> tuple[MessageInfo, MessageInfo]:
        messages = self.chat.messages(limit=2)
        if len(messages) < 2 or messages[-1].role != "assistant":
            raise NotFound("There is no answer yet.")
        return messages[-2], messages[-1]


def _picked(which: str, replies: list[MessageInfo], turns: list[MessageInfo]) -> MessageInfo:
    versions = turns if which.startswith("t") else replies
    number = which.removeprefix("t")
    if number.isdecimal() and 0 < int(number) <= len(versions):
        return versions[int(number) - 1]
    raise NotFound(f"There is no version {which!r}; /versions lists them.")
