"""No example of the documentation is forgotten: each stands in a page and is run by a test."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "docs").glob("examples/*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_stands_in_a_page(example: Path) -> None:
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md")]
    assert any(example.name in page for page in pages), f"no page names {example.name}"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_run_by_a_test(example: Path) -> None:
    tests = (ROOT / "tests" / "core" / "face" / "test_examples.py").read_text(encoding="utf-8")
    assert f'"{example.stem}"' in tests, f"no test runs {example.name}"
