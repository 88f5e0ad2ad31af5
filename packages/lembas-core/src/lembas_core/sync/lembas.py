"""An instance, without `await`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from lembas_core.engine.events import Event
from lembas_core.instance.lembas import Lembas as AsyncLembas
from lembas_core.sync.chat import Chat
from lembas_core.sync.loop import Loop
from lembas_core.sync.questions import OnQuestion, in_thread
from lembas_core.sync.streaming import Following

if TYPE_CHECKING:
    from lembas_core.config import Config
    from lembas_core.endpoints.values import ModelClient, Parameters
    from lembas_core.engine.limits import Limits, Permit
    from lembas_core.engine.questions import Answer
    from lembas_core.engine.reply import Reply
    from lembas_core.instance.counting import Counts
    from lembas_core.people.owner import PersonInfo
    from lembas_core.sync.chats import Chats
    from lembas_core.sync.settings import Connections, Models, People, Settings
    from lembas_core.tools.values import Tool

__all__ = ("Lembas",)

P = ParamSpec("P")
T = TypeVar("T")


class Lembas:
    """An open instance, for one person. `Lembas.open` makes one; attributes are those of the async one."""

    def __init__(self, loop: Loop, lembas: AsyncLembas) -> None:
        self._loop = loop
        self._lembas = lembas
        self.me: PersonInfo = lembas.me
        self.config: Config = lembas.config

    @cached_property
    def chats(self) -> Chats:
        """Their chats."""
        from lembas_core.sync.chats import Chats

        return Chats(self._loop, self._lembas.chats)

    @cached_property
    def connections(self) -> Connections:
        """The endpoints it knows."""
        from lembas_core.sync.settings import Connections

        return Connections(self._loop, self._lembas.connections)

    @cached_property
    def models(self) -> Models:
        """The models that are offered."""
        from lembas_core.sync.settings import Models

        return Models(self._loop, self._lembas.models)

    @cached_property
    def people(self) -> People:
        """Everybody."""
        from lembas_core.sync.settings import People

        return People(self._loop, self._lembas.people)

    @cached_property
    def settings(self) -> Settings:
        """What it is told."""
        from lembas_core.sync.settings import Settings

        return Settings(self._loop, self._lembas.settings)

    @classmethod
    def open(
        cls, where: str | Path | None = None, *, config: Config | None = None, origin: str = "library"
    ) -> AbstractContextManager[Lembas]:
        """Open an instance: `with Lembas.open() as lembas`.

        It runs on a loop in a thread of its own, so it works in a notebook too. Arguments and errors are
        those of `lembas_core.Lembas.open`.
        """
        return _Opening(where, config, origin)

    def acting_as(self, person: PersonInfo) -> Lembas:
        """The same instance for another person: their chats, nobody else's."""
        return Lembas(self._loop, self._loop.call(self._lembas.acting_as, person))

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

        Arguments are those of `lembas_core.Lembas.chat`; `on_question` is a plain function.
        """
        chat = self._loop.call(
            self._lembas.chat,
            model=model,
            system=system,
            tools=tools,
            parameters=parameters,
            effort=effort,
            on_question=in_thread(on_question),
            permit=permit,
            limits=limits,
            temporary=temporary,
            title=title,
            titled=titled,
        )
        return Chat(self._loop, chat)

    def open_chat(
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

        Arguments and errors are those of `lembas_core.Lembas.open_chat`.
        """
        chat = self._loop.run(
            self._lembas.open_chat,
            chat_id,
            model=model,
            tools=tools,
            on_question=in_thread(on_question),
            permit=permit,
            limits=limits,
            parameters=parameters,
        )
        return Chat(self._loop, chat)

    def counts(self) -> Counts:
        """How much the instance holds."""
        return self._loop.run(self._lembas.counts)

    def follow(self, reply_id: str) -> Following[AsyncIterator[Event]]:
        """Watch a reply that anybody started: `with lembas.follow(id) as events`; leaving changes nothing.

        Raises:
            NotFound: There is no such reply.
        """
        return Following(self._loop, self._lembas.follow(reply_id))

    def wait(self, reply_id: str) -> Reply:
        """Wait until a reply has ended; a failed one is returned, not raised."""
        return self._loop.run(self._lembas.wait, reply_id)

    def stop(self, reply_id: str) -> bool:
        """End a reply and keep what arrived; False when it had ended."""
        return self._loop.run(self._lembas.stop, reply_id)

    def answer(self, reply_id: str, question_id: str, answer: Answer) -> bool:
        """Answer what a reply asks; False when that was answered already."""
        return self._loop.run(self._lembas.answer, reply_id, question_id, answer)

    def call(self, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run any coroutine function on the instance's loop, such as those of an async `Endpoint`."""
        return self._loop.run(function, *args, **kwargs)


class _Opening:
    """An instance and the loop it lives on."""

    def __init__(self, where: str | Path | None, config: Config | None, origin: str) -> None:
        self._opening = (where, config, origin)
        self._loop = Loop()

    def __enter__(self) -> Lembas:
        where, config, origin = self._opening
        self._loop.__enter__()
        try:
            opened = self._loop.enter(AsyncLembas.open(where, config=config, origin=origin))
            return self._loop.call(Lembas, self._loop, opened)
        except BaseException as error:
            self._loop.__exit__(type(error), error, error.__traceback__)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> bool | None:
        return self._loop.__exit__(kind, error, where)
