"""Exit codes row by row, and what stops a reply: Ctrl-C, a request to end, a time limit."""

from __future__ import annotations

import json
import signal
import socket
import sqlite3
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from lembas_core.errors import (
    EXIT_CODES,
    BadResponse,
    ContentFiltered,
    ContextExceeded,
    EndpointError,
    ModelMissing,
    RateLimited,
    Unauthorised,
)
from lembas_core.testing import fault, finish, pause, raw, serve_script, text
from support.command import Command

# What the endpoint says, and what the shell is told.
FAULTS: dict[str, tuple[EndpointError, int]] = {
    "unauthorised": (Unauthorised("The key is wrong."), 4),
    "rate limited": (RateLimited("Too many requests.", retry_after=3600), 5),
    "too long": (ContextExceeded("Too long.", window=10, asked=20), 6),
    "no such model": (ModelMissing("No such model."), 7),
    "filtered": (ContentFiltered("Withheld."), 9),
    "nonsense": (BadResponse("What?", reason="bad_request", status=400), 1),
}


@pytest.mark.parametrize("row", FAULTS)
def test_a_fault_of_the_endpoint_is_one_sentence_and_its_code(lembas: Command, row: str) -> None:
    error, code = FAULTS[row]
    with serve_script([fault(error)]) as server:
        done = lembas.run("ask", "x", "--url", server.url, "-m", "script")
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1


def test_a_dead_endpoint_is_unreachable(lembas: Command) -> None:
    with closed_port() as port:
        done = lembas.run("ask", "x", "--url", f"http://127.0.0.1:{port}", "-m", "any")
    assert (done.returncode, done.stdout) == (3, "")
    assert f"127.0.0.1:{port}" in done.stderr


def test_a_connection_that_is_down_from_the_beginning_is_unreachable(lembas: Command) -> None:
    with closed_port() as port:
        lembas.run("connections", "add", f"http://127.0.0.1:{port}", "--no-key")
        done = lembas.run("ask", "x")
    assert (done.returncode, done.stdout) == (3, "")
    assert f"127.0.0.1:{port}" in done.stderr and done.stderr.count("\n") == 1


def test_a_web_page_is_no_model_server(lembas: Command) -> None:
    page = raw(b"<!doctype html><title>Welcome</title>", content_type="text/html")
    with serve_script([page]) as server:
        done = lembas.run("ask", "x", "--url", server.url, "-m", "any")
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ")
    assert "<" not in done.stderr


@pytest.mark.parametrize("why", ["length", "content_filter"])
def test_an_answer_that_a_limit_or_a_filter_ended_is_printed_and_code_9(lembas: Command, why: str) -> None:
    with serve_script([text("Half an"), finish(why)]) as server:  # pyright: ignore[reportArgumentType]
        done = lembas.run("ask", "x", "--url", server.url)
    assert (done.returncode, done.stdout) == (9, "Half an\n")
    assert done.stderr != ""


IMPOSSIBLE: dict[str, int] = {
    "ask --nonsense": 2,
    "nonsense": 2,
    "ask": 2,
    "ask x -c --chat 12345678": 2,
    "ask x -o temperature": 2,
    "ask x --url ftp://nothing -m any": 2,
    "ask x -c": 7,
    "ask x --chat 12345678": 7,
    "ask x -m no-such-model": 7,
    "ask x --tool no_such_tool": 7,
    "chats show 12345678": 7,
    "connections remove nothing": 7,
    "config get no_such_setting": 7,
}


@pytest.mark.parametrize("line", IMPOSSIBLE)
def test_what_cannot_be_done_is_said_in_one_sentence(lembas: Command, line: str) -> None:
    done = lembas.run(*line.split())
    assert (done.returncode, done.stdout) == (IMPOSSIBLE[line], "")
    assert done.stderr.splitlines()[-1].startswith("Error: ")
    assert "Traceback" not in done.stderr


def test_every_code_of_the_table_is_explained(lembas: Command) -> None:
    lines = lembas.run("help", "exit-codes").stdout.splitlines()
    explained = {int(line.split()[0]): line for line in lines}
    for error, code in EXIT_CODES.items():
        assert error.__name__ in explained[code]
    assert set(explained) == {0, 8, 130, 141, *EXIT_CODES.values()}


def test_a_folder_in_place_of_the_database_is_one_sentence(lembas: Command) -> None:
    done = lembas.run("--db", str(lembas.home), "chats", "list")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: ")
    assert "Traceback" not in done.stderr


