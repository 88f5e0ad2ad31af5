"""From a conversation to a request's messages."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from lembas_core.context import Turn, system_prompt, transcript
from lembas_core.endpoints.values import Image, Message

PICTURE = Image("image/png", b"\x89PNG")

turns = st.lists(
    st.builds(
        Turn,
        st.sampled_from(["user", "assistant"]),
        st.text(max_size=5),
        st.lists(st.just(PICTURE), max_size=2).map(tuple),
    ),
    max_size=12,
)


def user(text: str) -> Turn:
    return Turn("user", text)


def reply(text: str) -> Turn:
    return Turn("assistant", text)


def test_a_conversation_is_sent_as_it_was_said() -> None:
    sent = transcript([user("a"), reply("b"), user("c")], system="Be brief.")
    assert sent == (
        Message("system", "Be brief."),
        Message("user", "a"),
        Message("assistant", "b"),
        Message("user", "c"),
    )


def test_a_blank_system_prompt_sends_no_system_message() -> None:
    assert transcript([user("a")], system=" \n") == (Message("user", "a"),)


def test_a_failed_reply_without_text_is_dropped_and_the_turns_around_it_are_joined() -> None:
    sent = transcript([user("a"), reply(""), user("b"), reply("c"), user("d")])
    assert [message.text for message in sent] == ["a\n\nb", "c", "d"]


def test_a_reply_that_failed_after_some_text_keeps_its_text() -> None:
    sent = transcript([user("a"), reply("Once upon"), user("go on")])
    assert [message.text for message in sent] == ["a", "Once upon", "go on"]


def test_pictures_reach_a_model_that_sees_and_one_of_which_nothing_is_known() -> None:
    turn = Turn("user", "What is it?", (PICTURE,))
    for vision in (True, None):
        assert transcript([turn], vision=vision) == (Message("user", "What is it?", (PICTURE,)),)


def test_a_model_that_does_not_see_is_told_that_there_was_a_picture() -> None:
    sent = transcript([Turn("user", "", (PICTURE, PICTURE))], vision=False)
    assert sent == (Message("user", "[Here were 2 pictures, which this model cannot see.]"),)


def test_the_most_specific_system_prompt_that_is_set_wins_outright() -> None:
    assert system_prompt("chat", "model", "instance") == "chat"
    assert system_prompt(None, "model", "instance") == "model"
    assert system_prompt(None, None, "instance") == "instance"
    assert system_prompt(None, None, None) == ""


def test_a_system_prompt_set_to_nothing_is_set() -> None:
    assert system_prompt("", "model", "instance") == ""


@settings(deadline=None)
@given(turns, st.sampled_from([True, False, None]))
def test_roles_alternate_and_no_turn_of_a_person_is_lost(path: list[Turn], vision: bool | None) -> None:
    sent = transcript(path, system="s", vision=vision)
    assert [message.role for message in sent[1:]] == (["user", "assistant"] * len(path))[: len(sent) - 1]
    asked = "".join(message.text for message in sent if message.role == "user")
    assert all(turn.text in asked for turn in path if turn.role == "user")
    if vision is False:
        assert not any(message.images for message in sent)
