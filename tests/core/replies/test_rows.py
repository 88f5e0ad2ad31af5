"""What a row keeps of a reply."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from lembas_core.engine.blocks import Block, ReasoningBlock, TextBlock, ToolBlock
from lembas_core.engine.questions import Answer, PendingCall, Prompt, Question
from lembas_core.engine.state import ReplyView
from lembas_core.replies.mail import answer_from_mail, answer_to_mail, question_from_json, question_to_json
from lembas_core.replies.rows import blocks_of, columns_of

pieces = st.lists(st.sampled_from(["text", "reasoning", "tool"]), max_size=8)


def view_of_pieces(kinds: list[str], said: str) -> ReplyView:
    text, blocks = "", list[Block]()
    for at, kind in enumerate(kinds):
        if kind == "text":
            text += "\n\n" if text else ""
            blocks.append(TextBlock(said, len(text)))
            text += said
        elif kind == "reasoning":
            blocks.append(ReasoningBlock("hm", 0.5))
        else:
            blocks.append(ToolBlock(f"call_{at}", "clock", "{}", "read", "noon", is_error=False, seconds=0.1))
    return ReplyView(number=len(kinds), blocks=tuple(blocks), text=text)


@settings(deadline=None)
@given(pieces, st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1))
def test_blocks_come_back_as_they_were(kinds: list[str], said: str) -> None:
    view = view_of_pieces(kinds, said)
    columns = columns_of(view)
    assert blocks_of(columns["text"], columns["blocks"]) == view.blocks


def test_what_was_said_is_kept_once() -> None:
    assert columns_of(view_of_pieces(["text"], "a long answer"))["blocks"] == []
    several = columns_of(view_of_pieces(["reasoning", "text", "tool", "text"], "a long answer"))
    assert "a long answer" not in str(several["blocks"])


def test_text_that_no_database_takes_keeps_its_blocks_whole() -> None:
    columns = columns_of(view_of_pieces(["text", "tool", "text"], "half \ud83d"))
    assert [block["text"] for block in columns["blocks"] if block["kind"] == "text"] == ["half \ud83d"] * 2


def test_a_question_survives_the_row() -> None:
    question = Question(
        "q1",
        (PendingCall("call_1", "add_note", '{"title": "Gate"}', "write"),),
        (Prompt("p1", "Which?", ("red", "blue"), multiple=True),),
    )
    assert question_from_json(question_to_json(question)) == question
    assert question_from_json(question_to_json(None)) is None


def test_an_answer_survives_the_mail() -> None:
    answer = Answer.choose({"call_1": True}, "only this one")
    assert answer_from_mail(answer_to_mail("q1", answer)) == ("q1", answer)
