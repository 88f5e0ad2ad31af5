"""What servers tell of their models, in many shapes. No I/O."""

from __future__ import annotations

import re
from typing import Any, Final, cast

from lembas_core.endpoints.gathering import count
from lembas_core.endpoints.values import ModelInfo
from lembas_core.endpoints.wire import scrubbed

__all__ = ("from_llama_props", "from_ollama_show", "from_ollama_state", "listed", "merged")

_MOST: Final = 10_000
_LONGEST_NAME: Final = 256
# In order of trust: what is served now before what could be.
_WINDOWS: Final = (
    "max_model_len",
    "loaded_context_length",
    "context_length",
    "context_window",
    "max_context_length",
    "max_input_tokens",
    "input_token_limit",
)
_DETAILS: Final = (
    "owned_by",
    "family",
    "parameter_size",
    "quantization_level",
    "quantization",
    "state",
    "type",
)


def listed(said: Any) -> tuple[ModelInfo, ...] | None:
    """The models of a list, in its order, each name once; None when it is no list of models.

    Known are OpenAI's `{"data": [{"id": …}]}`, Ollama's `{"models": [{"name": …}]}`, both at once
    (llama.cpp), bare lists, and lists of names.
    """
    entries = _entries(said)
    if entries is None:
        return None
    found: dict[str, ModelInfo] = {}
    for entry in entries[:_MOST]:
        info = _info(entry)
        if info is not None:
            found.setdefault(info.name, info)
    return tuple(found.values())


def _entries(said: Any) -> list[Any] | None:
    if isinstance(said, list):
        return cast("list[Any]", said)
    if not isinstance(said, dict):
        return None
    known = cast("dict[str, Any]", said)
    for key in ("data", "models"):
        if isinstance(value := known.get(key), list):
            return cast("list[Any]", value)
        if isinstance(value, dict):
            return [{"id": name, **_dict(entry)} for name, entry in cast("dict[str, Any]", value).items()]
    return [] if "data" in known or "models" in known else None


def _info(entry: Any) -> ModelInfo | None:
    known = {"id": entry} if isinstance(entry, str) else _dict(entry)
    names = (known.get(key) for key in ("id", "model", "name", "model_name"))
    name = next((n.strip() for n in names if isinstance(n, str) and n.strip()), "")
    if not name or len(name) > _LONGEST_NAME or not name.isprintable() or name != scrubbed(name):
        return None
    more = _dict(known.get("details"))
    details = {key: v for key in _DETAILS if isinstance(v := known.get(key, more.get(key)), (str, int))}
    return ModelInfo(
        name=name,
        context_window=_window(known),
        details=details,
        **_info_capabilities(known),
    )


def _dict(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _words(value: Any) -> set[str] | None:
    """A list of names, or an object of flags, as the set of those that hold; None when there is neither."""
    if isinstance(value, list):
        return {word for word in cast("list[Any]", value) if isinstance(word, str)}
    if isinstance(value, dict):
        return {word for word, flag in cast("dict[str, Any]", value).items() if flag is True}
    return None


def _window(known: dict[str, Any]) -> int | None:
    places = (known, _dict(known.get("top_provider")), _dict(known.get("model_info")))
    sizes = (count(place.get(key)) for key in _WINDOWS for place in places)
    return next((size for size in sizes if size), None)


def _capability(known: dict[str, Any], *names: str) -> bool | None:
    """Whether a model can do something that goes by one of `names`; None when nothing tells."""
    places = [_words(known.get(key)) for key in ("capabilities", "supported_parameters", "features")]
    told = [words for words in places if words is not None]
    if any(words.intersection(names) for words in told):
        return True
    flags = [_dict(known.get("model_info")).get(f"supports_{name}") for name in names]
    flag = next((flag for flag in flags if isinstance(flag, bool)), None)
    return False if flag is None and told else flag


def _can_see(known: dict[str, Any]) -> bool | None:
    inputs = _words(_dict(known.get("architecture")).get("input_modalities"))
    if inputs is not None:
        return "image" in inputs
    if known.get("type") == "vlm":
        return True
    return _capability(known, "vision", "multimodal", "image")


def _info_capabilities(known: dict[str, Any]) -> dict[str, bool | None]:
    return {
        "tools": _capability(known, "tools", "tool_use", "function_calling", "function-calling"),
        "vision": _can_see(known),
        "reasoning": _capability(known, "reasoning", "thinking", "include_reasoning"),
    }


def merged(first: ModelInfo, second: ModelInfo) -> ModelInfo:
    """What either tells; `first` where both do."""
    return ModelInfo(
        name=first.name,
        context_window=second.context_window if first.context_window is None else first.context_window,
        tools=second.tools if first.tools is None else first.tools,
        vision=second.vision if first.vision is None else first.vision,
        reasoning=second.reasoning if first.reasoning is None else first.reasoning,
        details={**second.details, **first.details},
    )


def from_llama_props(name: str, said: Any) -> ModelInfo:
    """What llama.cpp's `GET /props` tells: the window of a slot, not what the model was trained for."""
    known = _dict(said)
    caps, modalities = _dict(known.get("chat_template_caps")), _dict(known.get("modalities"))
    tools, vision = caps.get("supports_tools"), modalities.get("vision")
    window = count(_dict(known.get("default_generation_settings")).get("n_ctx"))
    return ModelInfo(
        name=name,
        context_window=window or None,
        tools=tools if isinstance(tools, bool) else None,
        vision=vision if isinstance(vision, bool) else None,
    )


def from_ollama_show(name: str, said: Any) -> ModelInfo:
    """What Ollama's `POST /api/show` tells.

    The window is what the model file sets, else what the model was trained for; `details` holds
    `window_source` ("modelfile" or "trained") and `trained_window`.
    """
    known = _dict(said)
    facts = _dict(known.get("model_info"))
    trained = next((count(v) for key, v in facts.items() if key.endswith(".context_length")), None)
    told = known.get("parameters")
    match = re.search(r"^num_ctx\s+(\d{1,9})\s*$", told, re.MULTILINE) if isinstance(told, str) else None
    window, source = (int(match[1]), "modelfile") if match else (trained, "trained")
    details = {key: v for key, v in _dict(known.get("details")).items() if key in _DETAILS and v}
    return ModelInfo(
        name=name,
        context_window=window,
        details=details | ({"window_source": source, "trained_window": trained} if window else {}),
        **_info_capabilities(known),
    )


def from_ollama_state(name: str, said: Any) -> ModelInfo:
    """What Ollama's `GET /api/ps` tells: the window a model is loaded with now, if it is loaded."""
    for entry in _entries(said) or ():
        known = _dict(entry)
        window = count(known.get("context_length"))
        if window and name in (known.get("name"), known.get("model")):
            return ModelInfo(name=name, context_window=window, details={"window_source": "loaded"})
    return ModelInfo(name=name)
