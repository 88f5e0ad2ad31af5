"""A server that answers for models, and one of its models."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import anyio
import orjson

from lembas_core.endpoints import catalogue, ollama, openai
from lembas_core.endpoints.address import Address
from lembas_core.endpoints.decoding import ReplyDecoder
from lembas_core.endpoints.faults import Faults
from lembas_core.endpoints.messages import is_error
from lembas_core.endpoints.streaming import PartStream, Timeouts
from lembas_core.endpoints.values import ModelInfo, Part, Request
from lembas_core.endpoints.wire import load, scrubbed
from lembas_core.errors import BadResponse, EndpointError

if TYPE_CHECKING:
    from lembas_core.endpoints.transport import Answer, Transport

__all__ = ("Endpoint", "Model")

_MAX_BODY: Final = 16 << 20
_MAX_ERROR: Final = 64 << 10
_ERROR_SECONDS: Final = 10.0
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
        self._address = Address.parse(url)
        self._headers = _headers(key, headers or {}, self._address.user)
        self._kind: Kind | None = None if kind == "auto" else kind
        self._timeouts = timeouts
        self._faults = Faults(self.url, _secrets(self._headers))
        self._transport: Transport | None = None
        self._keep = False
        self._asking = anyio.Lock()
        self._refused: set[str] = set()
        self._is_llama_cpp = False

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
        self._keep = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._keep = False
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections; the next request makes new ones."""
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.aclose()

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[Part]]:
        """Send `request` and watch the answer arrive; see `ModelClient.stream`."""
        return PartStream(lambda: self._begin(request), self._faults, self._timeouts)

    async def models(self) -> tuple[ModelInfo, ...]:
        """The models that the server lists, in its order.

        Raises:
            EndpointError: The server cannot be reached, or has no list (`BadResponse`, reason `not_found`);
                a model of it can then still be named by hand.
        """
        if await self._speaks() == "ollama":
            return await self._list(f"{self._address.root}/api/tags")
        return await self._list(f"{self._address.openai}/models")

    async def describe(self, name: str) -> ModelInfo:
        """What the server tells of one model: context window and capabilities.

        Raises:
            EndpointError: The server cannot be reached, or (Ollama) does not have the model.
        """
        root = self._address.root
        if await self._speaks() == "ollama":
            shown = await self._json("POST", f"{root}/api/show", {"model": name}, model=name)
            loaded = catalogue.from_ollama_state(name, await self._json("GET", f"{root}/api/ps"))
            return catalogue.merged(loaded, catalogue.from_ollama_show(name, shown))
        info = _named(name, await self._optional_list(f"{self._address.openai}/models"))
        if self._is_llama_cpp:
            props = await self._optional("GET", f"{root}/props")
            return catalogue.merged(catalogue.from_llama_props(name, props), info)
        for path in ("/api/v0/models", "/model/info"):  # LM Studio, LiteLLM
            if info.context_window is None:
                info = catalogue.merged(info, _named(name, await self._optional_list(root + path)))
        return info

    async def _optional(self, method: str, url: str) -> Any:
        """What only some servers have; None where this one has not."""
        try:
            return await self._json(method, url)
        except BadResponse:
            return None

    async def _optional_list(self, url: str) -> tuple[ModelInfo, ...]:
        return catalogue.listed(await self._optional("GET", url)) or ()

    async def _list(self, url: str) -> tuple[ModelInfo, ...]:
        models = catalogue.listed(await self._json("GET", url))
        if models is None:
            raise self._faults.not_an_api()
        return models

    async def _json(self, method: str, url: str, body: Any = None, *, model: str = "") -> Any:
        """One request whose whole answer is JSON."""
        answer = await self._open(method, url, body, min(self._timeouts.first, _LIST_SECONDS))
        try:
            if answer.status >= 300:
                raise await self._refusal(answer, url, model)
            said = load(await answer.read(_MAX_BODY, _LIST_SECONDS))
        finally:
            await answer.aclose()
        if said is None:
            raise self._faults.not_an_api()
        if is_error(said):
            raise self._faults.told(said, model=model)
        return said

    async def _begin(self, request: Request) -> tuple[Answer, ReplyDecoder]:
        """Send a request for a reply and see to it that it was taken."""
        taken = [call.id for message in request.messages for call in message.calls]
        if await self._speaks() == "ollama":
            decoder: ReplyDecoder = ollama.OllamaDecoder(self._faults, model=request.model, taken=taken)
            url, body = f"{self._address.root}/api/chat", ollama.encode(request)
        else:
            decoder = openai.OpenAIDecoder(self._faults, model=request.model, taken=taken)
            url, body = f"{self._address.openai}/chat/completions", self._encoded(request)
        while True:
            answer = await self._open("POST", url, body, self._timeouts.first)
            if answer.status < 300:
                return answer, decoder
            try:
                error = await self._refusal(answer, url, request.model)
            finally:
                await answer.aclose()
            refused = openai.refused(str(error), body) if isinstance(error, BadResponse) else None
            if refused is None:
                raise error
            self._refused.add(refused)
            body = self._encoded(request)

    def _encoded(self, request: Request) -> dict[str, Any]:
        return openai.encode(request, without=self._refused, progress=self._is_llama_cpp)

    async def _refusal(self, answer: Answer, url: str, model: str) -> EndpointError:
        try:
            body = await answer.read(_MAX_ERROR, _ERROR_SECONDS)
        except EndpointError:
            body = b""  # The status alone has to tell.
        path = url.removeprefix(self._address.root)
        return self._faults.status(answer.status, answer.headers, body, model=model, path=path)

    async def _open(self, method: str, url: str, body: Any, seconds: float) -> Answer:
        content = None if body is None else _dumped(body)
        answer = await self._connected().open(method, url, content, seconds)
        self._is_llama_cpp = self._is_llama_cpp or "llama.cpp" in answer.headers.get("server", "").lower()
        return answer

    def _connected(self) -> Transport:
        if self._transport is None:
            from lembas_core.endpoints.transport import Transport

            self._transport = Transport(
                self._faults,
                self._headers,
                connect=self._timeouts.connect,
                keep=self._keep,
            )
        return self._transport

    async def _speaks(self) -> Kind:
        if self._kind is None:
            async with self._asking:
                if self._kind is None:
                    self._kind = await self._ask_kind()
                    self._faults.where = self.url
        return self._kind

    async def _ask_kind(self) -> Kind:
        """Whether this is Ollama: nothing else of note has a version below `/api`."""
        url = f"{self._address.root}/api/version"
        answer = await self._open("GET", url, None, min(self._timeouts.first, _PROBE_SECONDS))
        try:
            said = load(await answer.read(_MAX_ERROR, _PROBE_SECONDS)) if answer.status == 200 else None
        finally:
            await answer.aclose()
        is_ollama = isinstance(said, dict) and isinstance(cast("dict[str, Any]", said).get("version"), str)
        return "ollama" if is_ollama else "openai"


