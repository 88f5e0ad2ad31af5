"""A GGUF file served by a child process: the same HTTP as any endpoint, and a crash stays over there."""

from __future__ import annotations

import json
import secrets
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Final

import anyio
import anyio.to_thread
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from lembas_core.errors import EndpointError, ModelMissing, Unreachable
from lembas_core.local.child import start_child
from lembas_core.local.serve import Order
from lembas_core.local.weights import FILE, find_weights, require_gguf

__all__ = ("LocalServer",)

START_SECONDS: Final = 600
"""Reading tens of gigabytes from a slow disk takes minutes; longer than this is a hang."""

LONGEST_REPORT: Final = 64 * 1024


class LocalServer:
    """llama.cpp serving one file on loopback, started when first needed, gone with its parent.

    Args:
        gguf: Any GGUF file; the small model when None.
        folder: Where fetched weights lie, beside those of an installed package.
        context: Tokens of context; a model trained for fewer gets fewer.
    """

    def __init__(self, gguf: Path | None = None, *, folder: Path | None = None, context: int = 8192) -> None:
        self._gguf = gguf
        self._folder = folder
        self._context = context
        self._starting = anyio.Lock()
        self._child: Process | None = None
        self._url = ""
        self._stderr: IO[bytes] | None = None
        self.key: Final = secrets.token_urlsafe(32)
        """The key this server asks for, so that nobody else on the machine can use it."""

    @property
    def name(self) -> str:
        """The model's name, as the server lists it."""
        return (self._gguf or Path(FILE)).stem.lower()

    def available(self) -> bool:
        """Whether the engine and the weights are here."""
        return find_spec("xllamacpp") is not None and self._weights() is not None

    async def url(self) -> str:
        """Where the server is; starts it when it does not run, once for all who ask.

        Raises:
            ModelMissing: The `local` extra or the weights are missing, or the file is no GGUF file.
            Unreachable: The child died at its start, or was not ready in time.
        """
        async with self._starting:
            if self._child is None or self._child.returncode is not None:
                await self.aclose()
                await self._start()
            return self._url

    async def aclose(self) -> None:
        """End the child and free its memory; `url()` starts another one."""
        child, self._child = self._child, None
        stderr, self._stderr = self._stderr, None
        with anyio.CancelScope(shield=True):
            if child is not None:
                if child.returncode is None:
                    child.kill()
                await child.aclose()
        if stderr is not None:
            stderr.close()

    def _weights(self) -> Path | None:
        return self._gguf or find_weights(self._folder)

    def _order(self) -> Order:
        if find_spec("xllamacpp") is None:
            raise ModelMissing(
                "The local model needs llama.cpp: install the `local` extra, for example with "
                "pip install 'lembas-core[local]'."
            )
        weights = self._weights()
        if weights is None:
            raise ModelMissing(
                "The local model's weights are not here: bring them with `lembas models fetch`, "
                "or name a GGUF file."
            )
        gguf = str(require_gguf(weights).absolute())
        return Order(gguf=gguf, name=self.name, context=self._context, key=self.key)

    async def _start(self) -> None:
        order = await anyio.to_thread.run_sync(self._order)  # the file may lie on a slow disk
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed in aclose, which outlives this block
        # -P: a file called json.py where the person happens to stand must not run in the child.
        command = [sys.executable, "-P", "-m", "lembas_core.local.serve"]
        try:
            child = self._child = await start_child(command, stderr=self._stderr)
            with anyio.fail_after(START_SECONDS):
                self._url = await self._ready(child, order)
        except TimeoutError as error:
            await self.aclose()
            raise Unreachable(
                f"The local model was not ready after {START_SECONDS} s.", timed_out=True
            ) from error
        except BaseException:
            await self.aclose()
            raise

    async def _ready(self, child: Process, order: Order) -> str:
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            await child.stdin.send(order.line())
            line = await BufferedByteReceiveStream(child.stdout).receive_until(b"\n", LONGEST_REPORT)
        except (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError):
            raise _why_it_died(await child.wait(), self._complaints(), order.gguf) from None
        return str(json.loads(line.removeprefix(b"READY "))["url"])

    def _complaints(self) -> str:
        assert self._stderr is not None
        self._stderr.seek(0)
        return self._stderr.read(LONGEST_REPORT).decode(errors="replace")


def _why_it_died(status: int, complaints: str, gguf: str) -> EndpointError:
    """The child's last words as one sentence."""
    if "insufficient memory" in complaints or "bad_alloc" in complaints or status == -9:
        return Unreachable(
            "The local model does not fit into memory: choose a smaller file or a smaller context."
        )
    if "unknown model architecture" in complaints:
        return ModelMissing(
            f"{gguf} is a kind of model that this llama.cpp does not know; upgrade xllamacpp."
        )
    if "corrupted or incomplete" in complaints:
        return ModelMissing(f"{gguf} is damaged or incomplete; bring it again.")
    return Unreachable(f"The local model could not be started: {_last_word(complaints, status)}")


def _last_word(complaints: str, status: int) -> str:
    marker = "error loading model: "
    lines = [line.strip() for line in complaints.splitlines() if line.strip()]
    for line in lines:
        if marker in line:
            return line.partition(marker)[2].rstrip(".") + "."
    return lines[-1].rstrip(".") + "." if lines else f"it ended with status {status}."
