"""Asking a model once, without `await` and without a database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Literal

from lembas_core.endpoints import Endpoint as AsyncEndpoint
from lembas_core.endpoints import Timeouts
from lembas_core.engine.ask import ask as ask_async
from lembas_core.engine.limits import default_permit
from lembas_core.sync.loop import Loop
from lembas_core.sync.questions import OnQuestion, in_thread

if TYPE_CHECKING:
    from typing import Self

    from lembas_core.endpoints.values import Image, ModelClient, ModelInfo, Parameters
    from lembas_core.engine.limits import Limits, Permit
    from lembas_core.engine.reply import Reply
    from lembas_core.tools.values import Tool

__all__ = ("Endpoint", "Model", "ask")


class Model:
    """A model at an endpoint, to be given to `ask` while the endpoint is open."""

    def __init__(self, endpoint: Endpoint, name: str) -> None:
        self.endpoint = endpoint
        self.name = name


class Endpoint:
    """A model's server: `with Endpoint("http://localhost:11434") as endpoint`.

    Arguments are those of `lembas_core.Endpoint`.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        kind: Literal["auto", "openai", "ollama"] = "auto",
        headers: Mapping[str, str] | None = None,
        timeouts: Timeouts | None = None,
    ) -> None:
        self.loop: Loop = Loop()
        self.endpoint: AsyncEndpoint = AsyncEndpoint(
            url, key=key, kind=kind, headers=headers, timeouts=timeouts or Timeouts()
        )

    def __enter__(self) -> Self:
        self.loop.__enter__()
        self.loop.enter(self.endpoint)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> bool | None:
        return self.loop.__exit__(kind, error, where)

    @property
    def url(self) -> str:
        """The base URL."""
        return self.endpoint.url

    @property
    def kind(self) -> Literal["auto", "openai", "ollama"]:
        """What the server speaks; `auto` until it was asked."""
        return self.endpoint.kind

    def model(self, name: str) -> Model:
        """One of its models."""
        return Model(self, name)

    def models(self) -> tuple[ModelInfo, ...]:
        """What it offers, in its own order.

        Raises:
            EndpointError: It did not answer as it should.
        """
        return self.loop.run(self.endpoint.models)

    def describe(self, name: str) -> ModelInfo:
        """What it tells of one model.

        Raises:
            EndpointError: It did not answer as it should.
        """
        return self.loop.run(self.endpoint.describe, name)


def ask(
    prompt: str,
    *,
    model: Model | ModelClient,
    system: str | None = None,
    images: Iterable[Image] = (),
    tools: Iterable[Tool] = (),
    parameters: Parameters | None = None,
    on_question: OnQuestion | None = None,
    permit: Permit = default_permit,
    limits: Limits | None = None,
) -> Reply:
    """Ask a model and wait for its whole reply; arguments and errors are those of `lembas_core.ask`."""

    def run(loop: Loop, client: ModelClient) -> Reply:
        return loop.run(
            ask_async,
            prompt,
            model=client,
            system=system,
            images=images,
            tools=tools,
            parameters=parameters,
            on_question=in_thread(on_question),
            permit=permit,
            limits=limits,
        )

    if isinstance(model, Model):
        return run(model.endpoint.loop, model.endpoint.endpoint.model(model.name))
    with Loop() as loop:
        return run(loop, model)
