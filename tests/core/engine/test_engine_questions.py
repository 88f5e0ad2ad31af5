from __future__ import annotations

import anyio
import pytest
from lembas_core.engine.limits import Limits
from lembas_core.engine.questions import Answer, Question
from lembas_core.testing import FakeClock, Script, call, raw_call, text
from lembas_core.tools.builtin import builtin_tools
from lembas_core.tools.decorator import tool
from lembas_core.tools.values import Tool
from support.replies import Watched, told, watch

ask_user = builtin_tools()["ask_user"]
ran: list[str] = []


@tool(risk="write")
async def note(title: str) -> str:
    """Save a note."""
    ran.append(title)
    return "Saved."


@tool
async def look() -> str:
    """Look."""
    return "Seen."


class Person:
    """Somebody who answers every question the same way."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.asked: list[Question] = []

    async def __call__(self, question: Question) -> Answer:
        self.asked.append(question)
        return self.answers.pop(0)


@pytest.fixture(autouse=True)
def nothing_ran_yet() -> None:
    ran.clear()


async def test_a_call_that_is_allowed_runs() -> None:
    person = Person(Answer.allow())
    async with Script([call("note", title="Gate")], [text("Noted.")]) as script:
        watched = await watch(script, note, ask=person)
    (pending,) = person.asked[0].calls
    assert (pending.name, pending.arguments, pending.risk) == ("note", '{"title": "Gate"}', "write")
    assert ran == ["Gate"]
    assert (
        watched.kinds.index("asking") < watched.kinds.index("answered") < watched.kinds.index("tool_started")
    )
    assert watched.view.question is None


async def test_a_call_that_is_denied_does_not_run_and_the_model_hears_why() -> None:
    person = Person(Answer.deny("Not on a Sunday."))
    async with Script([call("note", title="Gate")], [text("Fine.")]) as script:
        await watch(script, note, ask=person)
    assert ran == []
    assert told(script) == ["The person did not allow this call; it did not run. Not on a Sunday."]


async def test_calls_are_decided_one_by_one() -> None:
    async def ask(question: Question) -> Answer:
        return Answer.choose({question.calls[1].id: True})

    async with Script([call("note", title="a"), call("note", title="b")], [text("ok")]) as script:
        watched = await watch(script, note, ask=ask)
    assert ran == ["b"]
    assert [is_error for _, is_error in watched.results] == [True, False]


async def test_one_question_holds_everything_a_round_waits_for() -> None:
    person = Person(Answer(texts={}))
    questions = [{"question": "Which gate?", "choices": ["North", "South"]}, {"question": "When?"}]
    async with Script(
        [
            call("note", title="a"),
            call("look"),
            call("ask_user", questions=questions),
            call("note", title="b"),
        ],
        [text("ok")],
    ) as script:
        await watch(script, note, look, ask_user, ask=person)
    (question,) = person.asked
    assert [pending.arguments for pending in question.calls] == ['{"title": "a"}', '{"title": "b"}']
    assert [(prompt.text, prompt.choices) for prompt in question.prompts] == [
        ("Which gate?", ("North", "South")),
        ("When?", ()),
    ]
    assert len({prompt.id for prompt in question.prompts}) == 2


async def test_answers_come_back_with_each_question_quoted() -> None:
    async def ask(question: Question) -> Answer:
        return Answer.say({question.prompts[0].id: "North"})

    questions = [{"question": "Which gate?"}, {"question": "When,\nexactly?"}]
    async with Script([call("ask_user", questions=questions)], [text("ok")]) as script:
        watched = await watch(script, ask_user, ask=ask)
    assert told(script) == ["> Which gate?\nNorth\n\n> When,\n> exactly?\nNot answered."]
    assert watched.results[0][1] is False


async def test_a_long_answer_is_cut_like_any_result() -> None:
    async def ask(question: Question) -> Answer:
        return Answer.say({question.prompts[0].id: "x" * 1_000})

    async with Script([call("ask_user", questions=["Why?"])], [text("ok")]) as script:
        await watch(script, ask_user, ask=ask, limits=Limits(result_characters=100))
    assert len(told(script)[0]) <= 100
    assert "characters are left out" in told(script)[0]


async def test_nobody_can_be_asked() -> None:
    async with Script(
        [call("note", title="a"), call("ask_user", questions=["Why?"])], [text("ok")]
    ) as script:
        watched = await watch(script, note, ask_user)
    assert "asking" not in watched.kinds
    assert ran == []
    assert told(script) == [
        "Nobody was there to allow this call; it did not run.",
        "> Why?\nNot answered.",
    ]


async def test_time_runs_out_into_not_answered() -> None:
    clock, watched = FakeClock(), Watched()

    async def ask(_question: Question) -> Answer:
        await anyio.sleep_forever()
        return Answer.allow()

    async with Script([call("note", title="a")], [text("ok")]) as script:
        async with anyio.create_task_group() as group:

            async def run() -> None:
                done = await watch(script, note, ask=ask, clock=clock, limits=Limits(question_seconds=60))
                watched.events, watched.finished = done.events, done.finished

            group.start_soon(run)
            await clock.sleepers()
            clock.advance(59)
            await anyio.lowlevel.checkpoint()
            assert watched.finished is None
            clock.advance(1)
        assert told(script) == ["Nobody was there to allow this call; it did not run."]
    assert ran == []
    assert watched.view.question is None


async def test_what_is_shown_for_approval_is_what_runs() -> None:
    person = Person(Answer.allow())
    hidden = raw_call("note", '{"\\u0074itle":   "caf\\u00e9 \\ud800"}')
    async with Script([hidden], [text("ok")]) as script:
        await watch(script, note, ask=person)
    assert person.asked[0].calls[0].arguments == '{"title": "café \ufffd"}'
    assert ran == ["café \ufffd"]


async def test_two_values_under_one_name_are_never_asked_about_nor_run() -> None:
    person = Person()
    async with Script([raw_call("note", '{"title": "safe", "title": "rm"}')], [text("ok")]) as script:
        await watch(script, note, ask=person)
    assert (person.asked, ran) == ([], [])


async def test_nobody_is_bothered_with_arguments_that_cannot_run() -> None:
    person = Person()
    async with Script([call("note", name="Gate")], [text("ok")]) as script:
        await watch(script, note, ask=person)
    assert person.asked == []
    assert told(script)[0].startswith("`title` is required. There is no argument `name`.")


async def test_a_permit_decides_for_every_call() -> None:
    def permit(tool: Tool, call: object) -> str:
        return "deny" if tool.name == "look" else "allow"

    async with Script([call("look"), call("note", title="a")], [text("ok")]) as script:
        await watch(script, look, note, permit=permit)
    assert told(script) == [
        "This call is not allowed here; it did not run.",
        "Saved.",
    ]


@pytest.mark.parametrize(
    "arguments",
    ['"Which gate?"', '["Which gate?"]', '{"questions": "Which gate?"}', '{"question": "Which gate?"}'],
)
async def test_small_models_questions_are_understood(arguments: str) -> None:
    async def ask(question: Question) -> Answer:
        return Answer.say({prompt.id: "North" for prompt in question.prompts})

    broken = raw_call("ask_user", arguments, problem="" if arguments.startswith("{") else "Not an object.")
    async with Script([broken], [text("ok")]) as script:
        await watch(script, ask_user, ask=ask)
    assert told(script) == ["> Which gate?\nNorth"]


async def test_a_question_without_words_goes_back_to_the_model() -> None:
    async with Script([call("ask_user", questions=[])], [text("ok")]) as script:
        await watch(script, ask_user, ask=Person())
    assert told(script)[0].startswith("Ask at least one question")


async def test_a_mistake_of_whoever_asks_is_not_swallowed() -> None:
    async def ask(_question: Question) -> Answer:
        raise RuntimeError("a bug in the frontend")

    with pytest.raises(RuntimeError, match="a bug in the frontend"):
        await watch(Script([call("note", title="a")]), note, ask=ask)
