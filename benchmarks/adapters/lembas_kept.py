"""Ours with a database: each reply is a chat of its own, stored as it streams."""

import tempfile
from contextlib import asynccontextmanager
from pathlib import Path

from lembas_core import Endpoint, Lembas


@asynccontextmanager
async def make(base):
    with tempfile.TemporaryDirectory() as folder:
        async with (
            Lembas.open(Path(folder) / "bench.db") as lembas,
            Endpoint(base, key="x", kind="openai") as endpoint,
        ):
            yield lembas, endpoint


async def stream(client, model):
    lembas, endpoint = client
    return len((await lembas.chat(model=endpoint.model(model)).say("hi")).text)
