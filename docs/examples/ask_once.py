"""Ask a model once: no database, no file, nothing to set up."""

from __future__ import annotations

import anyio
from lembas_core import Endpoint, EndpointError, ask


async def main(url: str = "http://localhost:11434", name: str = "qwen3:8b") -> None:
    async with Endpoint(url) as endpoint:
        try:
            reply = await ask("Three names for a pelican.", model=endpoint.model(name))
        except EndpointError as error:
            print(error)  # one sentence that a person can act on
            print(error.partial)  # what had arrived before the fault
            return
    print(reply.text)
    print(reply.metrics.completion_tokens)  # None when the endpoint did not say: unknown is not zero


if __name__ == "__main__":
    anyio.run(main)
