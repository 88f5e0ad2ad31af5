"""Ours without a database, counting thoughts and the arguments of tool calls too."""

from lembas_core import Endpoint, ask, tool


@tool
def get_weather(city: str, note: str) -> str:
    """Tell the weather."""
    return "rain"


def make(base):
    return Endpoint(base, key="x", kind="openai")


async def stream(endpoint, model):
    tools = [get_weather] if ".t" in model else []
    reply = await ask("hi", model=endpoint.model(model), tools=tools)
    return len(reply.text) + len(reply.reasoning)
