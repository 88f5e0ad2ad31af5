"""The child that serves one GGUF file with llama.cpp's own OpenAI-compatible server, on loopback only.

    python -m lembas_core.local.serve

One line of JSON on standard input says what to serve (`Order`); one line `READY {"url": …}` on standard
output says where. The child lives while its input stays open, so it cannot outlive whoever started it.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import threading
from dataclasses import asdict
from importlib import import_module
from typing import Any, Final

from lembas_core.frozen import frozen

__all__ = ("Order", "main", "parameters", "serve")

SLEEP_AFTER: Final = 600
"""Seconds without a question after which the weights leave memory; the next question loads them again."""


@frozen(kw_only=True)
class Order:
    """What to serve: the file, the name models are listed by, tokens of context for each slot, the key."""

    gguf: str
    name: str
    context: int
    key: str
    slots: int = 1

    def line(self) -> bytes:
        """The order as the child reads it; never in argv, where everybody sees the key."""
        return json.dumps(asdict(self)).encode() + b"\n"


def parameters(order: Order) -> Any:
    """llama.cpp's parameters for `order`."""
    chosen = import_module("xllamacpp").CommonParams()
    chosen.model.path = order.gguf
    chosen.model_alias = {order.name}
    chosen.hostnames = ["127.0.0.1"]
    chosen.port = 0
    chosen.api_keys = [order.key]
    chosen.n_parallel = order.slots
    chosen.n_ctx = order.context * order.slots  # llama.cpp divides it among the slots
    threads = _threads()
    chosen.cpuparams.n_threads = threads
    chosen.cpuparams_batch.n_threads = threads
    # A client that leaves is noticed between batches and when something is written to it.
    chosen.n_batch = chosen.n_ubatch = 256
    chosen.sse_ping_interval = 1
    chosen.sleep_idle_seconds = SLEEP_AFTER
    chosen.cache_ram_mib = 512  # the default is 8 GiB
    chosen.endpoint_slots = True
    chosen.ui = False
    chosen.use_jinja = True
    chosen.verbosity = 1  # errors only: they are what the parent's sentence is made from
    return chosen


def serve(chosen: Any) -> None:
    """Load the model, say READY and stay until the parent is gone. Never returns normally."""
    _die_with_parent()
    ready = os.dup(1)
    os.dup2(2, 1)  # nobody reads on after READY: a chatty library must not fill the pipe
    server = import_module("xllamacpp").Server(chosen)
    with os.fdopen(ready, "w", encoding="utf-8") as out:
        out.write("READY " + json.dumps({"url": server.listening_address.rstrip("/")}) + "\n")
    threading.Event().wait()


def main() -> None:
    """Take the order from standard input and serve it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent; it decides what ends
    order = Order(**json.loads(sys.stdin.buffer.readline()))
    serve(parameters(order))


def _threads() -> int:
    # One core stays free: llama.cpp's threads spin, and an over-committed core is ten times slower.
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return max(1, cores - 1)


def _die_with_parent() -> None:
    threading.Thread(target=_leave_at_end_of_input, daemon=True).start()
    if sys.platform == "linux":
        # The parent's pipe may live on in a process it forked; the kernel knows better.
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _leave_at_end_of_input() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


if __name__ == "__main__":
    main()
