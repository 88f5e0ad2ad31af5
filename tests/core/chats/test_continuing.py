"""What is sent to continue a reply."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from lembas_core.chats.continuing import CONTINUE, continuation
from lembas_core.endpoints.values import Message, Request
from lembas_core.engine.blocks import Block, ReasoningBlock, TextBlock, ToolBlock
from lembas_core.testing.script import unanswered

TOOL = ToolBlock("c", "clock", "{}", "read", "noon", is_error=False, seconds=0.1)

blocks = st.lists(
    st.sampled_from([TextBlock("Once"), TextBlock("upon"), ReasoningBlock("hm", 1.0), TOOL]), max_size=8
)


def test_text_is_told_with_the_wish_to_go_on() -> None:
    assert continuation([ReasoningBlock("hm", 1.0), TextBlock("Once upon")], tools=False) == (
        Message("assistant", "Once upon"),
        Message("user", CONTINUE),
    )


def test_nothing_that_arrived_asks_the_same_again() -> None:
    assert continuation([], tools=True) == ()
    assert continuation([ReasoningBlock("hm", 1.0)], tools=True) == ()


def test_results_of_the_same_reply_are_told_again_and_the_model_goes_on_from_them() -> None:
    sent = continuation([TextBlock("Let me see."), TOOL], tools=True)
    assert [message.role for message in sent] == ["assistant", "tool"]
    assert (sent[0].text, sent[0].calls[0].name, sent[1].text) == ("Let me see.", "clock", "noon")


def test_without_tools_only_the_words_are_told() -> None:
    sent = continuation([TextBlock("Let me see."), TOOL, TextBlock("It is")], tools=False)
    assert sent == (Message("assistant", "Let me see.\n\nIt is"), Message("user", CONTINUE))


@settings(deadline=None)
@given(blocks, st.booleans())
def test_every_call_has_its_result_and_roles_alternate(said: list[Block], tools: bool) -> None:
    messages = (Message("user", "Hi"), *continuation(said, tools=tools))
    assert unanswered(Request("m", messages)) == ""
    roles = [message.role for message in messages if not message.calls and message.role != "tool"]
    assert roles == (["user", "assistant"] * len(roles))[: len(roles)]
    assert messages[-1].role in ("user", "tool")
    told = "".join(message.text for message in messages if message.role == "assistant")
    assert all(block.text in told for block in said if isinstance(block, TextBlock))
