"""One instance of LLeMbas: opened, used, closed."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lembas_core.chats import Chats, ChatSetup, RunWith
from lembas_core.endpoints.values import Parameters
from lembas_core.engine.reply import Reply
from lembas_core.given import expect
from lembas_core.instance.chat import Chat
from lembas_core.people.owner import Holder, PersonInfo
from lembas_core.tools.values import Toolset

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from lembas_core.config import Config
    from lembas_core.endpoints.values import ModelClient
    from lembas_core.engine.events import Event
    from lembas_core.engine.limits import Limits, Permit
    from lembas_core.engine.questions import Answer, OnQuestion
    from lembas_core.instance.counting import Counts
    from lembas_core.instance.parts import Parts
    from lembas_core.people.accounts import People
    from lembas_core.settings.connections import Connections
    from lembas_core.settings.models import Models
    from lembas_core.settings.service import Settings
    from lembas_core.store import Store
    from lembas_core.tools.values import Tool

__all__ = ("Lembas",)


class Lembas:
    """An open instance, for one person. `Lembas.open` makes one.

    Attributes:
        config: Where its things are.
        me: Whom it acts for.
        chats: Their chats.
        models: The models that are offered.
        settings: What it is told.
        store: The database.
    """

    def __init__(self, parts: Parts, me: PersonInfo) -> None:
        self._parts = parts
        self._replies = parts.replies
        self.me = me
        self.config: Config = parts.config
        self.store: Store = parts.store
        self.settings: Settings = parts.settings
        self.models: Models = parts.models
        self.chats: Chats = Chats(
            store=parts.store,
            replies=parts.replies,
            person=Holder(me.id, parts.clock),
            resolve=parts.models.resolve,
            setting=parts.setting,
            clock=parts.clock,
            origin=parts.origin,
        )

    @classmethod
    def open(
        cls, where: str | Path | None = None, *, config: Config | None = None, origin: str = "library"
    ) -> AbstractAsyncContextManager[Lembas]:
        """Open an instance: `async with Lembas.open() as lembas`.

        Leaving the block ends what still runs: replies are kept as `interrupted` and can be resumed.

        Args:
            where: A path, `":memory:"` or a database URL; the user's own data when None.
            config: Where everything else is; found in the environment when None.
            origin: What new chats are marked with: the name of the frontend.

        Raises:
            StoreError: The database cannot be opened; the sentence says why.
            Invalid: The configuration is wrong.
            TypeError: `where` is neither text nor a path.
        """
        expect("where", where, str, Path, None)
        from lembas_core.instance.opening import Opening

        return Opening(where, config, origin)

    @property
    def connections(self) -> Connections:
        """The endpoints it knows."""
        return self._parts.connections

    @property
    def people(self) -> People:
        """Everybody."""
        return self._parts.people

    def acting_as(self, person: PersonInfo) -> Lembas:
        """The same instance for another person: their chats, nobody else's."""
        expect("person", person, PersonInfo)
        return Lembas(self._parts, person)

    def chat(
        self,
        *,
        model: str | ModelClient | None = None,
        system: str | None = None,
        tools: Iterable[Tool] = (),
        parameters: Parameters | None = None,
        effort: str | None = None,
        on_question: OnQuestion | None = None,
        permit: Permit | None = None,
        limits: Limits | None = None,
        temporary: bool = False,
        title: str | None = None,
        titled: bool | None = None,
    ) -> Chat:
        """A new chat; nothing is stored before its first turn.

        Args:
            model: NAME, CONNECTION/NAME, the path of a GGUF file, or something that answers requests.
            system: Its system prompt; None leaves it to the model's and the instance's, "" is none.
            tools: What the model may call.
            parameters: How to sample.
            effort: Reasoning effort, as the model names it.
            on_question: Asks a person. Without it `say` asks nobody; `reply` waits for an answer.
            permit: Which calls run, ask or are denied; what writes or executes asks when None.
            limits: How far a reply may go.
            temporary: Never listed, and gone a day after its last activity.
            title: Its title; its first words until a model finds a better one when None.
            titled: Whether a model may find one, with a request of its own. None is yes for models that are
                named; whoever hands in a client counts its requests.
        """
        client = None if isinstance(model, str) else model
        titled = client is None if titled is None else titled
        setup = ChatSetup(
            title=title,
            system=system,
            model=model,
            parameters=parameters or Parameters(),
            effort=effort,
            temporary=temporary,
            titled=titled,
        )
        run = RunWith(
            tools=Toolset(*tools), on_question=on_question, permit=permit, limits=limits, model=client
        )
        return Chat(self.chats, self._replies, setup=setup, run=run)

    async def open_chat(
        self,
        chat_id: str,
        *,
        model: str | ModelClient | None = None,
        tools: Iterable[Tool] = (),
        on_question: OnQuestion | None = None,
        permit: Permit | None = None,
        limits: Limits | None = None,
        parameters: Parameters | None = None,
    ) -> Chat:
        """A stored chat, to go on with. What is not stored with it is given again.

        Args:
            chat_id: Its id, or six or more of its first or last characters.
            model: What answers from here on; the chat's own model when None.
            tools: What the model may call.
            on_question: Asks a person.
            permit: Which calls run, ask or are denied.
            limits: How far a reply may go.
            parameters: How to sample from here on, over the chat's own.

        Raises:
            NotFound: There is no such chat.
            Invalid: Several chats begin like that.
        """
        info = await self.chats.get(chat_id)
        run = RunWith(
            tools=Toolset(*tools),
            on_question=on_question,
            permit=permit,
            limits=limits,
            parameters=parameters or Parameters(),
            model=model,
        )
        return Chat(self.chats, self._replies, chat_id=info.id, run=run)

    async def counts(self) -> Counts:
        """How much the instance holds."""
        from lembas_core.instance.counting import count

        return await self.store.read(count)

    @asynccontextmanager
    async def follow(self, reply_id: str) -> AsyncGenerator[AsyncIterator[Event]]:
        """Watch a reply that anybody started: first a snapshot, then each event once, to `Finished`.

        Leaving changes nothing: the reply goes on.

        Raises:
            NotFound: There is no such reply.
        """
        await self.chats.message(reply_id)
        async with self._replies.follow(reply_id) as events:
            yield events

    async def wait(self, reply_id: str) -> Reply:
        """Wait until a reply has ended; a failed one is returned, not raised.

        Raises:
            NotFound: There is no such reply.
        """
        message = await self.chats.message(reply_id)
        ended = await self._replies.wait(reply_id)
        return Reply.from_view(ended.view, error=ended.error, chat_id=message.chat_id, message_id=message.id)

    async def stop(self, reply_id: str) -> bool:
        """End a reply and keep what arrived; False when it had ended.

        Raises:
            NotFound: There is no such reply.
        """
        await self.chats.message(reply_id)
        return await self._replies.stop(reply_id)

    async def answer(self, reply_id: str, question_id: str, answer: Answer) -> bool:
        """Answer what a reply asks; False when that was answered already.

        Raises:
            NotFound: There is no such reply.
        """
        await self.chats.message(reply_id)
        return await self._replies.answer(reply_id, question_id, answer)
