"""The examples of the documentation run, and say what they promise."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from lembas_core import Unreachable
from lembas_core.testing import Script, call, fault, serve_script, text, usage

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the person who runs the tests is touched."""
    monkeypatch.setenv("LEMBAS_DATA_DIR", str(tmp_path))


async def test_asking_once(capsys: pytest.CaptureFixture[str]) -> None:
    async with serve_script([text("Percy, Petra, Paul."), usage(12, 7)]) as served:
        await example("ask_once").main(served.url, "script")
    assert capsys.readouterr().out == "Percy, Petra, Paul.\n7\n"


async def test_asking_once_in_vain(capsys: pytest.CaptureFixture[str]) -> None:
    async with serve_script([text("Percy"), fault(Unreachable("Gone."))]) as served:
        await example("ask_once").main(served.url, "script")
    sentence, partial = capsys.readouterr().out.splitlines()
    assert sentence.endswith(".")
    assert partial == "Percy"


async def test_a_kept_chat(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = example("kept_chat")
    steps = (
        [call("add_note", title="Gate", body="nine")],
        [text("Noted.")],
        [text("At nine.")],
    )
    async with Script(*steps) as script:
        await kept.main(str(tmp_path / "chats.db"), script)
    assert kept.notes == ["Gate: nine"]
    assert capsys.readouterr().out == "At nine.\n"


async def test_watching_events(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = Script([text("Both fly.", cuts=2)])
    await example("watch_events").main(str(tmp_path / "chats.db"), script)
    assert capsys.readouterr().out == "Both fly.\ndone after 1 round(s)\n9 characters\n"


@pytest.mark.parametrize("name", ["kept_chat", "watch_events"])
def test_without_its_model_an_example_ends_in_one_sentence(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "LEMBAS_DEFAULT_MODEL": "nowhere/nothing"},
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "nothing" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_plain_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.txt"
    page.write_text("Long.", encoding="utf-8")
    script = Script([text("Short.")], [text("1. page.txt")])
    example("plain_script").main([str(page)], str(tmp_path / "chats.db"), script)
    assert capsys.readouterr().out == f"{page}\tShort.\n1. page.txt"


async def test_a_test_of_ones_own() -> None:
    await example("test_with_a_script").test_the_note_is_saved()


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_each_example_is_run_here_and_shown_in_the_documentation(path: Path) -> None:
    assert f'example("{path.stem}")' in Path(__file__).read_text(encoding="utf-8")
    pages = (page.read_text(encoding="utf-8") for page in EXAMPLES.parent.glob("**/*.md"))
    assert any(path.name in page for page in pages)
