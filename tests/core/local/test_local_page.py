"""The page about the local model quotes what is really said."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_every_sentence_of_the_table_is_one_of_ours() -> None:
    page = (ROOT / "docs" / "how-to" / "use-the-local-model.md").read_text(encoding="utf-8")
    folder = ROOT / "packages" / "lembas-core" / "src" / "lembas_core" / "local"
    source = "".join((folder / name).read_text(encoding="utf-8") for name in ("server.py", "weights.py"))
    quoted = [row.strip(" …") for row in re.findall(r"^\| (.+?) \|", page, re.MULTILINE)]
    sentences = [row for row in quoted if row != "what it says"]
    assert len(sentences) == 6
    assert [row for row in sentences if row not in source] == []
