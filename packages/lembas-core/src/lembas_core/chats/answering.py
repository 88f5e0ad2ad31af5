"""One reply in the making: what it is made of when it runs, what follows when it is done."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import Connection, Row, bindparam, select

from lembas_core.chats.composing import compose, with_effort
from lembas_core.chats.continuing import continuation
from lembas_core.chats.naming import name_chat
from lembas_core.chats.rows import turn_of
from lembas_core.context.parameters import parameters_from_json
from lembas_core.engine.state import ReplyView
from lembas_core.store import tree
from lembas_core.store.tables import chats

if TYPE_CHECKING:
    from lembas_core.chats.ports import Resolve, Setting
    from lembas_core.chats.values import RunWith
    from lembas_core.context.transcript import Turn
    from lembas_core.endpoints.resolved import Resolved
    from lembas_core.replies.job import Work
    from lembas_core.store import Store

__all__ = ("Answering", "Means")

_CHAT: Final = select(chats).where(chats.c.id == bindparam("chat_id"))


class Means(NamedTuple):
    """What a reply is made with: the store, the models, the settings."""

    store: Store
    resolve: Resolve
    setting: Setting


@dataclass(slots=True, kw_only=True)
class Answering:
    """The answer to one turn of a chat.

    Attributes:
        means: What it is made with.
        chat_id: The chat.
        turn_id: The turn that is answered.
        model: What answers.
        run: What it runs with.
        start: What the reply already holds, when it is continued.
        handed_in: Whether the model is a client that a script brought, which is then asked nothing unasked.
        titled: Whether the chat may be named afterwards.
    """

    means: Means
    chat_id: str
    turn_id: str
    model: Resolved
    run: RunWith
    start: ReplyView = field(default_factory=ReplyView)
    handed_in: bool = False
    titled: bool = True
    _first_turn: str | None = None

    async def prepare(self) -> Work:
        """Read the conversation once and build the request."""
        chat, turns = await self.means.store.read(self._read)
        offered = bool(self.run.tools) and self.model.tools is not False
        self.titled = self.titled and chat.title_source == "turn" and not chat.temporary
        if self.titled and not any(turn.role == "assistant" and turn.text.strip() for turn in turns):
            self._first_turn = turns[-1].text
        return await compose(
            turns,
            system=chat.system,
            parameters=with_effort(parameters_from_json(chat.parameters), chat.effort),
            model=self.model,
            run=self.run,
            setting=self.means.setting,
            more=continuation(self.start.blocks, tools=offered),
        )

    def _read(self, c: Connection) -> tuple[Row[Any], list[Turn]]:
        chat = c.execute(_CHAT, {"chat_id": self.chat_id}).one()
        return chat, [turn_of(*row) for row in tree.turns(c, self.turn_id)]

    async def after(self, view: ReplyView) -> None:
        """Name the chat when this was the first turn that was answered."""
        if self._first_turn is None or view.outcome != "done" or not view.text.strip():
            return
        await name_chat(
            self.means.store,
            self.chat_id,
            self._first_turn,
            view.text,
            model=None if self.handed_in else self.model,
            resolve=self.means.resolve,
            setting=self.means.setting,
        )
