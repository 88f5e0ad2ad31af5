"""What a command refuses, in plain words and before anything is sent."""

from __future__ import annotations

from pathlib import Path

import pytest
from lembas_core.testing import serve_script, text
from support.command import Command


@pytest.mark.parametrize(
    ("option", "what"), [(("--schema", "{}"), "The schema"), (("-s", "@{}"), "The system prompt")]
)
def test_a_file_that_cannot_be_read_gets_plain_words(
    lembas: Command, tmp_path: Path, option: tuple[str, str], what: str
) -> None:
    latin = tmp_path / "latin.json"
    latin.write_bytes(b'{"type": "\xe9"}')
    for path, why in (
        (tmp_path / "none.json", "cannot be read: No such file or directory."),
        (latin, "is no UTF-8 text."),
    ):
        done = lembas.run(
            "ask", "x", "--url", "http://127.0.0.1:9", "-m", "m", option[0], option[1].format(path)
        )
        assert (done.returncode, done.stdout, done.stderr) == (2, "", f"Error: {what} {path} {why}\n")


def test_an_id_that_is_too_short_is_told_so(lembas: Command) -> None:
    with serve_script([text("Hi.")]) as server:
        lembas.run("ask", "x", "--url", server.url)
    for given, hint in (("abc", True), ("nothing", False), ("abcdef", False)):
        done = lembas.run("chats", "show", given)
        assert done.returncode == 7
        assert ("at least six characters" in done.stderr) == hint


@pytest.mark.parametrize("given", [b"\xff\xfe\x00\n", b"a\0b\n"])
def test_piped_turns_that_are_no_text_are_refused(lembas: Command, given: bytes) -> None:
    with serve_script() as server:
        done = lembas.run("chat", "--url", server.url, "-m", "script", stdin=given)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: What is piped in is not")


def test_a_locked_default_model_is_told_whatever_is_named(lembas: Command) -> None:
    file = lembas.home / "lembas.toml"
    file.write_text('[settings]\ndefault_model = "here/script"\n')
    done = lembas.run("--config", str(file), "models", "default", "nowhere/nothing")
    assert (done.returncode, done.stdout) == (2, "")
    assert "is set in" in done.stderr
