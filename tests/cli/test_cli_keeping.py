"""The commands around a conversation: chats, models, connections, settings, accounts, what is where."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import jsonschema
import pytest
from lembas_core.testing import call, serve_script, text, usage
from support.command import Command


@pytest.fixture
def three(lembas: Command) -> list[str]:
    """Three chats; their ids, the newest first."""
    with serve_script([text("Soup.")], [text("Bread, *of course*.")], [text("日本語の話。")]) as server:
        for question in ("What for lunch?", "And with it?", "Something else"):
            lembas.run("ask", question, "--url", server.url)
    return [chat["id"] for chat in json.loads(lembas.run("chats", "list", "--json").stdout)]


def test_chats_are_listed_the_latest_first(lembas: Command, three: list[str]) -> None:
    lines = lembas.run("chats", "list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == [chat[-8:] for chat in three]
    assert [line.split("  ")[-1] for line in lines] == ["Something else", "And with it?", "What for lunch?"]
    assert len(lembas.run("chats", "list", "-n", "1").stdout.splitlines()) == 1
    assert lembas.run("chats", "list", "--origin", "web").stdout == ""


def test_a_chat_is_shown_as_markdown_and_as_json_of_the_schema(lembas: Command, three: list[str]) -> None:
    shown = lembas.run("chats", "show", three[1][-8:]).stdout
    assert "And with it?" in shown and "Bread, *of course*." in shown
    document = json.loads(lembas.run("chats", "show", three[1], "--json").stdout)
    jsonschema.validate(document, json.loads(lembas.run("help", "schema").stdout))
    assert document["schema"] == "lembas.chat/1"


def test_every_kind_of_reply_is_of_the_schema(lembas: Command) -> None:
    schema = json.loads(lembas.run("help", "schema").stdout)
    steps = ([call("clock")], [text("Now."), usage(1, 2, cached=0, reasoning=1)])
    with serve_script(*steps) as server:
        tools = lembas.run("ask", "x", "--json", "--tool", "clock", "-s", "Be brief.", "--url", server.url)
    with serve_script([]) as server:
        nothing = lembas.run("ask", "x", "--json", "--url", server.url)
    for done in (tools, nothing):
        jsonschema.validate(json.loads(done.stdout), schema)


def test_chats_are_found_by_what_was_said(lembas: Command, three: list[str]) -> None:
    found = lembas.run("chats", "search", "bread").stdout
    assert found.startswith(three[1][-8:])
    hits = json.loads(lembas.run("chats", "search", "日本", "--json").stdout)
    assert [hit["chat_id"] for hit in hits] == [three[0]]
    assert lembas.run("chats", "search", "nowhere").returncode == 0
    assert lembas.run("chats", "search", '"(*', "AND").returncode == 0


def test_a_chat_that_is_titled_by_the_turn_that_is_found_is_shown_once(
    lembas: Command, three: list[str]
) -> None:
    found = lembas.run("chats", "search", "lunch").stdout
    assert found == f"{three[2][-8:]}  What for lunch?\n"
    lembas.run("chats", "rename", three[2], "Food at lunch")
    found = lembas.run("chats", "search", "lunch").stdout.splitlines()
    assert sorted(found) == [
        "    What for lunch?",
        *[f"{three[2][-8:]}  Food at lunch"] * 2,
    ]


def test_chats_are_exported_one_by_one_and_all(lembas: Command, three: list[str], tmp_path: Path) -> None:
    lines = lembas.run("chats", "export", "--all", "--format", "json").stdout.splitlines()
    assert {json.loads(line)["chat"]["id"] for line in lines} == set(three)
    one = lembas.run("chats", "export", three[0][-8:], "--format", "json").stdout
    assert json.loads(one) == json.loads(lembas.run("chats", "show", three[0], "--json").stdout)
    written = lembas.run("chats", "export", "--all", "--to", str(tmp_path / "out")).stdout.splitlines()
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(Path(p).name for p in written)
    assert len(written) == 3


def test_what_was_printed_before_a_fault_is_not_lost(
    lembas: Command, three: list[str], tmp_path: Path
) -> None:
    (tmp_path / f"{three[1][-8:]}-And-with-it.md").mkdir()
    done = lembas.run("chats", "export", "--all", "--to", str(tmp_path))
    assert done.returncode == 1 and "Is a directory" in done.stderr
    assert done.stdout.splitlines() == [str(next(tmp_path.glob(f"{three[0][-8:]}*")))]


def test_a_chat_is_renamed(lembas: Command, three: list[str]) -> None:
    assert lembas.run("chats", "rename", three[2][-8:], "Lunch").returncode == 0
    assert lembas.run("chats", "list").stdout.splitlines()[-1].endswith("Lunch")


def test_deleting_without_a_terminal_needs_a_yes(lembas: Command, three: list[str]) -> None:
    refused = lembas.run("chats", "delete", three[0])
    assert (refused.returncode, len(lembas.run("chats", "list").stdout.splitlines())) == (2, 3)
    assert lembas.run("chats", "delete", three[0][-8:], three[1][-8:], "--yes").returncode == 0
    assert [c["id"] for c in json.loads(lembas.run("chats", "list", "--json").stdout)] == [three[2]]
    assert lembas.run("chats", "delete", "--older-than", "1d", "--yes").stderr == "Deleted 0 chats.\n"
    assert lembas.run("chats", "delete", "--older-than", "soon", "--yes").returncode == 2


def test_a_connection_is_added_listed_tested_and_removed(lembas: Command) -> None:
    with serve_script([text("Hello.")]) as server:
        added = lembas.run(
            "connections", "add", server.url, "--name", "here", "--key-stdin", stdin="sk-1234567890\n"
        )
        assert (added.returncode, added.stdout.splitlines()[0][:14]) == (0, "here: 1 model "), added.stderr
        assert lembas.run("connections", "test", "here").returncode == 0
        listed = lembas.run("connections", "list").stdout
        assert "sk-1234567890" not in listed
        assert lembas.run("models", "list").stdout.split()[:2] == ["*", "here/script"]
        assert lembas.run("ask", "x", "-m", "here/script").stdout == "Hello.\n"
    assert {request.headers.get("authorization") for request in server.received} == {"Bearer sk-1234567890"}
    assert lembas.run("connections", "test", "here").returncode == 3
    assert lembas.run("connections", "remove", "here").returncode == 0
    assert lembas.run("connections", "list").stdout == ""


def test_keys_come_from_the_environment_or_a_command_and_never_stay_readable(lembas: Command) -> None:
    lembas = Command(lembas.home, environment={"MY_KEY": "sk-from-environment"})
    with serve_script() as server:
        lembas.run("connections", "add", server.url, "--name", "a", "--key-env", "MY_KEY")
        lembas.run("connections", "add", server.url, "--name", "b", "--key-command", "echo sk-from-command")
    sent = {request.headers.get("authorization") for request in server.received}
    assert sent == {"Bearer sk-from-environment", "Bearer sk-from-command"}
    kept = b"".join(path.read_bytes() for path in lembas.home.rglob("*") if path.is_file())
    assert b"sk-from" not in kept
    key = next(lembas.home.rglob("secret.key"))
    assert stat.S_IMODE(key.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "more",
    [
        ("--key-env", "NOT_SET"),
        ("--key-command", "false"),
        ("--key-command", "true"),
        ("--key-stdin",),
        ("--key-stdin", "--no-key"),
    ],
)
def test_a_key_that_does_not_come_is_one_sentence(lembas: Command, more: tuple[str, ...]) -> None:
    done = lembas.run("connections", "add", "http://127.0.0.1:9", *more)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("Error: ")
    assert lembas.run("connections", "list").stdout == ""


def test_a_server_that_is_down_is_kept_and_told_as_down(lembas: Command) -> None:
    done = lembas.run("connections", "add", "http://127.0.0.1:9", "--no-key")
    assert (done.returncode, done.stdout) == (3, "")
    fault, kept = done.stderr.splitlines()
    assert fault.startswith("Error: ") and "127.0.0.1:9" in fault
    assert kept.startswith("'127.0.0.1' is kept all the same")
    [info] = json.loads(lembas.run("connections", "list", "--json").stdout)
    assert (info["name"], info["problem"] != "") == ("127.0.0.1", True)


def test_a_missing_secret_key_is_one_sentence_and_loses_nothing(lembas: Command) -> None:
    with serve_script([text("Hi.")]) as server:
        lembas.run("connections", "add", server.url, "--name", "here", "--key-stdin", stdin="sk-1\n")
        key = next(lembas.home.rglob("secret.key"))
        key.rename(key.with_suffix(".away"))
        assert "is missing: put it back" in lembas.run("secret-key").stdout
        done = lembas.run("connections", "add", server.url, "--key-stdin", stdin="sk-2\n")
        assert (done.returncode, done.stdout, key.exists()) == (1, "", False)
        done = lembas.run("ask", "x", "-m", "here/script")
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("Error: ")
        key.with_suffix(".away").rename(key)
        assert lembas.run("ask", "x", "-m", "here/script").stdout == "Hi.\n"


def test_the_default_model_is_chosen_and_printed(lembas: Command) -> None:
    with serve_script([text("Hi.")], name="b") as second, serve_script(name="a") as first:
        lembas.run("connections", "add", first.url, "--name", "one", "--no-key")
        lembas.run("connections", "add", second.url, "--name", "two", "--no-key")
        assert lembas.run("models", "default", "two/b").returncode == 0
        assert lembas.run("models", "default").stdout == "two/b\n"
        assert lembas.run("ask", "x").stdout == "Hi.\n"
        assert json.loads(lembas.run("models", "show", "two/b", "--json").stdout)["is_default"] is True


def test_a_model_is_tried_and_nothing_is_kept_of_it(lembas: Command) -> None:
    with serve_script([text("Hello!")]) as server:
        lembas.run("connections", "add", server.url, "--name", "here", "--no-key")
        done = lembas.run("models", "test", "here/script")
    assert (done.returncode, done.stdout) == (0, "Hello!\n")
    assert "Answered in" in done.stderr
    assert json.loads(lembas.run("info", "--json").stdout)["contents"]["chats"] == 0


def test_a_server_that_is_down_is_named_and_holds_nothing_up(lembas: Command) -> None:
    with serve_script() as server:
        lembas.run("connections", "add", server.url, "--name", "here", "--no-key")
    done = lembas.run("models", "list")
    assert done.returncode == 0
    assert "here/script" in done.stdout
    assert "here: " in done.stderr


def test_settings_are_listed_read_changed_and_exported(lembas: Command) -> None:
    assert lembas.run("config", "set", "titles", "off").returncode == 0
    assert lembas.run("config", "get", "titles").stdout == "off\n"
    settings = json.loads(lembas.run("config", "list", "--json").stdout)
    assert {s["key"]: s["source"] for s in settings}["titles"] == "database"
    exported = lembas.run("config", "export").stdout
    file = lembas.home / "lembas.toml"
    file.write_text(exported)
    locked = Command(lembas.home, arguments=("--config", str(file)))
    refused = locked.run("config", "set", "titles", "on")
    assert (refused.returncode, refused.stderr[:7]) == (2, "Error: ")
    assert lembas.run("config", "set", "titles", "--clear").returncode == 0
    assert lembas.run("config", "get", "titles").stdout == "on\n"
    assert lembas.run("config", "set", "titles", "perhaps").returncode == 2


def test_info_says_where_everything_is_and_why(lembas: Command, three: list[str], tmp_path: Path) -> None:
    shown = json.loads(lembas.run("info", "--json").stdout)
    assert shown["contents"] == {"chats": 3, "messages": 6, "people": 1}
    assert str(lembas.home) in shown["paths"]["data_dir"]["value"]
    elsewhere = Command(lembas.home, environment={"LEMBAS_DATA_DIR": str(tmp_path / "elsewhere")})
    told = json.loads(elsewhere.run("info", "--json").stdout)["paths"]["data_dir"]
    assert told == {"value": str(tmp_path / "elsewhere"), "why": "LEMBAS_DATA_DIR"}
    assert str(tmp_path / "elsewhere") in elsewhere.run("info").stdout


def test_a_database_urls_password_is_never_shown(lembas: Command) -> None:
    hidden = lembas.run("--db", "postgresql://me:hunter2@127.0.0.1:9/none", "info")
    assert hidden.returncode == 1
    assert "hunter2" not in hidden.stdout + hidden.stderr


def test_the_secret_key_is_told_made_and_shown_only_when_asked(lembas: Command) -> None:
    assert "no key yet" in lembas.run("secret-key").stdout
    assert lembas.run("secret-key", "--show").returncode == 1
    fresh = lembas.run("secret-key", "--new").stdout.strip()
    assert len(fresh) >= 40
    given = Command(lembas.home, environment={"LEMBAS_SECRET_KEY": fresh})
    assert fresh not in given.run("secret-key").stdout
    assert given.run("secret-key", "--show").stdout.strip() == fresh


def test_an_administrator_is_made_and_the_password_is_not_kept(lembas: Command, three: list[str]) -> None:
    done = lembas.run("create-admin", "Galadriel", "--password-stdin", stdin="mellon-mellon-mellon\n")
    assert done.returncode == 0, done.stderr
    assert "owns the chats" in done.stderr
    kept = b"".join(path.read_bytes() for path in lembas.home.rglob("*") if path.is_file())
    assert b"mellon-mellon" not in kept
    assert (
        lembas.run("create-admin", "Galadriel", "--password-stdin", stdin="another-password-1\n").returncode
        == 1
    )
    assert lembas.run("create-admin", "Celeborn").returncode == 2
    assert len(lembas.run("chats", "list").stdout.splitlines()) == 3


def test_tools_are_listed_with_their_risk(lembas: Command) -> None:
    lines = lembas.run("tools", "list").stdout.splitlines()
    assert {line.split()[0] for line in lines} == {"ask_user", "calculator", "clock"}
    assert all(line.split()[1] == "read" for line in lines)
    schemas = json.loads(lembas.run("tools", "list", "--json").stdout)
    assert all(tool["parameters"]["type"] == "object" for tool in schemas)