def test_a_file_that_is_no_database_is_one_sentence(lembas: Command, tmp_path: Path) -> None:
    file = tmp_path / "notes.db"
    file.write_text("not a database at all, but long enough to be looked at " * 100)
    done = lembas.run("--db", str(file), "chats", "list")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: ")


def test_a_locked_database_is_one_sentence(lembas: Command, tmp_path: Path) -> None:
    file = tmp_path / "chats.db"
    with serve_script([text("A.")]) as server:
        lembas.run("--db", str(file), "ask", "x", "--url", server.url)
    with serve_script() as server:
        other = sqlite3.connect(file, isolation_level=None)
        try:
            other.execute("BEGIN EXCLUSIVE")
            done = lembas.run("--db", str(file), "ask", "y", "--url", server.url, "-m", "script")
        finally:
            other.close()
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: ")


def test_ctrl_c_prints_and_keeps_what_had_arrived(lembas: Command) -> None:
    go = threading.Event()
    with serve_script([text("The first half."), pause(go), text("The second.")]) as server:
        running = lembas.start("ask", "x", "--no-stdin", "--url", server.url)
        assert running.stdout is not None
        assert running.stdout.read(15) == b"The first half."
        running.send_signal(signal.SIGINT)
        rest, told = running.communicate(timeout=30)
        go.set()
    assert (running.returncode, rest) == (130, b"\n")
    assert told == b"Stopped. What had arrived is kept.\n"
    assert last_reply(lembas) == ("stopped", "The first half.")


def test_ctrl_c_before_the_first_word_is_130_too(lembas: Command) -> None:
    go, reached = threading.Event(), threading.Event()
    with serve_script([pause(go, reached=reached), text("Late.")]) as server:
        running = lembas.start("ask", "x", "--no-stdin", "--url", server.url)
        assert reached.wait(30)
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate(timeout=30)
        go.set()
    assert (running.returncode, out) == (130, b"")
    assert last_reply(lembas) == ("stopped", "")


def test_with_jsonl_ctrl_c_still_ends_with_finished(lembas: Command) -> None:
    go = threading.Event()
    with serve_script([text("Half."), pause(go)]) as server:
        running = lembas.start("ask", "x", "--no-stdin", "--jsonl", "--url", server.url)
        assert running.stdout is not None
        while json.loads(running.stdout.readline())["kind"] != "text":
            pass
        running.send_signal(signal.SIGINT)
        rest, _ = running.communicate(timeout=30)
        go.set()
    events = [json.loads(line) for line in rest.splitlines()]
    assert (events[-1]["kind"], events[-1]["outcome"]) == ("finished", "stopped")
    assert running.returncode == 130


def test_a_request_to_end_keeps_what_had_arrived(lembas: Command) -> None:
    go = threading.Event()
    with serve_script([text("Half."), pause(go)]) as server:
        running = lembas.start("ask", "x", "--no-stdin", "--url", server.url)
        assert running.stdout is not None
        assert running.stdout.read(5) == b"Half."
        running.terminate()
        running.communicate(timeout=30)
        go.set()
    assert running.returncode == 143
    assert last_reply(lembas) == ("stopped", "Half.")


def test_a_time_limit_keeps_what_had_arrived_and_is_no_success(lembas: Command) -> None:
    go = threading.Event()
    with serve_script([text("Half."), pause(go)]) as server:
        done = lembas.run("ask", "x", "--url", server.url, "--timeout", "0.5")
        go.set()
    assert (done.returncode, done.stdout) == (3, "Half.\n")
    assert done.stderr.startswith("Error: The time was up")
    assert last_reply(lembas) == ("stopped", "Half.")


def last_reply(lembas: Command) -> tuple[str, str]:
    """The state and the text of the newest reply."""
    chat = json.loads(lembas.run("chats", "list", "--json").stdout)[0]
    reply = json.loads(lembas.run("chats", "show", chat["id"], "--json").stdout)["messages"][-1]
    return reply["status"], reply["text"]


@contextmanager
def closed_port() -> Generator[int]:
    """A port that nobody listens on, and nobody else can take."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def test_ctrl_c_while_piped_text_is_awaited_is_130(lembas: Command) -> None:
    running = lembas.start("ask", "x")
    assert running.stderr is not None
    assert b"--no-stdin" in running.stderr.readline()
    running.send_signal(signal.SIGINT)
    out, told = running.communicate(timeout=30)
    assert (running.returncode, out, told.strip()) == (130, b"", b"")


def test_a_full_disk_behind_stdout_is_one_sentence(lembas: Command) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            lembas.command("tools", "list"), stdout=full, stderr=subprocess.PIPE, env=lembas.env(),
            cwd=lembas.home, check=False, timeout=30,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, b"Error: No space left on device.\n")
