"""The embedded model as the connection `local`: one child process per file, started when first asked."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio

from lembas_core.endpoints import Endpoint
from lembas_core.endpoints.resolved import Resolved
from lembas_core.endpoints.values import ModelInfo, Parameters, Part, Request

if TYPE_CHECKING:
    from lembas_core.local import LocalServer

__all__ = ("LOCAL", "LocalModel", "LocalModels")

LOCAL: Final = "local"
"""The name of the embedded model's connection, which no other may have."""

_SMALL: Final = ModelInfo(
    name="", context_window=8192, tools=False, vision=False, reasoning=False
)  # What llama.cpp says of SmolLM2 once it runs.

_CALM: Final = Parameters(temperature=0.2, top_p=0.9, max_tokens=512, extra={"repeat_penalty": 1.1})
"""Temperature and top_p as SmolLM2's authors advise; else so small a model goes round in circles."""


class LocalModel:
    """A GGUF file that answers requests; its server starts with the first one and again after a crash."""

    def __init__(self, server: LocalServer) -> None:
        self._server = server
        self._endpoint: Endpoint | None = None
        self._url = ""
        self._reaching = anyio.Lock()
        self.info: ModelInfo | None = None

    @property
    def name(self) -> str:
        """The model's name, as the server lists it."""
        return self._server.name

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[Part]]:
        """Start the server if it does not run, send `request` and watch the answer arrive.

        Raises:
            ModelMissing: The engine or the weights are not here, or the file is no model.
            Unreachable: The server could not be started.
        """
        endpoint = await self._reached()
        async with endpoint.model(self.name).stream(request) as parts:
            yield parts

    async def aclose(self) -> None:
        """End the server."""
        if self._endpoint is not None:
            await self._endpoint.aclose()
        await self._server.aclose()

    async def _reached(self) -> Endpoint:
        async with self._reaching:
            url = await self._server.url()
            if self._endpoint is None or url != self._url:
                await self._move(url)
            assert self._endpoint is not None
            return self._endpoint

    async def _move(self, url: str) -> None:
        """A server that was started anew has another port, and tells what its model can do."""
        if self._endpoint is not None:
            await self._endpoint.aclose()
        endpoint = Endpoint(url, key=self._server.key, kind="openai")
        self._endpoint, self._url = await endpoint.__aenter__(), url
        self.info = await endpoint.describe(self.name)


class LocalModels:
    """The embedded models of an instance, by file; None is the small one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._models: dict[Path | None, LocalModel] = {}

    def available(self, gguf: Path | None = None) -> bool:
        """Whether the engine is installed and the file is here."""
        return self._server(gguf).available()

    def name(self, gguf: Path | None = None) -> str:
        """What the file's model is called."""
        return self._server(gguf).name

    def resolve(self, gguf: Path | None, ref: str) -> Resolved:
        """The model of a file; nothing is started yet."""
        if gguf not in self._models:
            self._models[gguf] = LocalModel(self._server(gguf))
        model = self._models[gguf]
        info = model.info or (_SMALL if gguf is None else ModelInfo(name=model.name))
        return Resolved(
            client=model,
            ref=ref,
            name=model.name,
            tools=info.tools,
            vision=info.vision,
            reasoning=info.reasoning,
            context_window=info.context_window,
            parameters=_CALM if gguf is None else Parameters(),
        )

    async def aclose(self) -> None:
        """End every server."""
        models, self._models = self._models, {}
        for model in models.values():
            await model.aclose()

    def _server(self, gguf: Path | None) -> LocalServer:
        from lembas_core.local import LocalServer

        return LocalServer(gguf, folder=self._folder)
