"""The openai SDK, as its documentation shows it."""

from openai import AsyncOpenAI


def make(base):
    return AsyncOpenAI(base_url=base, api_key="x", max_retries=0)


async def stream(client, model):
    characters = 0
    chunks = await client.chat.completions.create(
        model=model, messages=[{"role": "user", "content": "hi"}], stream=True
    )
    async for chunk in chunks:
        if chunk.choices and (text := chunk.choices[0].delta.content):
            characters += len(text)
    return characters
