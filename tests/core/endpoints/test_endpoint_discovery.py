"""Models are found with what their server tells of them; what it does not tell stays unknown."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lembas_core.endpoints import Endpoint
from lembas_core.endpoints.catalogue import listed
from lembas_core.errors import BadResponse, Unauthorised
from support.replaying import Answer, replay


def answer(value: Any, status: int = 200, **headers: str) -> Answer:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    fields = {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}
    return Answer((body,), status, fields)


NOT_FOUND = answer({"detail": "Not Found"}, 404)


def llama(value: Any) -> Answer:
    return answer(value, Server="llama.cpp")


def names(said: Any) -> list[str] | None:
    models = listed(said)
    return None if models is None else [model.name for model in models]


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ({"object": "list", "data": [{"id": "b"}, {"id": "a"}, {"id": "b"}]}, ["b", "a"]),
        ([{"id": "a"}, {"id": "b"}], ["a", "b"]),
        (["a", "b"], ["a", "b"]),
        ({"models": [{"name": "a"}]}, ["a"]),
        ({"models": ["a"]}, ["a"]),
        ({"data": {"a": None, "b": {"id": "c"}}}, ["a", "c"]),
        ({"data": [{"model_name": "a", "model_info": None}]}, ["a"]),
        ({"data": None}, []),
        ({"models": None}, []),
        ({"data": [None, 1, [0], {"id": None}, {"id": " "}, {"id": 2}, {"id": " a "}]}, ["a"]),
        (
            {
                "data": [
                    {"id": "x" * 10_000},
                    {"id": "a\nb"},
                    {"id": "a\u202eb"},
                    {"id": "\ud800"},
                    {"id": "a"},
                ]
            },
            ["a"],
        ),
        ({"status": "ok"}, None),
        ("a", None),
        (None, None),
    ],
)
def test_lists_of_every_shape_are_read(said: Any, found: list[str] | None) -> None:
    assert names(said) == found


def test_a_list_without_end_is_cut() -> None:
    found = listed([f"m{index}" for index in range(50_000)])
    assert found is not None
    assert len(found) == 10_000


@pytest.mark.parametrize(
    ("entry", "window", "tools", "vision", "reasoning"),
    [
        ({"max_model_len": 4096}, 4096, None, None, None),
        ({"context_length": 8192, "top_provider": {"context_length": 4096}}, 8192, None, None, None),
        (
            {
                "top_provider": {"context_length": 4096},
                "supported_parameters": ["tools", "reasoning"],
                "architecture": {"input_modalities": ["text", "image"]},
            },
            4096,
            True,
            True,
            True,
        ),
        (
            {"context_window": 131072, "capabilities": {"function_calling": True, "vision": False}},
            131072,
            True,
            False,
            False,
        ),
        ({"loaded_context_length": 4096, "max_context_length": 32768, "type": "vlm"}, 4096, None, True, None),
        ({"model_info": {"max_input_tokens": 200000, "supports_vision": True}}, 200000, None, True, None),
        ({"meta": {"n_ctx_train": 32768}}, None, None, None, None),
        ({"context_length": 0, "max_model_len": "big"}, None, None, None, None),
        ({"context_length": 10**12}, None, None, None, None),
    ],
)
def test_what_an_entry_tells_is_taken_and_the_rest_is_unknown(
    entry: Any, window: int | None, tools: bool | None, vision: bool | None, reasoning: bool | None
) -> None:
    found = listed({"data": [{"id": "m", **entry}]})
    assert found is not None
    info = found[0]
    assert (info.context_window, info.tools, info.vision, info.reasoning) == (
        window,
        tools,
        vision,
        reasoning,
    )


async def test_a_list_goes_out_with_the_key_and_never_follows_a_page() -> None:
    async with replay(answer({"data": [{"id": "a"}], "has_more": True})) as server:
        models = await Endpoint(server.url, kind="openai", key="k3y", headers={"X-Team": "elves"}).models()
        assert [model.name for model in models] == ["a"]
        assert [server.path(index) for index in range(len(server.requests))] == ["GET /v1/models"]
        head = server.requests[0][0].lower()
    assert b"authorization: bearer k3y" in head
    assert b"x-team: elves" in head


@pytest.mark.parametrize(
    ("list_", "reason"),
    [
        (answer(b"<html>"), "not_an_api"),
        (answer({"hello": 1}), "not_an_api"),
        (answer({"error": "boom"}), "upstream"),
        (answer(b"", 302, Location="https://other/"), "redirect"),
        (answer(b"x" * 20, 200, **{"Content-Encoding": "br"}), "protocol"),
        (NOT_FOUND, "not_found"),
    ],
)
async def test_a_list_that_is_none_is_a_fault(list_: Answer, reason: str) -> None:
    async with replay(list_) as server:
        with pytest.raises(BadResponse) as caught:
            await Endpoint(server.url, kind="openai").models()
    assert caught.value.reason == reason


PROPS = {
    "default_generation_settings": {"n_ctx": 4096},
    "chat_template_caps": {"supports_tools": False},
    "modalities": {"vision": True, "audio": False},
}


async def test_llama_cpp_tells_the_window_of_a_slot() -> None:
    entry = {"id": "m", "meta": {"n_ctx_train": 131072}, "owned_by": "llamacpp"}
    async with replay(llama({"data": [entry]}), llama(PROPS)) as server:
        info = await Endpoint(server.url, kind="openai").describe("m")
        assert server.path() == "GET /props"
    assert (info.context_window, info.tools, info.vision, info.reasoning) == (4096, False, True, None)
    assert info.details["owned_by"] == "llamacpp"


async def test_lm_studio_and_litellm_are_asked_when_the_list_tells_no_window() -> None:
    lists = [{"data": [{"id": "m"}]}, {"data": [{"id": "m", "loaded_context_length": 4096}]}]
    async with replay(*map(answer, lists)) as server:
        assert (await Endpoint(server.url, kind="openai").describe("m")).context_window == 4096
        assert server.path() == "GET /api/v0/models"
    told = {"data": [{"model_name": "m", "model_info": {"max_input_tokens": 8192}}]}
    async with replay(answer(lists[0]), NOT_FOUND, answer(told)) as server:
        assert (await Endpoint(server.url, kind="openai").describe("m")).context_window == 8192
        assert server.path() == "GET /model/info"


async def test_a_window_that_nobody_tells_is_unknown() -> None:
    async with replay(NOT_FOUND) as server:
        info = await Endpoint(server.url, kind="openai").describe("m")
    assert (info.name, info.context_window, info.tools) == ("m", None, None)


async def test_one_question_is_enough_when_the_list_tells_the_window() -> None:
    async with replay(answer({"data": [{"id": "m", "max_model_len": 4096}]})) as server:
        assert (await Endpoint(server.url, kind="openai").describe("m")).context_window == 4096
        assert len(server.requests) == 1


async def test_a_wrong_key_is_no_unknown_window() -> None:
    async with replay(answer(b"", 401)) as server:
        with pytest.raises(Unauthorised):
            await Endpoint(server.url, kind="openai").describe("m")
