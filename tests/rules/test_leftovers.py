"""The check that no test leaves a process behind sees those that tried to get away."""

from __future__ import annotations

import subprocess
import sys

import psutil
from support.leftovers import leftovers

DAEMON = """
import os, sys, signal
if os.fork():
    sys.exit()
os.setsid()
print(os.getpid(), flush=True)
os.close(1)
signal.pause()
"""


def test_a_process_that_detached_itself_is_found() -> None:
    done = subprocess.run([sys.executable, "-c", DAEMON], stdout=subprocess.PIPE, check=True)
    daemon = psutil.Process(int(done.stdout))
    try:
        assert any(line.startswith(f"{daemon.pid}: ") for line in leftovers(grace=0))
    finally:
        daemon.kill()
    assert not any(line.startswith(f"{daemon.pid}: ") for line in leftovers())
