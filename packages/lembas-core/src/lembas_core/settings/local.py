"""The embedded model as the connection `local`: one child process per file, started when first asked."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from lembas_core.endpoints import Endpoint
from lembas_core.endpoints.resolved import Resolved
from lembas_core.endpoints.values import ModelInfo, Part, Request
from lembas_core.local import LocalServer

__all__ = ("LOCAL", "LocalModel", "LocalModels")

LOCAL: Final = "local"
"""The name of the embedded model's connection, which no other may have."""

_SMALL: Final = ModelInfo(
    name="", context_window=8192, tools=False, vision=False, reasoning=False
)  # What llama.cpp says of SmolLM2 once it runs.


class LocalModel:
    """A GGUF file that answers requests; its server starts with the first one and again after a crash."""

    def __init__(self, server: LocalServer) -> None:
        self._server = server
        self._endpoint: Endpoint | None = None
        self._url = ""
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
        url = await self._server.url()
        if self._endpoint is not None and url == self._url:
            return self._endpoint
        if self._endpoint is not None:
            await self._endpoint.aclose()
        endpoint = Endpoint(url, key=self._server.key, kind="openai")
        self._endpoint, self._url = await endpoint.__aenter__(), url
        self.info = await endpoint.describe(self.name)
        return endpoint


class LocalModels:
    """The embedded models of an instance, by file; None is the small one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._models: dict[Path | None, LocalModel] = {}

    def available(self, gguf: Path | None = None) -> bool:
        """Whether the engine is installed and the file is here."""
        return LocalServer(gguf, folder=self._folder).available()

    def name(self, gguf: Path | None = None) -> str:
        """What the file's model is called."""
        return LocalServer(gguf, folder=self._folder).name

    def resolve(self, gguf: Path | None, ref: str) -> Resolved:
        """The model of a file; nothing is started yet."""
        if gguf not in self._models:
            self._models[gguf] = LocalModel(LocalServer(gguf, folder=self._folder))
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
        )

    async def aclose(self) -> None:
        """End every server."""
        models, self._models = self._models, {}
        for model in models.values():
            await model.aclose()
