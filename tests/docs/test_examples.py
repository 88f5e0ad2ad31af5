"""The examples of the documentation run as they stand, each in an empty home, and each stands in a page."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.command import Command
from support.real_model import Served

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES = sorted(DOCS.glob("examples/**/*.py"))

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(example: Path, lembas: Command, real_model: Served) -> None:
    # Those that want a server of the reader's own ask the environment where it is.
    server = {"MODEL_URL": real_model.url, "MODEL_KEY": real_model.key, "MODEL_NAME": real_model.name}
    done = subprocess.run(
        [sys.executable, str(example)],
        env={**lembas.env(), **server},
        cwd=lembas.home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip(), "an example shows something"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_stands_in_a_page(example: Path) -> None:
    pages = [page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md")]
    assert any(example.name in page for page in pages), f"no page names {example.name}"
