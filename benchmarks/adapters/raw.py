"""The floor of what keeps httpx2: read bytes, split events, parse JSON, count."""

from contextlib import asynccontextmanager

import httpx2
import orjson

HEADERS = {"content-type": "application/json", "authorization": "Bearer x"}


@asynccontextmanager
async def make(base):
    limits = httpx2.Limits(max_connections=1000)
    async with httpx2.AsyncClient(base_url=base, timeout=60, limits=limits) as client:
        yield client


async def stream(client, model):
    characters, held = 0, b""
    body = orjson.dumps({"model": model, "stream": True, "messages": [{"role": "user", "content": "hi"}]})
    async with client.stream("POST", "/chat/completions", content=body, headers=HEADERS) as response:
        async for data in response.aiter_bytes():
            *events, held = (held + data).split(b"\n\n")
            for event in events:
                if event == b"data: [DONE]":
                    continue
                choices = orjson.loads(event[6:])["choices"]
                if choices and (text := choices[0]["delta"].get("content")):
                    characters += len(text)
    return characters
