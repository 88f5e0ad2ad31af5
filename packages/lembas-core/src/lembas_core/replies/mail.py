"""Questions and answers as JSON: how another process shows the one and leaves the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from lembas_core.engine.questions import Answer, PendingCall, Prompt, Question

__all__ = ("STOP", "answer_from_mail", "answer_to_mail", "question_from_json", "question_to_json")

STOP: Mapping[str, Any] = {"stop": True}


def question_to_json(question: Question | None) -> dict[str, Any] | None:
    """A question as JSON values."""
    return None if question is None else asdict(question)


def question_from_json(values: Mapping[str, Any] | None) -> Question | None:
    """A question from `question_to_json`."""
    if not values:
        return None
    calls = tuple(PendingCall(**call) for call in values["calls"])
    prompts = tuple(_prompt(**prompt) for prompt in values["prompts"])
    return Question(values["id"], calls, prompts)


def _prompt(*, choices: Iterable[str], **values: Any) -> Prompt:
    return Prompt(choices=tuple(choices), **values)


def answer_to_mail(question_id: str, answer: Answer) -> dict[str, Any]:
    """An answer as it is left for the process that asked."""
    said = {
        "kind": answer.kind,
        "decisions": dict(answer.decisions),
        "texts": dict(answer.texts),
        "reason": answer.reason,
    }
    return {"question_id": question_id, "answer": said}


def answer_from_mail(mail: Mapping[str, Any]) -> tuple[str, Answer]:
    """The question's id and the answer from `answer_to_mail`."""
    return mail["question_id"], Answer(**mail["answer"])
