"""Sort out the calls of one round: what may run, what a person decides, what is refused and why."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from lembas_core.endpoints.values import ToolCall
from lembas_core.engine.arguments import bare, decoded, quoted
from lembas_core.engine.limits import CALLS_A_ROUND, Permit
from lembas_core.engine.questions import Answer, PendingCall, Prompt, Question
from lembas_core.frozen import frozen
from lembas_core.ids import new_id
from lembas_core.tools.values import Risk, Tool, ToolResult, Toolset

__all__ = ("Job", "answered", "question_about", "sorted_out", "told_how_many")


@frozen
class Job:
    """One call, looked at.

    Attributes:
        call: The call; its arguments are the text that is shown.
        tool: What runs; None when the name was not offered.
        arguments: The values that run, made of the text that is shown.
        asks: A person must allow it.
        prompts: What a person is asked in its place.
        result: Its result, where that is known without running anything.
    """

    call: ToolCall
    tool: Tool | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    asks: bool = False
    prompts: tuple[Prompt, ...] = ()
    result: ToolResult | None = None

    @property
    def risk(self) -> Risk:
        """What the tool may do; a call of no tool does nothing."""
        return self.tool.risk if self.tool else "read"


def sorted_out(calls: Iterable[ToolCall], offered: Toolset, permit: Permit) -> list[Job]:
    """Look at each call of a round; only what was offered is known here."""
    return [_job(call, offered, permit) for call in calls]


def _job(call: ToolCall, offered: Toolset, permit: Permit) -> Job:
    tool = offered.get(call.name)
    if tool is None:
        return Job(call, result=_refusal(_not_offered(call.name, offered)))
    if tool.prompts is not None and (asked := bare(call)) is not None:
        # Nothing runs but a question: a lone question or a list of them is understood.
        call = replace(call, arguments=json.dumps({"questions": asked}), problem="")
    arguments, shown, problem = decoded(call)
    call = replace(call, arguments=shown)
    if problem := problem or tool.check(arguments):
        return Job(call, tool, result=_refusal(f"{problem} You wrote: {quoted(call.arguments)}"))
    verdict = permit(tool, call)
    if verdict == "deny":
        return Job(call, tool, result=_refusal("This call is not allowed here; it did not run."))
    if tool.prompts is not None:
        prompts = tool.prompts(arguments)
        named = tuple(replace(prompt, id=f"{call.id}.{at}") for at, prompt in enumerate(prompts, 1))
        return Job(call, tool, arguments, prompts=named)
    return Job(call, tool, arguments, asks=verdict == "ask")


def _refusal(sentence: str) -> ToolResult:
    return ToolResult(sentence, is_error=True)


def _not_offered(name: str, offered: Toolset) -> str:
    names = ", ".join(tool.name for tool in offered)
    there = f"The tools are: {names}." if names else "No tool can be called now; answer in words."
    return f"There is no tool called {quoted(name)!r}. {there}"


def question_about(jobs: Sequence[Job]) -> Question | None:
    """One question that holds everything a person must decide or answer; None when there is nothing."""
    calls = tuple(
        PendingCall(job.call.id, job.call.name, job.call.arguments, job.risk) for job in jobs if job.asks
    )
    prompts = tuple(prompt for job in jobs for prompt in job.prompts)
    return Question(new_id(), calls, prompts) if calls or prompts else None


def answered(jobs: Sequence[Job], answer: Answer) -> list[Job]:
    """The jobs after a person has answered."""
    return [_answered(job, answer) for job in jobs]


def _answered(job: Job, answer: Answer) -> Job:
    if job.prompts:
        return replace(job, result=ToolResult(_quoted_answers(job.prompts, answer)))
    if not job.asks or answer.allows(job.call.id):
        return job
    if answer.kind == "none":
        return replace(job, result=_refusal("Nobody was there to allow this call; it did not run."))
    reason = f" {answer.reason}" if answer.reason else ""
    return replace(job, result=_refusal(f"The person did not allow this call; it did not run.{reason}"))


def _quoted_answers(prompts: Iterable[Prompt], answer: Answer) -> str:
    said = "\n\n".join(
        f"{_quote(prompt.text)}\n{answer.texts.get(prompt.id) or 'Not answered.'}" for prompt in prompts
    )
    return f"{said}\n\n{answer.reason}" if answer.reason else said


def _quote(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.splitlines())


def told_how_many(calls: Sequence[ToolCall]) -> str:
    """What a model is told that made more calls than run in one round; "" when it did not."""
    if len(calls) <= CALLS_A_ROUND:
        return ""
    return f"Only the first {CALLS_A_ROUND} of your {len(calls)} calls were looked at."
