"""What the built wheels hold and ask for."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from email.message import Message
from email.parser import Parser
from pathlib import Path
from subprocess import run
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("lembas-cli", "lembas-core", "lembas-mcp", "lembas-web")


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """All four, built as a release is, from the sources as they lie here."""
    folder = tmp_path_factory.mktemp("wheels")
    for package in PACKAGES:
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
        run(command, cwd=ROOT / "packages" / package, check=True, capture_output=True)
    return {wheel.name.split("-")[0].replace("_", "-"): wheel for wheel in folder.iterdir()}


def metadata(wheel: Path) -> Message:
    with ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return Parser().parsestr(archive.read(name).decode())


def siblings(wheel: Path) -> Iterator[str]:
    for requirement in metadata(wheel).get_all("Requires-Dist", []):
        if requirement.startswith("lembas-"):
            yield requirement


def test_siblings_are_pinned_to_the_very_same_version(wheels: dict[str, Path]) -> None:
    versions = {metadata(wheel)["Version"] for wheel in wheels.values()}
    assert len(versions) == 1
    (version,) = versions
    for wheel in wheels.values():
        assert all(f"=={version}" in requirement for requirement in siblings(wheel))


def test_the_command_brings_the_other_three_and_they_bring_the_core(wheels: dict[str, Path]) -> None:
    always = {
        package: {asked.split("==")[0] for asked in siblings(wheel) if "extra" not in asked}
        for package, wheel in wheels.items()
    }
    assert always == {
        "lembas-cli": {"lembas-core", "lembas-mcp", "lembas-web"},
        "lembas-core": set(),
        "lembas-mcp": {"lembas-core"},
        "lembas-web": {"lembas-core"},
    }


@pytest.mark.parametrize("package", PACKAGES)
def test_a_wheel_holds_its_package_the_licence_and_nothing_else(
    wheels: dict[str, Path], package: str
) -> None:
    module = package.replace("-", "_")
    names = ZipFile(wheels[package]).namelist()
    assert f"{module}/py.typed" in names
    assert [name for name in names if name.endswith(".dist-info/licenses/LICENSE")]
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {module}
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]


def test_the_core_asks_for_no_frontend(wheels: dict[str, Path]) -> None:
    wanted = " ".join(metadata(wheels["lembas-core"]).get_all("Requires-Dist", []))
    assert not [word for word in ("starlette", "click", "rich", "jinja2", "uvicorn") if word in wanted]
