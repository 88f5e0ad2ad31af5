"""A server that answers for models, and one of its models."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import anyio

from lembas_core.endpoints import catalogue, ollama, openai
from lembas_core.endpoints.address import Address
from lembas_core.endpoints.decoding import ReplyDecoder
from lembas_core.endpoints.exchange import Exchange
from lembas_core.endpoints.streaming import PartStream, Timeouts
from lembas_core.endpoints.values import ModelInfo, Part, Request
from lembas_core.errors import BadResponse, EndpointError
from lembas_core.frozen import frozen
from lembas_core.given import expect

if TYPE_CHECKING:
    from lembas_core.endpoints.transport import Answer

__all__ = ("Endpoint", "Model")

_LIST_SECONDS: Final = 30.0
_PROBE_SECONDS: Final = 5.0

Kind = Literal["openai", "ollama"]


class Endpoint:
    """A model's server: OpenAI-compatible, or Ollama in its own API.

    Connections are made at the first use. As a context manager it keeps them for the next request and closes
    them at the end; without, each request has a connection of its own and nothing needs to be closed.

    Args:
        url: Where it is, forgivingly: `localhost:11434`, `http://host:8080`, `https://host/v1/`.
        key: The key that is sent as a bearer token.
        kind: `openai`, `ollama`, or `auto`: the server is asked once, at the first use.
        headers: Further header fields for every request.
        timeouts: How long to wait.

    Raises:
        TypeError: The URL or the key is no text.
        ValueError: The URL, the key or a header cannot be used.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        kind: Literal["auto", "openai", "ollama"] = "auto",
        headers: Mapping[str, str] | None = None,
        timeouts: Timeouts = Timeouts(),  # noqa: B008  # frozen
    ) -> None:
        expect("url", url, str)
        expect("key", key, str, None)
        self._address = Address.parse(url)
        self._kind: Kind | None = None if kind == "auto" else kind
        self._timeouts = timeouts
        self._exchange = Exchange(self._address, key, headers or {}, timeouts)
        self._exchange.faults.where = self.url
        self._asking = anyio.Lock()
        self._refused: set[str] = set()

    def __repr__(self) -> str:
        return f"Endpoint({self.url!r}, kind={self.kind!r})"

    @property
    def url(self) -> str:
        """The base URL, without credentials."""
        return self._address.root if self._kind == "ollama" else self._address.openai

    @property
    def kind(self) -> Literal["auto", "openai", "ollama"]:
        """What the server speaks; `auto` until it was asked."""
        return self._kind or "auto"

    def model(self, name: str) -> Model:
        """The model of that name; whether it exists shows at the first request."""
        return Model(self, name)

    async def __aenter__(self) -> Endpoint:
        await self.aclose()
        self._exchange.keep = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exchange.keep = False
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections, those in use when their answers end; the next request makes new ones."""
        await self._exchange.aclose()

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[Part]]:
        """Send `request` and watch the answer arrive; see `ModelClient.stream`."""
        return PartStream(lambda: self._begin(request), self._exchange.faults, self._timeouts)

    async def models(self) -> tuple[ModelInfo, ...]:
        """The models that the server lists, in its order, each once.

        Raises:
            EndpointError: The server cannot be reached, or has no list (`BadResponse`, reason `not_found`);
                a model of it can then still be named by hand.
        """
        is_ollama = await self._speaks() == "ollama"
        url = f"{self._address.root}/api/tags" if is_ollama else f"{self._address.openai}/models"
        models = catalogue.listed(await self._json("GET", url))
        if models is None:
            raise self._exchange.faults.not_an_api()
        return models

    async def describe(self, name: str) -> ModelInfo:
        """What the server tells of one model: context window and capabilities.

        Raises:
            EndpointError: The server cannot be reached, or (Ollama) does not have the model.
        """
        root = self._address.root
        if await self._speaks() == "ollama":
            shown = await self._json("POST", f"{root}/api/show", {"model": name}, model=name)
            loaded = catalogue.from_ollama_state(name, await self._optional(f"{root}/api/ps"))
            return catalogue.merged(loaded, catalogue.from_ollama_show(name, shown))
        info = _named(name, await self._optional(f"{self._address.openai}/models", BadResponse))
        if self._exchange.is_llama_cpp:
            props = await self._optional(f"{root}/props")
            return catalogue.merged(catalogue.from_llama_props(name, props), info)
        for path in ("/api/v0/models", "/model/info"):  # LM Studio, LiteLLM
            if info.context_window is None:
                info = catalogue.merged(info, _named(name, await self._optional(root + path)))
        return info

    async def _json(self, method: str, url: str, body: Any = None, *, model: str = "") -> Any:
        seconds = min(self._timeouts.first, _LIST_SECONDS)
        return await self._exchange.json(method, url, body, seconds, model=model)

    async def _optional(self, url: str, fault: type[EndpointError] = EndpointError) -> Any:
        """What only some servers have; None where this one answers with a `fault`."""
        try:
            return await self._json("GET", url)
        except fault:
            return None

    async def _begin(self, request: Request) -> tuple[Answer, ReplyDecoder]:
        """Send a request for a reply; what of it the server refuses and it can do without is left out."""
        taken = [call.id for message in request.messages for call in message.calls]
        faults = self._exchange.faults
        if await self._speaks() == "ollama":
            decoder: ReplyDecoder = ollama.OllamaDecoder(faults, model=request.model, taken=taken)
            return await self._post(
                f"{self._address.root}/api/chat", ollama.encode(request), request
            ), decoder
        decoder = openai.OpenAIDecoder(faults, model=request.model, taken=taken)
        while True:
            without, progress = frozenset(self._refused), self._exchange.is_llama_cpp
            body = openai.encode(request, without=without, progress=progress)
            try:
                return await self._post(f"{self._address.openai}/chat/completions", body, request), decoder
            except BadResponse as error:
                field = openai.refused(str(error), body)
                if field is None or field in without:  # others may have learned of it meanwhile
                    raise
                self._refused.add(field)

    async def _post(self, url: str, body: Any, request: Request) -> Answer:
        answer = await self._exchange.open("POST", url, body, self._timeouts.first)
        if answer.status >= 300:
            raise await self._exchange.refusal(answer, url, request.model)
        return answer

    async def _speaks(self) -> Kind:
        if self._kind is None:
            async with self._asking:
                if self._kind is None:
                    self._kind = await self._ask_kind()
                    self._exchange.faults.where = self.url
        return self._kind or "openai"

    async def _ask_kind(self) -> Kind | None:
        """Whether this is Ollama, which alone tells a version below `/api`; None: not told now."""
        try:
            url = f"{self._address.root}/api/version"
            said = await self._exchange.json("GET", url, None, min(self._timeouts.first, _PROBE_SECONDS))
        except BadResponse as error:
            return "openai" if error.status is None or error.status < 500 else None
        except EndpointError:
            return None  # The request that is to follow fails as well, and tells of it.
        # Open WebUI tells its version there as well, but not its version alone.
        alone = isinstance(said, dict) and list(cast("dict[str, Any]", said)) == ["version"]
        return "ollama" if alone else "openai"


@frozen
class Model:
    """One model at an endpoint; what `ask`, a chat and the engine take as `model`.

    Attributes:
        endpoint: Where it is.
        name: Its name there.
    """

    endpoint: Endpoint
    name: str

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[Part]]:
        """Send `request` and watch the answer arrive; see `ModelClient.stream`."""
        return self.endpoint.stream(request)


def _named(name: str, said: Any) -> ModelInfo:
    models = catalogue.listed(said) or ()
    return next((model for model in models if model.name == name), ModelInfo(name=name))
