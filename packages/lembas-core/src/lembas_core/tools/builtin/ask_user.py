"""A tool to ask the person: several questions at once, near misses of the shape understood."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, cast

from lembas_core.tools.running import bounded
from lembas_core.tools.values import Prompt, Tool, ToolResult

__all__ = ("ask_user_tool", "prompts")

MOST_QUESTIONS: Final = 10
MOST_CHOICES: Final = 20
LONGEST_TEXT: Final = 2_000
"""Characters of a question or a choice."""

PARAMETERS: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "questions": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "question": {"type": "string"},
                    "choices": {
                        "type": "array",
                        "items": {"type": "string"},
                        "description": "Answers to choose from; leave out for free text.",
                    },
                    "multiple": {"type": "boolean", "description": "Several choices may be taken."},
                },
                "required": ["question"],
            },
        }
    },
    "required": ["questions"],
}

_QUESTION_NAMES: Final = ("question", "text", "prompt", "title", "label", "q")
_CHOICE_NAMES: Final = ("choices", "options", "answers", "values")
_MULTIPLE_NAMES: Final = ("multiple", "multi", "multiSelect", "multi_select", "allow_multiple")
_LIST_NAMES: Final = ("questions", "prompts", "items")


def ask_user_tool() -> Tool:
    """The tool. Its answers come from a person, by way of the engine; it never runs."""
    return Tool(
        name="ask_user",
        description="Ask the person one or more questions when you cannot go on without the answers.",
        parameters=PARAMETERS,
        run=_run,
        family="ask_user",
        timeout=None,
        check=_check,
        prompts=prompts,
    )


async def _run(_arguments: Mapping[str, Any]) -> ToolResult:
    return ToolResult("Nobody can be asked here.", is_error=True)


def _check(arguments: Mapping[str, Any]) -> str:
    count = len(prompts(arguments))
    if not count:
        return 'Ask at least one question: {"questions": [{"question": "…"}]}.'
    return f"Ask at most {MOST_QUESTIONS} questions at once." if count > MOST_QUESTIONS else ""


def prompts(arguments: Mapping[str, Any]) -> tuple[Prompt, ...]:
    """What is asked, whether the shape was hit or nearly hit."""
    sent = _first(arguments, _LIST_NAMES)
    found = _questions(arguments if sent is None else sent)
    return tuple(Prompt(str(at), *question) for at, question in enumerate(found, 1))


def _questions(sent: Any) -> list[tuple[str, tuple[str, ...], bool]]:
    """Text, choices and whether several may be taken, of each question in `sent`."""
    sent = _unpacked(sent)
    if isinstance(sent, list):
        return [question for item in cast("list[Any]", sent) for question in _questions(item)]
    if isinstance(sent, dict):
        return _question(cast("dict[str, Any]", sent))
    text = _text(sent)
    return [(text, (), False)] if text else []


def _question(sent: Mapping[str, Any]) -> list[tuple[str, tuple[str, ...], bool]]:
    text = _text(_first(sent, _QUESTION_NAMES))
    if not text:
        return []
    multiple = str(_first(sent, _MULTIPLE_NAMES)).lower() in ("true", "1", "yes")
    return [(text, _choices(_first(sent, _CHOICE_NAMES)), multiple)]


def _choices(sent: Any) -> tuple[str, ...]:
    sent = _unpacked(sent)
    if isinstance(sent, str):
        sent = sent.split(",")
    if isinstance(sent, dict):
        sent = list(cast("dict[str, Any]", sent).values())
    if not isinstance(sent, list):
        return ()
    found = (_text(_inside(choice)) for choice in cast("list[Any]", sent)[:MOST_CHOICES])
    return tuple(dict.fromkeys(choice for choice in found if choice))


def _inside(choice: Any) -> Any:
    """A choice that is an object carries its text under some name."""
    if isinstance(choice, dict):
        return _first(cast("dict[str, Any]", choice), (*_QUESTION_NAMES, "value", "name"))
    return choice


def _unpacked(sent: Any) -> Any:
    """What a string of JSON holds; everything else as it is."""
    if isinstance(sent, str) and sent.lstrip().startswith(("[", "{", '"')):
        try:
            return json.loads(sent)
        except (ValueError, RecursionError):
            return sent
    return sent


def _first(sent: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((sent[name] for name in names if sent.get(name) is not None), None)


def _text(sent: Any) -> str:
    if isinstance(sent, bool) or not isinstance(sent, str | int | float):
        return ""
    return bounded(str(sent).strip(), LONGEST_TEXT)
