"""`lembas ask`, as a shell sees it: two streams, an exit code, what is kept."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
from pathlib import Path

from lembas_core.errors import Unreachable
from lembas_core.testing import call, fault, pause, reasoning, serve_script, text, usage
from support.command import Command


def test_the_answer_stands_alone_on_stdout(lembas: Command) -> None:
    with serve_script([reasoning("Let me think."), text("Pelle, Pia, Pim.", cuts=3)]) as server:
        done = lembas.run("ask", "Three", "names", "--url", server.url)
    assert (done.returncode, done.stdout, done.stderr) == (0, "Pelle, Pia, Pim.\n", "")
    assert server.requests[0]["messages"] == [{"role": "user", "content": "Three names"}]


def test_markdown_is_plain_when_nobody_looks(lembas: Command) -> None:
    with serve_script([text("# Title\n\n**bold** and \x1b[31mred\x1b[0m\n")]) as server:
        done = lembas.run("ask", "x", "--url", server.url)
    assert done.stdout == "# Title\n\n**bold** and \x1b[31mred\x1b[0m\n"


def test_everything_but_the_answer_goes_to_stderr(lembas: Command) -> None:
    steps = ([call("calculator", expression="6*7")], [reasoning("So."), text("42."), usage(12, 3)])
    with serve_script(*steps) as server:
        done = lembas.run(
            "ask", "6*7?", "--url", server.url, "--tool", "calculator", "-u", "--show-reasoning"
        )
    assert done.stdout == "42.\n"
    assert '→ calculator {"expression": "6*7"}' in done.stderr
    assert "← 42" in done.stderr
    assert "So.\n" in done.stderr
    assert "12 prompt tokens" in done.stderr


def test_what_was_not_reported_is_not_shown_as_zero(lembas: Command) -> None:
    with serve_script([text("Hi.")]) as server:
        done = lembas.run("ask", "x", "--url", server.url, "-u")
    assert "0 prompt" not in done.stderr
    assert "first after" in done.stderr


def test_quiet_silences_all_but_errors(lembas: Command) -> None:
    with serve_script([call("clock")], [text("Now.")]) as server:
        done = lembas.run("-q", "ask", "x", "--url", server.url, "--tool", "clock", "-u")
        missing = lembas.run("-q", "ask", "x", "--chat", "00000000")
    assert (done.stdout, done.stderr) == ("Now.\n", "")
    assert missing.stderr.startswith("Error: ")


def test_without_stream_the_same_answer_comes_whole(lembas: Command) -> None:
    with serve_script([text("One two three.", cuts=4)]) as server:
        done = lembas.run("ask", "x", "--url", server.url, "--no-stream")
    assert done.stdout == "One two three.\n"


def test_the_answer_arrives_while_it_is_written(lembas: Command) -> None:
    go = threading.Event()
    with serve_script([text("First."), pause(go), text(" Second.")]) as server:
        running = lembas.start("ask", "x", "--no-stdin", "--url", server.url)
        assert running.stdout is not None
        assert running.stdout.read(6) == b"First."
        go.set()
        rest, _ = running.communicate(timeout=30)
    assert rest == b" Second.\n"


def test_a_reply_is_kept_and_goes_on_in_another_process(lembas: Command) -> None:
    with serve_script([text("Hello Ada.")], [text("Ada.")]) as server:
        lembas.run("ask", "I am Ada.", "--url", server.url)
        done = lembas.run("ask", "-c", "Who am I?", "--url", server.url)
    assert done.stdout == "Ada.\n"
    assert "Continuing “I am Ada.”" in done.stderr
    assert [m["content"] for m in server.requests[1]["messages"]] == ["I am Ada.", "Hello Ada.", "Who am I?"]


def test_the_end_of_an_id_names_a_chat(lembas: Command) -> None:
    with serve_script([text("A.")], [text("B.")], [text("C.")]) as server:
        first = json.loads(lembas.run("ask", "first", "--json", "--url", server.url).stdout)
        lembas.run("ask", "second", "--url", server.url)
        lembas.run("ask", "more", "--chat", first["chat"]["id"][-8:], "--url", server.url)
    assert [m["content"] for m in server.requests[2]["messages"]] == ["first", "A.", "more"]


def test_a_fork_leaves_the_chat_it_came_from_as_it_was(lembas: Command) -> None:
    with serve_script([text("A.")], [text("B.")]) as server:
        first = json.loads(lembas.run("ask", "first", "--json", "--url", server.url).stdout)
        lembas.run("ask", "more", "-c", "--fork", "--url", server.url)
    shown = json.loads(lembas.run("chats", "show", first["chat"]["id"], "--json").stdout)
    assert [m["text"] for m in shown["messages"]] == ["first", "A."]
    assert len(json.loads(lembas.run("chats", "list", "--json").stdout)) == 2


def test_a_temporary_chat_is_not_listed(lembas: Command) -> None:
    with serve_script([text("Psst.")]) as server:
        lembas.run("ask", "x", "--temporary", "--url", server.url)
    assert lembas.run("chats", "list", "--json").stdout == "[]\n"


def test_a_server_used_once_is_not_kept(lembas: Command) -> None:
    lembas = Command(lembas.home, environment={"MY_KEY": "sk-very-secret"})
    with serve_script([text("Hi.")]) as server:
        lembas.run("ask", "x", "--url", server.url, "--key-env", "MY_KEY")
    sent = [request.headers.get("authorization") for request in server.received if request.method == "POST"]
    assert sent == ["Bearer sk-very-secret"]
    assert lembas.run("connections", "list", "--json").stdout == "[]\n"
    kept = b"".join(path.read_bytes() for path in lembas.home.rglob("*") if path.is_file())
    assert b"sk-very-secret" not in kept


def test_system_prompt_parameters_and_effort_are_sent(lembas: Command) -> None:
    (lembas.home / "system.txt").write_text("Be brief.")
    with serve_script([text("Hi.")]) as server:
        lembas.run(
            "ask", "x", "--url", server.url, "-s", "@system.txt", "-o", "temperature=0.1", "-o", "top_k=3",
            "--effort", "low",
        )  # fmt: skip
    body = server.requests[0]
    assert body["messages"][0] == {"role": "system", "content": "Be brief."}
    assert (body["temperature"], body["top_k"], body["reasoning_effort"]) == (0.1, 3, "low")


def test_a_schema_goes_along_and_an_answer_that_is_no_json_is_not_success(lembas: Command) -> None:
    with serve_script([text('{"name": "Pelle"}')], [text("Pelle!")]) as server:
        good = lembas.run("ask", "x", "--schema", "name", "--url", server.url)
        bad = lembas.run("ask", "x", "--schema", "name", "--url", server.url)
    assert (good.returncode, good.stdout) == (0, '{"name": "Pelle"}\n')
    assert server.requests[0]["response_format"]["type"] == "json_schema"
    assert (bad.returncode, bad.stdout) == (1, "Pelle!\n")
    assert "not the JSON" in bad.stderr


def test_a_schema_holds_for_its_turn_and_a_system_prompt_from_then_on(lembas: Command) -> None:
    with serve_script([text("{}")], [text("A.")], [text("B.")]) as server:
        lembas.run("ask", "x", "--schema", "name", "--url", server.url)
        lembas.run("ask", "-c", "y", "-s", "Be brief.", "--url", server.url)
        lembas.run("ask", "-c", "z", "--url", server.url)
    assert ["response_format" in request for request in server.requests] == [True, False, False]
    roles = [[message["role"] for message in request["messages"]] for request in server.requests]
    assert [names[0] for names in roles] == ["user", "system", "system"]


def test_a_temporary_chat_can_be_printed_as_json(lembas: Command) -> None:
    with serve_script([text("Psst.")]) as server:
        done = lembas.run("ask", "x", "--temporary", "--json", "--url", server.url)
    assert json.loads(done.stdout)["chat"]["temporary"] is True


def test_only_the_first_fenced_block_is_extracted(lembas: Command) -> None:
    with serve_script([text("Here:\n```sh\nls -l\n```\nDone.")], [text("No code.")]) as server:
        found = lembas.run("ask", "x", "-x", "--url", server.url)
        none = lembas.run("ask", "x", "-x", "--url", server.url)
    assert found.stdout == "ls -l\n"
    assert none.stdout == "No code.\n"
    assert "no fenced block" in none.stderr


def test_the_request_is_shown_and_not_sent(lembas: Command) -> None:
    with serve_script() as server:
        shown = lembas.run(
            "ask", "What?", "-s", "Be brief.", "--tool", "clock", "-o", "seed=1", "--url", server.url,
            "--show-request",
        )  # fmt: skip
        as_json = lembas.run("ask", "What?", "--url", server.url, "--show-request", "--json")
    assert shown.returncode == 0, shown.stderr
    assert [line for line in shown.stdout.splitlines() if line.startswith("──")] == [
        line for line in shown.stdout.splitlines() if "─" in line
    ]
    for expected in (
        "── message 1: system",
        "Be brief.",
        "── message 2: user",
        "What?",
        "── tool clock",
        "seed",
    ):
        assert expected in shown.stdout
    assert json.loads(as_json.stdout)["messages"][0]["text"] == "What?"
    assert lembas.run("chats", "list", "--json").stdout == "[]\n"


def test_json_is_what_chats_show_prints(lembas: Command) -> None:
    with serve_script([text("A.")], [text("B."), usage(5, 1)]) as server:
        lembas.run("ask", "one", "--url", server.url)
        done = lembas.run("ask", "-c", "two", "--json", "--url", server.url)
    exchange = json.loads(done.stdout)
    shown = json.loads(lembas.run("chats", "show", exchange["chat"]["id"], "--json").stdout)
    assert exchange["schema"] == shown["schema"]
    assert exchange["chat"] == shown["chat"]
    assert exchange["messages"] == shown["messages"][-2:]


def test_jsonl_is_the_events_and_ends_with_one_finished(lembas: Command) -> None:
    with serve_script([call("clock")], [text("Now.", cuts=2), usage(7, 2)]) as server:
        done = lembas.run("ask", "x", "--jsonl", "--tool", "clock", "--url", server.url)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [e["kind"] for e in events].count("finished") == 1
    assert events[-1]["kind"] == "finished"
    assert [e["number"] for e in events] == sorted({e["number"] for e in events})
    assert "".join(e["added"] for e in events if e["kind"] == "text") == "Now."
    assert {"tool_started", "tool_finished", "usage"} <= {e["kind"] for e in events}
    assert events[-1]["metrics"]["prompt_tokens"] == 7


def test_jsonl_ends_with_finished_also_when_nothing_could_begin(lembas: Command) -> None:
    done = lembas.run("ask", "x", "--jsonl", "-m", "nowhere/nothing")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(e["kind"], e["outcome"]) for e in events] == [("finished", "error")]
    assert events[0]["error"]["message"] in done.stderr
    assert done.returncode == 7


def test_a_reply_that_breaks_off_is_printed_and_kept(lembas: Command) -> None:
    gone = Unreachable("gone")
    with serve_script([text("Half an ans"), fault(gone)]) as server:
        done = lembas.run("ask", "x", "--json", "--url", server.url)
        lembas.run("ask", "y", "--temporary", "--url", "http://127.0.0.1:9")
    reply = json.loads(done.stdout)["messages"][-1]
    assert (done.returncode, reply["text"], reply["status"]) == (3, "Half an ans", "error")
    assert done.stderr.startswith("Error: ")


def test_a_reader_that_goes_away_is_no_complaint(lembas: Command) -> None:
    with serve_script([text("line\n" * 20_000, cuts=100)]) as server:
        command = lembas.command("ask", "x", "--url", server.url)
        running = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=lembas.env(), cwd=lembas.home,
        )  # fmt: skip
        assert running.stdout is not None and running.stderr is not None
        assert running.stdout.readline() == b"line\n"
        running.stdout.close()
        assert running.wait(timeout=30) == 141
        assert running.stderr.read() == b""
        running.stderr.close()


def test_piped_text_joins_the_question(lembas: Command) -> None:
    with serve_script([text("A diff.")], [text("Echo.")], [text("Echo.")]) as server:
        lembas.run("ask", "Explain this.", "--url", server.url, stdin="-a\n+b\n")
        lembas.run("ask", "--url", server.url, stdin="only this\n")
        lembas.run("ask", "-", "--url", server.url, stdin="from the dash\n")
    asked = [request["messages"][0]["content"] for request in server.requests]
    assert asked == ["Explain this.\n\n<stdin>\n-a\n+b\n</stdin>", "only this", "from the dash"]


def test_a_file_on_stdin_is_read_and_no_stdin_leaves_it(lembas: Command, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("in the file")
    with serve_script([text("A.")], [text("B.")]) as server:
        for more in ((), ("--no-stdin",)):
            with file.open("rb") as notes:
                subprocess.run(
                    lembas.command("ask", "x", "--url", server.url, *more), stdin=notes, env=lembas.env(),
                    cwd=lembas.home, check=True, capture_output=True, timeout=30,
                )  # fmt: skip
    asked = [request["messages"][0]["content"] for request in server.requests]
    assert asked == ["x\n\n<stdin>\nin the file\n</stdin>", "x"]


def test_an_inherited_socket_on_stdin_is_left_alone(lembas: Command) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, serve_script([text("Done.")]) as server:
        done = subprocess.run(
            lembas.command("ask", "x", "--url", server.url), stdin=theirs.fileno(), env=lembas.env(),
            cwd=lembas.home, capture_output=True, timeout=30, check=True,
        )  # fmt: skip
    assert done.stdout == b"Done.\n"


def test_a_silent_pipe_is_named_after_a_second(lembas: Command) -> None:
    with serve_script([text("Done.")]) as server:
        running = lembas.start("ask", "x", "--url", server.url)
        assert running.stderr is not None
        assert b"--no-stdin" in running.stderr.readline()
        out, _ = running.communicate(timeout=30)
    assert out == b"Done.\n"


def test_what_is_piped_in_and_is_no_text_is_refused(lembas: Command) -> None:
    done = lembas.run("ask", "x", stdin=b"\xff\xfe\x00")
    assert (done.returncode, done.stdout) == (2, "")
    assert "not UTF-8" in done.stderr
