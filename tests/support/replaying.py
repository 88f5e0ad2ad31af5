"""Serves recorded answers of model servers on loopback, byte for byte: no HTTP library in between."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from lembas_core.endpoints.values import EndPart, Part, ReasoningPart, RecastPart, TextPart

__all__ = ("Answer", "Case", "Folded", "Replay", "chunk", "done", "fold", "load_cases", "replay", "sse")

End = Literal["close", "hang", "reset"]


@dataclass(frozen=True)
class Answer:
    """What a server sends: `chunks` are written one by one, then the connection ends."""

    chunks: tuple[bytes, ...] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "text/event-stream"})
    end: End = "close"
    raw: bool = False
    """Send the chunks alone, without a status line and headers."""


@dataclass(frozen=True)
class Case:
    """A recorded answer and what has to come of it."""

    id: str
    area: str
    request: str
    answer: Answer
    expect: Mapping[str, Any]

    @property
    def body(self) -> bytes:
        """The whole body."""
        return b"".join(self.answer.chunks)


@dataclass
class Replay:
    """A running server: what it was asked, and whether the client left."""

    port: int
    requests: list[tuple[bytes, bytes]] = field(default_factory=list[tuple[bytes, bytes]])
    connections: int = 0
    left: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    def body(self, index: int = -1) -> Any:
        """The JSON body of a request."""
        return json.loads(self.requests[index][1])

    def path(self, index: int = -1) -> str:
        """The method and path of a request."""
        return self.requests[index][0].split(b" HTTP/")[0].decode()


def load_cases(path: Path) -> list[Case]:
    """The cases of a file, one a line."""
    return [_case(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def _case(said: dict[str, Any]) -> Case:
    given = said["input"]
    chunks = tuple(
        base64.b64decode(chunk["b64"]) for chunk in given["chunks"] for _ in range(chunk.get("repeat", 1))
    )
    answer = Answer(chunks, given["status"], given["headers"], given["end"])
    return Case(said["id"], said["area"], given["request"], answer, said["expect"])


@asynccontextmanager
async def replay(*answers: Answer, tls: ssl.SSLContext | None = None) -> AsyncGenerator[Replay]:
    """Serve `answers`, one a request; the last one again and again."""
    running = Replay(0)
    left = list(answers)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        running.connections += 1
        try:
            while await _serve(reader, writer, left, running):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            running.left.set()
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, limit=1 << 22, ssl=tls)
    running.port = server.sockets[0].getsockname()[1]
    try:
        yield running
    finally:
        server.close()


async def _serve(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answers: list[Answer], running: Replay
) -> bool:
    """One request; whether the connection stays open."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(
        (int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if b"content-length" in line), 0
    )
    running.requests.append((head, await reader.readexactly(length)))
    answer = answers.pop(0) if len(answers) > 1 else answers[0]
    keeps = "Content-Length" in answer.headers or "Transfer-Encoding" in answer.headers
    if not answer.raw:
        writer.write(_head(answer, keeps))
    for piece in answer.chunks:
        writer.write(piece)
        await writer.drain()
    if answer.end == "hang":
        await reader.read(1)
        running.left.set()
    if answer.end == "reset":
        writer.transport.abort()
    return keeps and answer.end == "close"


def _head(answer: Answer, keeps: bool) -> bytes:
    fields = dict(answer.headers) if keeps else {"Connection": "close", **answer.headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {answer.status} X\r\n{lines}\r\n".encode("latin-1")


def sse(*events: Any) -> bytes:
    """Events of a stream: JSON values, or text as it is."""
    texts = (event if isinstance(event, str) else json.dumps(event) for event in events)
    return b"".join(f"data: {text}\n\n".encode() for text in texts)


def chunk(content: str | None = None, *, finish: str | None = None, **delta: Any) -> dict[str, Any]:
    """A chunk of a chat completion."""
    said = delta if content is None else {"content": content, **delta}
    return {"id": "c1", "choices": [{"index": 0, "delta": said, "finish_reason": finish}]}


def done(finish: str = "stop") -> bytes:
    """The usual end of a stream."""
    return sse(chunk(finish=finish), "[DONE]")


@dataclass
class Folded:
    """A stream put together; equal however the bytes were cut (made-up call ids are left out)."""

    text: str = ""
    reasoning: str = ""
    end: EndPart | None = None

    @property
    def summary(self) -> tuple[Any, ...]:
        """Everything that counts, comparable."""
        end = self.end
        if end is None:
            return (self.text, self.reasoning)
        calls = [(call.name, call.arguments, call.problem) for call in end.calls]
        error = (type(end.error).__name__, str(end.error)) if end.error else None
        return (self.text, self.reasoning, end.finish, calls, end.usage, error)


def fold(parts: Iterable[Part]) -> Folded:
    """What a follower of `parts` holds at the end."""
    folded = Folded()
    since = 0
    for part in parts:
        match part:
            case TextPart(text):
                folded.text += text
            case ReasoningPart(text):
                folded.reasoning += text
                since = len(folded.text)
            case RecastPart():
                folded.reasoning += folded.text[since:]
                folded.text = folded.text[:since]
            case EndPart():
                folded.end = part
            case _:
                pass
    return folded
