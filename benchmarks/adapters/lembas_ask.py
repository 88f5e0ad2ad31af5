"""Ours without a database: events and their fold."""

from lembas_core import Endpoint, ask


def make(base):
    return Endpoint(base, key="x", kind="openai")


async def stream(endpoint, model):
    return len((await ask("hi", model=endpoint.model(model))).text)
