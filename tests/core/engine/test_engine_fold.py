"""However a stream is cut and wherever a follower attaches, the fold is the same."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from itertools import pairwise
from typing import Any

import anyio
from hypothesis import given
from hypothesis import strategies as st
from lembas_core.engine.blocks import TextBlock, ToolBlock, blocks_from_json, blocks_to_json
from lembas_core.engine.emitter import Emitter
from lembas_core.engine.events import (
    Event,
    Finished,
    Growing,
    Metrics,
    Reasoning,
    Rethought,
    Snapshot,
    Text,
    joined,
)
from lembas_core.engine.questions import Answer, Prompt, Question
from lembas_core.engine.state import ReplyState, ReplyView, fold
from lembas_core.testing import Script, call, reasoning, text
from lembas_core.tools.decorator import tool
from lembas_core.tools.values import ToolResult
from support.replies import watch

Deed = tuple[str, tuple[Any, ...]]
"""What the emitter is told to do: a method and its arguments."""

words = st.text(alphabet=" \na<é😀#`", max_size=5)
question = Question("q", prompts=(Prompt("p", "Why?"),))


def _deed(name: str, *arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[Deed]:
    return st.tuples(st.just(name), st.tuples(*arguments))


def _deeds() -> st.SearchStrategy[Deed]:
    """Everything a reply can do, with an emphasis on text."""
    ids = st.sampled_from("ab")
    return st.one_of(
        _deed("text", words),
        _deed("text", words),
        _deed("reasoning", words, st.just(1.5)),
        _deed("rethought", st.just(2.0)),
        _deed("round_started", st.integers(1, 9)),
        _deed("tool_started", ids, st.just("look"), st.just("{}"), st.just("read")),
        _deed("tool_finished", ids, st.just(ToolResult("seen")), st.just(0.5)),
        _deed("status", st.sampled_from(["", "busy"])),
        _deed("usage", st.integers(0, 9).map(lambda count: Metrics(prompt_tokens=count))),
        _deed("asking", st.just(question)),
        _deed("answered", st.just("q"), st.just(Answer.allow())),
    )


def told(deeds: list[Deed], start: ReplyView | None = None) -> list[Event]:
    events: list[Event] = []
    tell = Emitter(events.append, start or ReplyView())
    for name, arguments in deeds:
        getattr(tell, name)(*arguments)
    return events


replies = st.lists(_deeds(), max_size=30).map(told)


def _cut(events: list[Event], places: set[int]) -> list[list[Event]]:
    edges = [0, *sorted(place for place in places if place < len(events)), len(events)]
    return [events[a:b] for a, b in pairwise(edges)]


@given(replies)
def test_joining_what_is_left_when_thinking_is_not_wanted_changes_nothing(events: list[Event]) -> None:
    wanted = [event for event in events if not isinstance(event, Reasoning)]
    assert fold(joined(wanted)) == fold(wanted)


@given(replies, st.sets(st.integers(0, 60)))
def test_joining_text_changes_nothing(events: list[Event], places: set[int]) -> None:
    seen_later = [event for run in _cut(events, places) for event in joined(run)]
    assert fold(seen_later) == fold(events)


@given(replies)
def test_joined_events_leave_no_neighbours_of_one_stretch(events: list[Event]) -> None:
    once = joined(events)
    assert joined(once) == once


@given(replies, st.integers(0, 60))
def test_a_follower_may_attach_anywhere(events: list[Event], at: int) -> None:
    before = fold(events[:at])
    follower = ReplyState()
    follower.apply(Snapshot(before.number, before))
    for event in events:
        follower.apply(event)
    assert follower.view() == fold(events)


@given(replies, st.integers(0, 60))
def test_a_fold_may_begin_at_a_stored_view(events: list[Event], at: int) -> None:
    before = fold(events[:at])
    stored = replace(before, blocks=blocks_from_json(json.loads(json.dumps(blocks_to_json(before.blocks)))))
    assert fold(events[at:], stored) == fold(events)


@given(replies, st.lists(st.integers(0, 60)))
def test_an_event_that_comes_twice_changes_nothing(events: list[Event], again: list[int]) -> None:
    state = ReplyState()
    for at, event in enumerate(events):
        state.apply(event)
        for earlier in again:
            if earlier <= at:
                state.apply(events[earlier])
    assert state.view() == fold(events)


@given(replies)
def test_all_that_was_added_is_the_text(events: list[Event]) -> None:
    added = ""
    for event in events:
        if isinstance(event, Rethought):
            added = added[: event.start]
        elif isinstance(event, Text):
            added += event.added
            assert event.text == added
            assert event.block_text == added[event.start :]
    assert fold(events).text == added


@given(replies)
def test_blocks_hold_the_text_and_nothing_but_blank_lines_between(events: list[Event]) -> None:
    view = fold(events)
    at = 0
    for block in view.blocks:
        if isinstance(block, TextBlock):
            assert block.text == view.text[block.start : block.start + len(block.text)]
            assert set(view.text[at : block.start]) <= {"\n"}
            at = block.start + len(block.text)
    assert at == len(view.text)


@given(replies)
def test_an_event_keeps_its_text_while_the_reply_goes_on(events: list[Event]) -> None:
    kept = {event.number: event.text for event in events if isinstance(event, Text | Reasoning)}
    grown: list[Event] = []
    for event in events:
        grown.append(event)
        if isinstance(event, Text | Reasoning):
            assert event.text == kept[event.number]


@given(st.lists(st.tuples(st.sampled_from("tr"), words), max_size=20))
def test_no_visible_character_of_a_round_is_lost(parts: list[tuple[str, str]]) -> None:
    view = fold(told([("text", (said,)) if of == "t" else ("reasoning", (said, 0.0)) for of, said in parts]))
    for kind, kept in (("t", view.text), ("r", view.reasoning)):
        assert _bare(kept) == _bare("".join(said for of, said in parts if of == kind))


def _bare(said: str) -> str:
    return "".join(said.split())


@given(st.lists(_deeds(), max_size=15), st.lists(_deeds(), max_size=15))
def test_a_continued_reply_tells_as_if_it_had_never_stopped(first: list[Deed], more: list[Deed]) -> None:
    before = fold(told(first))
    events = told(more, before)
    assert all(event.number > before.number for event in events)
    assert fold(events, before).text.startswith(before.text)


@given(st.text(alphabet="ab\n é😀", min_size=1, max_size=30), st.sets(st.integers(1, 30)), st.integers(1, 4))
def test_a_whole_reply_is_the_same_however_its_stream_is_cut(said: str, cuts: set[int], size: int) -> None:
    @tool
    async def look() -> str:
        """Look."""
        return "seen"

    async def run(*, cut: bool) -> ReplyView:
        first = [reasoning(said, cuts=size if cut else ()), text(said, cuts=sorted(cuts) if cut else ())]
        async with Script([*first, call("look")], [text(said, cuts=size if cut else ())]) as script:
            return (await watch(script, look)).view

    whole, cut = anyio.run(lambda: run(cut=False)), anyio.run(lambda: run(cut=True))
    assert (cut.text, cut.reasoning) == (whole.text, whole.reasoning)
    assert [b.text for b in cut.blocks if isinstance(b, TextBlock)] == [
        b.text for b in whole.blocks if isinstance(b, TextBlock)
    ]


def test_a_snapshot_of_a_stored_reply_without_numbers_is_taken() -> None:
    stored = ReplyView(text="Kept.", blocks=(TextBlock("Kept."),), outcome="done")
    state = ReplyState()
    state.apply(Snapshot(0, stored))
    assert state.view() == stored


def test_two_calls_under_one_id_are_finished_one_after_the_other() -> None:
    started: Deed = ("tool_started", ("a", "look", "{}", "read"))
    first, second = (("tool_finished", ("a", ToolResult(text), 0.1)) for text in ("one", "two"))
    view = fold(told([started, started, first, second]))
    assert [block.result for block in view.blocks if isinstance(block, ToolBlock)] == ["one", "two"]


def test_the_end_clears_what_was_pending() -> None:
    events = told([("status", ("busy",)), ("asking", (question,))])
    view = fold([*events, Finished(9, "stopped", "stop", Metrics())])
    assert (view.status, view.question, view.outcome) == ("", None, "stopped")


def test_blocks_of_a_newer_version_are_read_as_far_as_they_are_known() -> None:
    values = [{"kind": "text", "text": "a", "start": 0, "later": 1}, {"kind": "hologram"}]
    assert blocks_from_json(values) == (TextBlock("a", 0),)


def test_text_that_grows_is_not_copied_for_each_event() -> None:
    growing = Growing()
    lengths = [growing.add("x") for _ in range(10_000)]
    assert growing.upto(lengths[4_999]) == "x" * 5_000
    assert growing.upto(growing.length, 9_990) == "x" * 10


def test_a_reader_in_another_thread_loses_nothing_of_what_is_added() -> None:
    growing, done = Growing(), threading.Event()

    def read() -> None:
        while not done.is_set():
            growing.upto(growing.length)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for at in range(20_000):
        growing.add(f"{at},")
    done.set()
    for reader in readers:
        reader.join()
    assert growing.upto(growing.length) == "".join(f"{at}," for at in range(20_000))
