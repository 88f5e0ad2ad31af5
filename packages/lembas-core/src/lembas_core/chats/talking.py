"""Saying something in a chat and having it answered."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import anyio
from sqlalchemy import Connection, Row

from lembas_core.chats import reading, writing
from lembas_core.chats.answering import Answering, Means
from lembas_core.chats.composing import compose, with_effort
from lembas_core.chats.rows import chat_of, images_to_json, turn_of
from lembas_core.chats.titles import first_words
from lembas_core.chats.values import ChatInfo, ChatSetup, RunWith, Sent
from lembas_core.chats.writing import Begun
from lembas_core.clock import Clock, SystemClock
from lembas_core.context.parameters import parameters_to_json
from lembas_core.context.transcript import Turn
from lembas_core.endpoints.values import Image, ModelClient, Request
from lembas_core.errors import Invalid
from lembas_core.given import expect
from lembas_core.ids import new_id
from lembas_core.replies.job import Job
from lembas_core.replies.rows import view_of
from lembas_core.store import tree

if TYPE_CHECKING:
    from lembas_core.chats.ports import Person, Resolve, Setting
    from lembas_core.endpoints.resolved import Resolved
    from lembas_core.replies.service import Replies
    from lembas_core.store import Store

__all__ = ("Talking", "one_line")

_LONGEST_TITLE: Final = 200


class Talking:
    """What one person says and is answered.

    Args:
        store: Where the chats are.
        replies: What runs the replies.
        person: Whose chats they are.
        resolve: Looks up a model.
        setting: Reads an instance setting.
        clock: Time.
        origin: The frontend that new chats come from.
    """

    def __init__(
        self,
        *,
        store: Store,
        replies: Replies,
        person: Person,
        resolve: Resolve,
        setting: Setting,
        clock: Clock | None = None,
        origin: str = "library",
    ) -> None:
        self._store = store
        self._replies = replies
        self._person = person
        self._means = Means(store, resolve, setting)
        self._clock: Clock = clock or SystemClock()
        self._origin = origin

    async def send(
        self,
        text: str = "",
        *,
        chat_id: str | None = None,
        images: Iterable[Image] = (),
        instead_of: str | None = None,
        setup: ChatSetup | None = None,
        run: RunWith | None = None,
    ) -> Sent:
        """Say something; the reply then runs in the background.

        Args:
            text: What is said.
            chat_id: The chat; without one a new chat is made.
            images: Pictures that belong to it.
            instead_of: A turn of the person's that is said differently: the conversation runs on from there,
                the earlier version stays. What still runs in the chat is stopped.
            setup: What a new chat begins with.
            run: What the reply runs with.

        Raises:
            Invalid: There is neither text nor a picture.
            NotFound: There is no such chat, turn or model.
            Conflict: The chat's reply is still being written, or was begun at the same moment.
        """
        setup, run = setup or ChatSetup(), run or RunWith()
        turn = _turn(text, tuple(images))
        chat = await self._chat_of(chat_id, instead_of)
        if chat is None:
            return await self._begin(turn, setup, run)
        answering = await self._answering(chat.id, turn["id"], run, chat.model)
        if instead_of is not None:
            await self._stop_running(chat.id)
        begun = self._begun(answering.model)
        return await self._store_and_start(
            lambda c: writing.add_turn(c, self._person.id, chat.id, turn, begun, instead_of=instead_of),
            answering,
            begun,
        )

    async def _begin(self, turn: dict[str, Any], setup: ChatSetup, run: RunWith) -> Sent:
        answering = await self._answering(new_id(), turn["id"], run, setup.model)
        answering.titled = setup.titled and setup.title is None
        begun = self._begun(answering.model)
        chat = self._new_chat(answering, setup, turn["text"])
        return await self._store_and_start(
            lambda c: writing.begin_chat(c, self._person, chat, turn, begun), answering, begun
        )

    async def regenerate(self, reply_id: str, *, run: RunWith | None = None) -> Sent:
        """Have the turn that `reply_id` answers answered anew; the reply that was there stays as a version.

        What still runs in the chat is stopped, so a reply that runs is replaced.

        Raises:
            NotFound: There is no such reply or model.
            Invalid: It is a turn of the person's.
            Conflict: Another reply of the chat was begun at the same moment.
        """
        row, chat = await self._store.read(lambda c: self._reply(c, reply_id))
        answering = await self._answering(chat.id, row.parent_id, run or RunWith(), chat.model)
        await self._stop_running(chat.id)
        begun = self._begun(answering.model)
        return await self._store_and_start(
            lambda c: writing.add_reply(c, self._person.id, reply_id, begun), answering, begun
        )

    async def resume(self, reply_id: str, *, run: RunWith | None = None) -> Sent:
        """Continue a reply that was cut off: what comes is added to it. One that runs is left alone.

        Raises:
            NotFound: There is no such reply or model.
            Invalid: It is complete, or the conversation has gone on after it.
            Conflict: It is being continued elsewhere already, or another reply of the chat is being written.
        """
        row, chat = await self._store.read(lambda c: self._reply(c, reply_id))
        if row.status == "running":
            return Sent(chat.id, row.parent_id, reply_id)
        answering = await self._answering(chat.id, row.parent_id, run or RunWith(), chat.model)
        answering.start = replace(view_of(row), outcome=None, finish="", error="")
        begun = self._begun(answering.model)._replace(message_id=reply_id)
        return await self._store_and_start(
            lambda c: writing.begin_again(c, self._person.id, row, begun), answering, begun
        )

    async def preview(
        self,
        text: str = "",
        *,
        chat_id: str | None = None,
        images: Iterable[Image] = (),
        instead_of: str | None = None,
        setup: ChatSetup | None = None,
        run: RunWith | None = None,
    ) -> Request:
        """The request that `send` would make; nothing is stored and nothing is sent.

        Raises:
            Invalid: There is neither text nor a picture.
            NotFound: There is no such chat, turn or model.
        """
        setup, run, images = setup or ChatSetup(), run or RunWith(), tuple(images)
        _turn(text, images)
        chat = await self._chat_of(chat_id, instead_of)
        turns = [] if chat is None else await self._store.read(lambda c: self._turns(c, chat, instead_of))
        model = await self._means.resolve(run.model or (setup.model if chat is None else chat.model))
        of = setup if chat is None else chat
        work = await compose(
            [*turns, Turn("user", text, images)],
            system=of.system,
            parameters=with_effort(of.parameters, of.effort),
            model=model,
            run=run,
            setting=self._means.setting,
        )
        return work.request

    async def _chat_of(self, chat_id: str | None, instead_of: str | None) -> ChatInfo | None:
        """The chat that is spoken in: the one named, or that of the turn which is said differently."""

        def read(c: Connection) -> ChatInfo:
            named = chat_id or reading.message_row(c, self._person.id, instead_of or "").chat_id
            return chat_of(reading.chat_row(c, self._person.id, named))

        return None if chat_id is None and instead_of is None else await self._store.read(read)

    def _reply(self, c: Connection, reply_id: str) -> tuple[Row[Any], ChatInfo]:
        row = writing.reply_row(c, self._person.id, reply_id)
        return row, chat_of(reading.chat_row(c, self._person.id, row.chat_id))

    def _turns(self, c: Connection, chat: ChatInfo, instead_of: str | None) -> list[Turn]:
        end = chat.head_id
        if instead_of is not None:
            end = writing.parent_of_turn(c, chat.id, instead_of)
        return [turn_of(*row) for row in tree.turns(c, end)]

    async def _answering(
        self, chat_id: str, turn_id: str, run: RunWith, model: str | ModelClient | None
    ) -> Answering:
        """Look up the model first: what cannot be answered is not stored either."""
        wanted = run.model if run.model is not None else model
        resolved = await self._means.resolve(wanted)
        handed_in = wanted is not None and not isinstance(wanted, str)
        return Answering(
            means=self._means, chat_id=chat_id, turn_id=turn_id, model=resolved, run=run, handed_in=handed_in
        )

    def _begun(self, model: Resolved) -> Begun:
        return Begun(new_id(), new_id(), self._replies.owner, model.ref, self._clock.now())

    def _new_chat(self, answering: Answering, setup: ChatSetup, text: str) -> dict[str, Any]:
        return {
            "id": answering.chat_id,
            "person_id": self._person.id,
            "title": one_line(setup.title) if setup.title else first_words(text),
            "title_source": "person" if setup.title else "turn",
            "model": answering.model.ref,
            "system": setup.system,
            "parameters": parameters_to_json(setup.parameters),
            "effort": setup.effort,
            "temporary": setup.temporary,
            "origin": setup.origin or self._origin,
        }

    async def _stop_running(self, chat_id: str) -> None:
        """Stop what runs in a chat, also in a version that is not shown."""
        for reply_id in await self._store.read(lambda c: reading.running(c, chat_id)):
            await self._replies.stop(reply_id)

    async def _store_and_start(
        self, write: Callable[[Connection], None], answering: Answering, begun: Begun
    ) -> Sent:
        # A caller that is cancelled in between must not leave a reply that is marked as running and is not.
        with anyio.CancelScope(shield=True):
            await self._store.write(write)
        self._replies.start(
            Job(
                message_id=begun.message_id,
                generation=begun.generation,
                prepare=answering.prepare,
                on_question=answering.run.on_question,
                start=answering.start,
                after=answering.after,
            )
        )
        return Sent(answering.chat_id, answering.turn_id, begun.message_id)


def one_line(title: str) -> str:
    """A title as it is kept.

    Raises:
        Invalid: There is nothing in it.
    """
    line = " ".join(title.split())[:_LONGEST_TITLE].rstrip()
    if not line:
        raise Invalid("A chat needs a title; write at least one letter.")
    return line


def _turn(text: str, images: tuple[Image, ...]) -> dict[str, Any]:
    expect("text", text, str)
    for image in images:
        expect("images", image, Image)
    if not text.strip() and not images:
        raise Invalid("There is nothing to send: write something or attach a picture.")
    return {"id": new_id(), "text": text, "images": images_to_json(images)}