@dataclass(frozen=True, slots=True)
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


def _named(name: str, models: tuple[ModelInfo, ...]) -> ModelInfo:
    return next((model for model in models if model.name == name), ModelInfo(name=name))


def _headers(key: str | None, extra: Mapping[str, str], user: str) -> dict[str, str]:
    headers = {"accept-encoding": "identity", "content-type": "application/json", "user-agent": "lembas"}
    if user:
        headers["authorization"] = f"Basic {base64.b64encode(user.encode()).decode()}"
    if key and key.strip():
        headers["authorization"] = f"Bearer {key.strip()}"
    headers |= {name.strip().lower(): value.strip() for name, value in extra.items()}
    for name, value in headers.items():
        if not (value.isascii() and value.isprintable() and name.isascii() and name.isprintable()):
            what = "key" if name == "authorization" else f"header {name!r}"
            raise ValueError(f"The {what} holds characters that cannot be sent.")
    return headers


def _secrets(headers: Mapping[str, str]) -> list[str]:
    public = ("accept-encoding", "content-type", "user-agent")
    values = [value for name, value in headers.items() if name not in public]
    return [*values, *(value.partition(" ")[2] for value in values)]


def _dumped(body: Any) -> bytes:
    try:
        return orjson.dumps(body)
    except TypeError:
        # Lone surrogates; what no JSON can hold raises again.
        return scrubbed(json.dumps(body, ensure_ascii=False)).encode()
