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
from mcp.shared.exceptions import MCPError
from mcp.types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
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
SCHEMA_2020_12: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


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
    name = _answer(context, "user_name", "name")
    return f"Hello, {name}!" if name else _question("user_name", "What is your name?", "name")


async def test_input_required_result_request_state(context: Context[Any, Any]) -> str | InputRequiredResult:
    """Asks, and gets its state back with the answer."""
    if context.request_state == "asked" and _answer(context, "confirm", "ok"):
        return "state-ok"
    return _question("confirm", "Please confirm", "ok", state="asked", kind="boolean")


async def test_input_required_result_tampered_state(context: Context[Any, Any]) -> str | InputRequiredResult:
    """The same; what comes back changed never gets here."""
    return await test_input_required_result_request_state(context)


async def test_input_required_result_multi_round(context: Context[Any, Any]) -> str | InputRequiredResult:
    """Asks twice."""
    if context.request_state is None:
        return _question("step1", "Step 1: What is your name?", "name", state="1")
    if context.request_state == "1":
        return _question("step2", "Step 2: What is your favorite color?", "color", state="2")
    return f"You like {_answer(context, 'step2', 'color')}."


def test_missing_capability(context: Context[Any, Any]) -> str:
    """Needs a client that samples."""
    declared = context.client_capabilities
    if declared is None or declared.sampling is None:
        missing: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "This tool needs sampling.", missing)
    return "sampled"


def json_schema_2020_12_tool() -> str:
    """A schema with everything that JSON Schema 2020-12 knows."""
    return "ok"


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


async def test_input_required_result_prompt(context: Context[Any, Any]) -> str | InputRequiredResult:
    """A prompt that asks first."""
    subject = _answer(context, "user_context", "context")
    return subject or _question("user_context", "What context should the prompt use?", "context")


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
    test_input_required_result_request_state,
    test_input_required_result_tampered_state,
    test_input_required_result_multi_round,
    test_missing_capability,
    json_schema_2020_12_tool,
)
PROMPTS = (
    test_simple_prompt,
    test_prompt_with_arguments,
    test_prompt_with_embedded_resource,
    test_prompt_with_image,
    test_input_required_result_prompt,
)


def server() -> Server:
    """Our server with the suite's fixtures in place of our tools."""
    tools = [Tool.from_function(function) for function in TOOLS]
    tools[-1].parameters = SCHEMA_2020_12
    made = Server(tools)
    made.resource("test://static-text", mime_type="text/plain")(static_text)
    made.resource("test://static-binary", mime_type="image/png")(static_binary)
    made.resource("test://template/{id}/data", mime_type="application/json")(template)
    for prompt in PROMPTS:
        made.prompt()(prompt)
    made.completion()(complete)
    return made


def _question(
    key: str, message: str, field: str, *, state: str = "", kind: str = "string"
) -> InputRequiredResult:
    schema: dict[str, Any] = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
    request = ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))
    return InputRequiredResult(input_requests={key: request}, request_state=state or None)


def _answer(context: Context[Any, Any], key: str, field: str) -> str:
    got = (context.input_responses or {}).get(key)
    return str(got.content.get(field) or "") if isinstance(got, ElicitResult) and got.content else ""


def _resource(uri: str, mime_type: str, text: str) -> EmbeddedResource:
    contents = TextResourceContents(uri=uri, mime_type=mime_type, text=text)
    return EmbeddedResource(type="resource", resource=contents)


if __name__ == "__main__":
    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(json.dumps(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"), flush=True)
        config = uvicorn.Config(http_app(server()), log_level="critical")
        uvicorn.Server(config).run(sockets=[listening])
