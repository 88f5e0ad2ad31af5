"""The house's rules as tests: sizes, doors, docstrings, words that may not appear, one version everywhere."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from lembas_core import errors

ROOT = Path(__file__).parents[2]
SOURCES = sorted(ROOT.glob("packages/*/src/**/*.py"))

LONGEST_FILE = 400
LONGEST_FUNCTION = 60


def name(path: Path) -> str:
    return str(path.relative_to(ROOT / "packages"))


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_no_source_file_is_too_long() -> None:
    lengths = {name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES}
    assert {file: length for file, length in lengths.items() if length > LONGEST_FILE} == {}


def test_no_function_is_too_long() -> None:
    long = {
        f"{name(path)}:{function.name}": length
        for path in SOURCES
        for function in functions(path)
        if (length := (function.end_lineno or 0) - function.lineno + 1) > LONGEST_FUNCTION
    }
    assert long == {}


def declared(path: Path) -> tuple[str, ...] | None:
    """The literal `__all__` of a module, or None."""
    for node in tree(path).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            assert isinstance(node.value, ast.Tuple), "__all__ is a tuple, written out"
            return tuple(ast.literal_eval(node.value))
    return None


def public(path: Path) -> set[str]:
    """The classes and functions a module offers by name.

    A decorated function is registered somewhere (a command, a route) rather than offered.
    """
    names: set[str] = set()
    for node in tree(path).body:
        if isinstance(node, ast.ClassDef) or (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.decorator_list
        ):
            names.add(node.name)
    return {word for word in names if word[0] != "_"}


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_every_module_says_what_is_public(path: Path) -> None:
    if not tree(path).body or path.name == "__main__.py":
        return
    exported = declared(path)
    assert exported is not None, "no __all__"
    assert public(path) <= set(exported), "public by name, but not in __all__"


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_what_is_called_public_is_there(path: Path) -> None:
    if path.name == "__main__.py":
        return
    parts = path.relative_to(ROOT / "packages").with_suffix("").parts[2:]
    module = importlib.import_module(".".join(part for part in parts if part != "__init__"))
    missing = [word for word in declared(path) or () if not hasattr(module, word)]
    assert missing == []


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_every_module_says_what_it_is_for(path: Path) -> None:
    parsed = tree(path)
    assert not parsed.body or ast.get_docstring(parsed), "no docstring"


def test_the_packages_are_typed() -> None:
    for package in ROOT.glob("packages/*/src/*"):
        if package.is_dir():
            assert (package / "py.typed").is_file()


TALES = ("elrond", "frodo", "galadriel", "gandalf", "gondor", "hobbit", "mordor", "rivendell", "sauron")


def test_code_calls_things_what_they_are() -> None:
    """Middle-earth lives in pictures and in words for people, not in names a programmer reads."""
    named = {
        f"{name(path)}: {word}"
        for path in SOURCES
        for node in ast.walk(tree(path))
        for word in (getattr(node, "name", ""), getattr(node, "id", ""), getattr(node, "attr", ""))
        if isinstance(word, str) and any(tale in word.lower() for tale in TALES)
    }
    assert named == set()


# Taken apart, so that this file does not hold what it forbids.
FORBIDDEN = {
    "a package registry's host": "pypi[.]org|pythonhosted[.]org|registry[.]npmjs|deb[.]debian[.]org",
    "a path of somebody's machine": "/wor[k]/|/far[m]/|/hom[e]/[a-z]|/roo[t]/",
    "the folder beside the project": "[.][.]/shared",
    "a mock of our own code": "^ *(import|from) (unittest[.])?mock",
    "the client library that is not kept any more": "^ *(import|from) httpx( |$|[.])",
}


def committed() -> list[Path]:
    """The files git knows, and those it would take."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    paths = [ROOT / word for word in done.stdout.decode().split("\0") if word]
    return [path for path in paths if path.is_file()]


@pytest.mark.parametrize("what", FORBIDDEN)
def test_nothing_that_is_committed_holds(what: str) -> None:
    pattern = re.compile(FORBIDDEN[what], re.IGNORECASE | re.MULTILINE)
    found = [
        str(path.relative_to(ROOT))
        for path in committed()
        if pattern.search(path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert found == []


def test_no_lock_file_with_addresses_is_committed() -> None:
    names = {path.name for path in committed()}
    assert not names & {"uv.lock", "pylock.toml", "poetry.lock", "Pipfile.lock"}


def error_classes() -> list[type[errors.LembasError]]:
    classes = [value for _, value in inspect.getmembers(errors, inspect.isclass)]
    return [cls for cls in classes if issubclass(cls, errors.LembasError)]


def made(cls: type[errors.LembasError]) -> errors.LembasError:
    return cls("A sentence.")


def test_every_error_is_public_and_a_sentence() -> None:
    for cls in error_classes():
        assert cls.__name__ in errors.__all__
        assert str(made(cls)) == "A sentence."


def test_every_error_has_an_exit_code_and_a_status_of_its_own_or_its_parents() -> None:
    codes = {cls.__name__: errors.exit_code(made(cls)) for cls in error_classes()}
    assert codes == {
        "BadResponse": 1,
        "Conflict": 1,
        "ContentFiltered": 9,
        "ContextExceeded": 6,
        "EndpointError": 1,
        "Forbidden": 4,
        "Invalid": 2,
        "LembasError": 1,
        "ModelMissing": 7,
        "NewerDatabase": 1,
        "NotFound": 7,
        "RateLimited": 5,
        "SecretMissing": 1,
        "StoreError": 1,
        "TurnTooLarge": 6,
        "Unauthorised": 4,
        "Unreachable": 3,
    }
    statuses = {cls.__name__: errors.http_status(made(cls)) for cls in error_classes()}
    assert statuses == {
        "BadResponse": 502,
        "Conflict": 409,
        "ContentFiltered": 422,
        "ContextExceeded": 413,
        "EndpointError": 502,
        "Forbidden": 403,
        "Invalid": 422,
        "LembasError": 500,
        "ModelMissing": 404,
        "NewerDatabase": 500,
        "NotFound": 404,
        "RateLimited": 429,
        "SecretMissing": 500,
        "StoreError": 500,
        "TurnTooLarge": 413,
        "Unauthorised": 502,
        "Unreachable": 504,
    }


def test_what_is_not_ours_is_an_unexpected_error() -> None:
    assert errors.exit_code(RuntimeError("boom")) == 1
    assert errors.http_status(RuntimeError("boom")) == 500
    assert errors.exit_code(ValueError("boom")) == 1


def test_the_tree_of_errors_is_drawn_in_full() -> None:
    drawing = errors.__doc__ or ""
    assert [cls.__name__ for cls in error_classes() if cls.__name__ not in drawing] == []
