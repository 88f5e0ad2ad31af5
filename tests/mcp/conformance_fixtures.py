"""What the official conformance suite calls: its tools, resources and prompts on our server and app.

Started alone, it writes its address and serves until it is killed.
"""

from __future__ import annotations

import base64
import json
import socket
from typing import Annotated, Any

import uvicorn
from lembas_mcp.http import http_app
from lembas_mcp.server import Server
from mcp.server.mcpserver import Context, Image
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts.base import Message, UserMessage
from mcp.server.mcpserver.tools import Tool
from mcp.types import (
    AudioContent,
    Completion,
    CompletionArgument,
    CompletionContext,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    EmbeddedResource,
    ImageContent,
    InputRequiredResult,
    PromptReference,
    ResourceTemplateReference,
    TextContent,
    TextResourceContents,
)
from pydantic import Field

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WAV = base64.b64encode(
    b"RIFF&\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0@\x1f\0\0\x80>\0\0\2\0\x10\0data\2\0\0\0\0\0"
).decode()
NAME: dict[str, Any] = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def test_simple_text() -> str:
    """Text."""
    return "This is a simple text response for testing."


def test_image_content() -> Image:
    """A picture."""
    return Image(data=base64.b64decode(PNG), format="png")


def test_audio_content() -> AudioContent:
    """A sound."""
    return AudioContent(type="audio", data=WAV, mime_type="audio/wav")


def test_embedded_resource() -> EmbeddedResource:
    """A resource."""
    return _resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")


def test_multiple_content_types() -> list[TextContent | ImageContent | EmbeddedResource]:
    """Several kinds at once."""
    return [
        TextContent(type="text", text="Multiple content types test:"),
        ImageContent(type="image", data=PNG, mime_type="image/png"),
        _resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ]


def test_error_handling() -> str:
    """A fault."""
    raise ToolError("This tool intentionally returns an error for testing")


async def test_tool_with_progress(context: Context[Any, Any]) -> str:
    """Progress."""
    for percent in (0, 50, 100):
        await context.report_progress(percent, 100, f"Completed step {percent} of 100")
    return "done"


def test_x_mcp_header(
    region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})] = "<none>",
) -> str:
    """A header that mirrors an argument."""
    return region


async def test_input_required_result_elicitation(context: Context[Any, Any]) -> str | InputRequiredResult:
    """Asks by returning the question."""
    got = (context.input_responses or {}).get("user_name")
    if isinstance(got, ElicitResult) and got.content:
        return f"Hello, {got.content.get('name')}!"
    question = ElicitRequestFormParams(message="What is your name?", requested_schema=NAME)
    return InputRequiredResult(input_requests={"user_name": ElicitRequest(params=question)})


def static_text() -> str:
    """Text."""
    return "This is the content of the static text resource."


def static_binary() -> bytes:
    """Bytes."""
    return base64.b64decode(PNG)


def template(id: str) -> dict[str, Any]:
    """A resource with a parameter."""
    return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


def test_simple_prompt() -> str:
    """A prompt."""
    return "This is a simple prompt for testing."


def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """A prompt with arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


def test_prompt_with_embedded_resource(resourceUri: str) -> list[Message]:
    """A prompt with a resource."""
    resource = _resource(resourceUri, "text/plain", "Embedded resource content for testing.")
    return [UserMessage(resource), UserMessage("Please process the embedded resource above.")]


def test_prompt_with_image() -> list[Message]:
    """A prompt with a picture."""
    image = ImageContent(type="image", data=PNG, mime_type="image/png")
    return [UserMessage(image), UserMessage("Please analyze the image above.")]


async def complete(
    _: PromptReference | ResourceTemplateReference, argument: CompletionArgument, __: CompletionContext | None
) -> Completion:
    """Completes the name of a city."""
    cities = [city for city in ("paris", "park", "party") if city.startswith(argument.value)]
    return Completion(values=cities, total=len(cities), has_more=False)


TOOLS = (
    test_simple_text,
    test_image_content,
    test_audio_content,
    test_embedded_resource,
    test_multiple_content_types,
    test_error_handling,
    test_tool_with_progress,
    test_x_mcp_header,
    test_input_required_result_elicitation,
)
PROMPTS = (
    test_simple_prompt,
    test_prompt_with_arguments,
    test_prompt_with_embedded_resource,
    test_prompt_with_image,
)


def server() -> Server:
    """Our server with the suite's fixtures in place of our tools."""
    made = Server([Tool.from_function(function) for function in TOOLS])
    made.resource("test://static-text", mime_type="text/plain")(static_text)
    made.resource("test://static-binary", mime_type="image/png")(static_binary)
    made.resource("test://template/{id}/data", mime_type="application/json")(template)
    for prompt in PROMPTS:
        made.prompt()(prompt)
    made.completion()(complete)
    return made


def _resource(uri: str, mime_type: str, text: str) -> EmbeddedResource:
    contents = TextResourceContents(uri=uri, mime_type=mime_type, text=text)
    return EmbeddedResource(type="resource", resource=contents)


if __name__ == "__main__":
    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(json.dumps(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"), flush=True)
        config = uvicorn.Config(http_app(server()), log_level="critical")
        uvicorn.Server(config).run(sockets=[listening])
