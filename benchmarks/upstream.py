"""A fast, deterministic OpenAI-compatible endpoint on loopback: the floor that everything is measured over.

Every SSE frame is made once per configuration and is its own HTTP chunk, so that serving costs a slice of a
list plus, when paced, one send. A request picks its behaviour by the tail of the model's name, tokens joined
by dots (`fake.n200.d5000`):

    nN  content chunks (200)        dN  microseconds between chunks (0: as fast as the socket takes them)
    rN  reasoning chunks before     tN  tool calls      aN  argument fragments of each call (8)

    python upstream.py PORT
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from functools import lru_cache
from itertools import cycle, islice

WORDS = [
    "the",
    "of",
    "a",
    "model",
    "answers",
    "tokens",
    "stream",
    "into",
    "pieces",
    "while",
    "readers",
    "wait",
    "for",
    "bytes",
    "and",
    "lose",
    "none",
]
HEAD = {
    "id": "chatcmpl-fake0000000000000000000000",
    "object": "chat.completion.chunk",
    "created": 1_700_000_000,
    "service_tier": "default",
    "system_fingerprint": "fp_fake000000",
}
STREAM = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
DEFAULTS = {"n": 200, "d": 0, "r": 0, "t": 0, "a": 8}
BLOCK = 65536


def settings(model: str) -> dict[str, int]:
    """The configuration that a model's name asks for."""
    tokens = (re.fullmatch(r"([ndrta])(\d+)", token) for token in model.split(".")[1:])
    return DEFAULTS | {found[1]: int(found[2]) for found in tokens if found}


def frame(payload: bytes) -> bytes:
    """One SSE event as one HTTP chunk."""
    event = b"data: " + payload + b"\n\n"
    return b"%x\r\n%s\r\n" % (len(event), event)


def deltas(ask: dict[str, int], tools: bool):
    """What the chunks of one reply hold."""
    yield {"role": "assistant", "content": "", "refusal": None}
    for number in range(ask["r"]):
        yield {"reasoning_content": f" think{number}"}
    if not (tools and ask["t"]):
        for word in islice(cycle(WORDS), ask["n"]):
            yield {"content": " " + word}
        return
    for index in range(ask["t"]):
        text = json.dumps({"city": f"Osgiliath {index}", "note": "x" * max(40, ask["a"] - 40)})
        head = {"name": "get_weather", "arguments": ""}
        yield {
            "tool_calls": [{"index": index, "id": f"call_{index:04}", "type": "function", "function": head}]
        }
        step = max(1, -(-len(text) // ask["a"]))
        for at in range(0, len(text), step):
            yield {"tool_calls": [{"index": index, "function": {"arguments": text[at : at + step]}}]}


@lru_cache(maxsize=64)
def frames(model: str, tools: bool) -> list[bytes]:
    """The whole reply, frame by frame."""
    ask = settings(model)

    def chunk(delta: object, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return frame(
            json.dumps({**HEAD, "model": model, "choices": [choice]}, separators=(",", ":")).encode()
        )

    made = [chunk(delta) for delta in deltas(ask, tools)]
    usage = {"prompt_tokens": 10, "completion_tokens": ask["n"], "total_tokens": 10 + ask["n"]}
    made.append(chunk({}, "tool_calls" if tools and ask["t"] else "stop"))
    made.append(frame(json.dumps({**HEAD, "model": model, "choices": [], "usage": usage}).encode()))
    made.append(frame(b"[DONE]") + b"0\r\n\r\n")
    return made


@lru_cache(maxsize=64)
def blocks(model: str, tools: bool) -> list[bytes]:
    """The same frames in blocks of 64 KiB."""
    whole = b"".join(frames(model, tools))
    return [whole[at : at + BLOCK] for at in range(0, len(whole), BLOCK)]


class Connection(asyncio.Protocol):
    """One HTTP/1.1 connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.held = b""
        self.go_on = asyncio.Event()
        self.go_on.set()
        self.task: asyncio.Task[None] | None = None

    def connection_lost(self, error: Exception | None) -> None:
        if self.task:
            self.task.cancel()

    def pause_writing(self) -> None:
        self.go_on.clear()

    def resume_writing(self) -> None:
        self.go_on.set()

    def data_received(self, data: bytes) -> None:
        self.held += data
        head, parted, rest = self.held.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length:\s*(\d+)", head)
        size = int(length[1]) if length else 0
        if parted and len(rest) >= size:
            self.held = rest[size:]
            self.handle(head.split(b" ", 2)[1].decode(), rest[:size])

    def handle(self, path: str, body: bytes) -> None:
        if path.endswith("/chat/completions"):
            asked = json.loads(body)
            answered = asked["messages"][-1].get("role") == "tool"
            self.task = asyncio.ensure_future(
                self.stream(asked["model"], bool(asked.get("tools")) and not answered)
            )
        elif path.endswith("/models"):
            self.plain(b"200 OK", {"object": "list", "data": [{"id": "fake", "object": "model"}]})
        else:
            self.plain(b"404 Not Found", {"error": {"message": f"not found: {path}"}})

    def plain(self, status: bytes, value: object) -> None:
        body = json.dumps(value).encode()
        head = b"HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % (
            status,
            len(body),
        )
        self.transport.write(head + body)

    async def stream(self, model: str, tools: bool) -> None:
        self.transport.write(STREAM)
        delay = settings(model)["d"] / 1e6
        due = asyncio.get_running_loop().time()
        for piece in frames(model, tools) if delay else blocks(model, tools):
            await self.go_on.wait()
            self.transport.write(piece)
            due += delay
            if delay:
                await asyncio.sleep(max(0.0, due - asyncio.get_running_loop().time()))


async def serve(port: int) -> None:
    """Listen until the process ends."""
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", port, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    try:
        import uvloop

        run = uvloop.run
    except ImportError:
        run = asyncio.run
    run(serve(int(sys.argv[1]) if len(sys.argv) > 1 else 0))
