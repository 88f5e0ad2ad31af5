"""What the tools answer: everything as structured content, and the same as Markdown.

Some clients hand the model only the structured content, others only the text, so each holds it all. What is
unknown is left out.
"""

from __future__ import annotations

from typing import Annotated

from mcp.types import CallToolResult, TextContent
from pydantic import BaseModel, Field
from pydantic.json_schema import SkipJsonSchema

__all__ = (
    "CHARACTERS",
    "Answered",
    "Hit",
    "Hits",
    "ModelEntry",
    "Models",
    "Result",
    "Said",
    "Transcript",
    "Usage",
    "answer",
)

CHARACTERS = 24_000
"""Of text in one answer, about 8,000 tokens: clients warn at 10,000 and refuse 25,000."""

Known = SkipJsonSchema[None]
"""Beside a type: the field is left out when it is unknown, and its schema says nothing of null."""


class Result(BaseModel):
    """An answer that can also be written as Markdown."""

    def markdown(self) -> str:
        """The same, for a reader of text."""
        raise NotImplementedError


class Hit(BaseModel):
    """One thing that was found."""

    id: Annotated[str, Field(description="Pass it to read_chat.")]
    kind: str
    title: str
    url: str
    text: Annotated[str, Field(description="Where it matches; the words found are **bold**.")]
    where: Annotated[str, Field(description="title, or who said it: user or assistant.")]
    updated: Annotated[str, Field(description="ISO 8601, UTC.")]

    def markdown(self) -> str:
        """A list item."""
        where = f" · {self.where}" if self.where else ""
        text = f"\n  {_line(self.text)}" if self.text else ""
        return f"- **{_line(self.title)}** · {self.updated}{where} · `{self.id}`{text}"


class Hits(Result):
    """What was found, best or newest first."""

    results: list[Hit]
    next: Annotated[str, Field(description="Pass it as `cursor` for more.")] = ""

    def markdown(self) -> str:
        """A list, or a sentence that there is nothing."""
        if not self.results:
            return "Nothing found."
        return "\n".join([*(hit.markdown() for hit in self.results), *_more("cursor", self.next)])


class Said(BaseModel):
    """One message of a chat."""

    id: str
    role: str
    text: str
    at: Annotated[str, Field(description="ISO 8601, UTC.")]
    tools: Annotated[list[str], Field(description="Tools that ran for this reply.")]
    status: Annotated[
        str | Known,
        Field(description="Only when the reply is not whole: running, stopped, error, interrupted."),
    ] = None

    def markdown(self) -> str:
        """A heading and what was said."""
        notes = [*([self.status] if self.status else []), *self.tools]
        return f"## {self.role} · {self.at}{''.join(f' · {note}' for note in notes)}\n\n{self.text}"


class Transcript(Result):
    """A stretch of a chat, oldest message first."""

    id: str
    title: str
    model: str
    url: str
    messages: list[Said]
    previous: Annotated[str, Field(description="Pass it as `before` for what came earlier.")] = ""

    def markdown(self) -> str:
        """The transcript."""
        head = f"# {_line(self.title)}\n\nModel: {self.model} · chat `{self.id}`"
        return "\n\n".join(
            [head, *(said.markdown() for said in self.messages), *_more("before", self.previous)]
        )


class ModelEntry(BaseModel):
    """One model."""

    id: Annotated[str, Field(description="Pass it to ask as `model`.")]
    name: str
    context: Annotated[int | Known, Field(description="Window in tokens; absent when unknown.")] = None
    vision: Annotated[bool | Known, Field(description="Absent when unknown.")] = None
    tools: Annotated[bool | Known, Field(description="Absent when unknown.")] = None

    def markdown(self) -> str:
        """A list item."""
        facts = [f"{self.context} tokens" if self.context else "", "vision" if self.vision else ""]
        facts.append("tools" if self.tools else "")
        return f"- `{self.id}` {_line(self.name)}{''.join(f' · {fact}' for fact in facts if fact)}"


class Models(Result):
    """The models that can be asked."""

    models: list[ModelEntry]
    next: Annotated[str, Field(description="Pass it as `cursor` for more.")] = ""

    def markdown(self) -> str:
        """A list, or a sentence that there is none."""
        if not self.models:
            return "There is no model yet."
        return "\n".join([*(entry.markdown() for entry in self.models), *_more("cursor", self.next)])


class Usage(BaseModel):
    """Tokens of one reply, as its endpoint counted them."""

    prompt_tokens: int | Known = None
    completion_tokens: int | Known = None
    cached_tokens: int | Known = None
    reasoning_tokens: int | Known = None
    estimated: Annotated[bool, Field(description="True when a count is an estimate.")] = False


class Answered(Result):
    """What a model said."""

    text: str
    chat: Annotated[str, Field(description="Pass it to ask as `chat` to go on, or to read_chat.")]
    model: str
    finish: Annotated[str, Field(description="stop, or why the answer is not whole: length, content_filter…")]
    usage: Usage
    next: Annotated[str, Field(description="When the text is cut: read_chat with this `id`.")] = ""

    def markdown(self) -> str:
        """The answer, and how to go on."""
        rest = f" · cut; the rest with read_chat id=`{self.next}`" if self.next else ""
        return f"{self.text}\n\n({self.model} · chat `{self.chat}`{rest})"


def answer(result: Result) -> CallToolResult:
    """`result` as a tool's answer."""
    return CallToolResult(
        content=[TextContent(type="text", text=result.markdown())],
        structured_content=result.model_dump(mode="json", exclude_none=True),
    )


def _line(text: str) -> str:
    return " ".join(text.split())


def _more(argument: str, cursor: str) -> list[str]:
    return [f"More with {argument}=`{cursor}`."] if cursor else []
