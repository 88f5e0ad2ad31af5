"""Four packages, one version; every dependency pinned for development and explained."""

from __future__ import annotations

import re
import tomllib
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PROJECTS = {path.parent.name: path for path in sorted(ROOT.glob("packages/*/pyproject.toml"))}


def read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def project(package: str) -> dict[str, Any]:
    return read(PROJECTS[package])["project"]


def bare(requirement: str) -> str:
    """A requirement's name, without extras, version and marker."""
    return re.split(r"[\[<>=!~; ]", requirement, maxsplit=1)[0]


def asked(package: str) -> list[str]:
    """What a package requires, its extras included."""
    told = project(package)
    extras: dict[str, list[str]] = told.get("optional-dependencies", {})
    return [*told["dependencies"], *chain.from_iterable(extras.values())]


def test_there_are_four_packages() -> None:
    assert list(PROJECTS) == ["lembas-cli", "lembas-core", "lembas-mcp", "lembas-web"]


def test_they_have_one_version() -> None:
    versions = {package: project(package)["version"] for package in PROJECTS}
    versions["workspace"] = read(ROOT / "pyproject.toml")["project"]["version"]
    assert len(set(versions.values())) == 1, versions


@pytest.mark.parametrize("package", PROJECTS)
def test_siblings_are_pinned_exactly_and_everything_else_has_a_floor(package: str) -> None:
    version = project(package)["version"]
    for requirement in asked(package):
        if bare(requirement) in PROJECTS:
            assert requirement.endswith(f"=={version}"), requirement
        else:
            assert ">=" in requirement, requirement


@pytest.mark.parametrize("package", PROJECTS)
def test_only_mcp_has_a_ceiling(package: str) -> None:
    capped = [bare(requirement) for requirement in asked(package) if re.search(r"<|~=|!=", requirement)]
    assert set(capped) <= {"mcp"}


@pytest.mark.parametrize("package", PROJECTS)
def test_each_carries_the_licence_and_a_readme(package: str) -> None:
    folder = PROJECTS[package].parent
    assert (folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert (folder / "README.md").read_text(encoding="utf-8").strip()


def pinned() -> dict[str, str]:
    """The development requirements: name and version; every one carries hashes."""
    text = (ROOT / "requirements-dev.txt").read_text(encoding="utf-8")
    entries = text.replace("\\\n", " ").splitlines()
    assert all("--hash=sha256:" in entry for entry in entries if entry.strip())
    return dict(entry.split()[0].split("==") for entry in entries if entry.strip())


def development() -> list[str]:
    root = read(ROOT / "pyproject.toml")
    return [*root["project"]["dependencies"], *root["dependency-groups"]["dev"]]


def external() -> list[str]:
    """Every requirement that is not ours, of the packages and of their development."""
    wanted = [*development(), *(requirement for package in PROJECTS for requirement in asked(package))]
    return sorted({requirement for requirement in wanted if bare(requirement) not in PROJECTS})


def release(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))


@pytest.mark.parametrize("requirement", external())
def test_the_development_requirements_pin_a_release_above_the_floor(requirement: str) -> None:
    floor = requirement.partition(">=")[2].partition(",")[0]
    assert release(pinned()[bare(requirement)]) >= release(floor), "run `uvx nox -s lock`"


def test_every_dependency_has_its_line_in_the_decisions() -> None:
    decisions = (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8")
    names = {bare(requirement) for requirement in external()}
    assert sorted(word for word in names if f"`{word}`" not in decisions) == []


def test_ci_runs_the_test_command_of_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "uvx nox\n" in readme
    assert "\nuvx nox " in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
