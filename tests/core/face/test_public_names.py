from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import lembas_core
import pytest
from lembas_core import errors
from lembas_core.engine import events
from lembas_core.settings.registry import REGISTRY

ROOT = Path(__file__).parents[3]
SHELF = {"pydantic", "sqlalchemy", "httpx2", "mcp", "cryptography", "rich", "click", "argon2", "anyio", "ssl"}
MOST = 60


def loaded(code: str) -> set[str]:
    """The packages that a fresh process holds after `code`."""
    whole = f"{code}\nimport sys; print(*{{name.partition('.')[0] for name in sys.modules}})"
    ran = subprocess.run([sys.executable, "-c", whole], capture_output=True, text=True, check=True)
    return set(ran.stdout.splitlines()[-1].split())


def test_there_are_few_public_names_and_each_is_found_once() -> None:
    assert len(lembas_core.__all__) <= MOST
    assert sorted(set(lembas_core.__all__)) == sorted(lembas_core.__all__)
    assert set(lembas_core.__all__) == set(lembas_core._FOUND_IN)  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("name", lembas_core.__all__)
def test_each_public_name_is_there_and_says_what_it_is(name: str) -> None:
    value = getattr(lembas_core, name)
    assert name in dir(lembas_core)
    if inspect.ismodule(value) or inspect.isclass(value) or callable(value):
        assert inspect.getdoc(value), f"{name} has no docstring"


@pytest.mark.parametrize("name", lembas_core.__all__)
def test_each_public_method_says_what_it_does(name: str) -> None:
    value = getattr(lembas_core, name)
    if not inspect.isclass(value):
        return
    for attribute, member in vars(value).items():
        if attribute.startswith("_") or not (inspect.isfunction(member) or isinstance(member, property)):
            continue
        assert inspect.getdoc(member), f"{name}.{attribute} has no docstring"


@pytest.mark.parametrize("name", lembas_core.__all__)
def test_each_public_name_is_in_the_reference(name: str) -> None:
    assert f"`{name}" in (ROOT / "docs/reference/library.md").read_text(encoding="utf-8")


def test_each_event_is_in_the_reference() -> None:
    page = (ROOT / "docs/reference/library.md").read_text(encoding="utf-8")
    kinds = [
        member for member in vars(events).values() if inspect.isclass(member) and hasattr(member, "kind")
    ]
    assert kinds
    assert [kind.__name__ for kind in kinds if f"`{kind.__name__}" not in page] == []


def test_each_setting_is_in_the_reference() -> None:
    page = (ROOT / "docs/reference/library.md").read_text(encoding="utf-8")
    assert [key for key in REGISTRY if f"`{key}`" not in page] == []


def test_every_error_is_public() -> None:
    classes = {name for name in errors.__all__ if inspect.isclass(getattr(errors, name))}
    assert classes <= set(lembas_core.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Lembass'"):
        _ = lembas_core.Lembass  # pyright: ignore[reportAttributeAccessIssue]
    assert not hasattr(lembas_core, "__wrapped__")


def test_importing_the_library_imports_nothing_heavy() -> None:
    assert not SHELF & loaded("import lembas_core")
    assert not SHELF & loaded("import lembas_core.sync")


def test_values_and_errors_need_no_database_and_no_network() -> None:
    names = "Answer, Config, EndpointError, Image, Message, Parameters, Reply, Request, events"
    heavy = SHELF - {"anyio", "ssl"}
    assert not heavy & loaded(f"from lembas_core import {names}")


def test_asking_over_plain_http_needs_no_database_no_schemas_no_secrets() -> None:
    code = """
from lembas_core.testing import serve_script, text
with serve_script([text("Hi.")]) as served:
    from lembas_core.sync import Endpoint, ask
    with Endpoint(served.url) as endpoint:
        assert ask("Hello", model=endpoint.model("script")).text == "Hi."
"""
    assert not {"sqlalchemy", "pydantic", "cryptography", "argon2", "mcp"} & loaded(code)


def test_a_kept_chat_without_secrets_needs_no_schemas_no_secrets_no_orm() -> None:
    code = """
import sys
from lembas_core.sync import Lembas
from lembas_core.testing import Script, text
with Lembas.open(":memory:") as lembas:
    lembas.chat(model=Script([text("Hi.")]), titled=False).say("Hello")
assert "sqlalchemy.orm" not in sys.modules
"""
    assert not {"pydantic", "cryptography", "argon2", "mcp", "httpx2"} & loaded(code)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_every_public_type_is_known_to_a_type_checker(tmp_path: Path) -> None:
    # pyright takes a package for installed only where the packages that it imports are installed as well.
    site = tmp_path / "site"
    site.mkdir()
    for entry in Path(pytest.__file__).parents[1].iterdir():
        (site / entry.name).symlink_to(entry)
    (site / "lembas_core").symlink_to(Path(lembas_core.__file__).parent)
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson"]
    ran = subprocess.run(
        [*command, "--ignoreexternal", "--verifytypes", "lembas_core"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(site)},
    )
    report = json.loads(ran.stdout)
    unknown = [
        f"{symbol['name']}: {diagnostic['message'].splitlines()[0]}"
        for symbol in report["typeCompleteness"]["symbols"]
        for diagnostic in symbol["diagnostics"]
        if symbol["isExported"]
    ]
    assert unknown == []
    assert report["typeCompleteness"]["completenessScore"] == 1
