"""Finding, changing and deleting chats and versions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lembas_core.chats import ChatSetup, Page, sweep_temporary_chats
from lembas_core.endpoints.values import Parameters
from lembas_core.errors import Conflict, Invalid, NotFound
from lembas_core.store.tables import chats, messages
from lembas_core.testing import FakeClock, Script, pause, text
from sqlalchemy import func, select
from support.talking import House, Somebody, open_house, talk


async def make(house: House, *titles: str, **setup: object) -> list[str]:
    """Chats with these titles, a second apart; their ids."""
    ids = list[str]()
    for title in titles:
        house.clock.advance(1)
        house.add(Script([text("ok")], name="once"), "once")
        sent, _ = await house.said("Hi", setup=ChatSetup(title=title, model="once", **setup))  # type: ignore[arg-type]
        ids.append(sent.chat_id)
    return ids


def titles(page: Page[object]) -> list[str]:
    return [getattr(item, "title", "") for item in page.items]


async def test_chats_are_listed_by_their_last_activity() -> None:
    async with open_house() as house:
        a, _, _ = await make(house, "a", "b", "c")
        house.add(Script([text("ok")], name="again"), "again")
        await house.chats.update(a, model="again")
        assert titles(await house.chats.list()) == ["c", "b", "a"]
        house.clock.advance(1)
        await house.said("More", chat_id=a)
        assert titles(await house.chats.list()) == ["a", "c", "b"]


@given(st.lists(st.integers(0, 2), max_size=9), st.integers(1, 4))
@settings(max_examples=20, deadline=None)
async def test_pages_hold_every_chat_once(pauses: list[int], limit: int) -> None:
    async with open_house() as house:
        for at, seconds in enumerate(pauses):
            house.clock.advance(seconds - 1)
            await make(house, str(at))
        whole = titles(await house.chats.list(limit=100))
        seen, cursor = list[str](), None
        while True:
            page = await house.chats.list(limit=limit, cursor=cursor)
            seen += titles(page)
            if (cursor := page.cursor) is None:
                break
        assert seen == whole and len(whole) == len(pauses)


async def test_a_page_stays_where_it_was_when_a_chat_is_renamed_or_named() -> None:
    async with open_house() as house:
        ids = await make(house, "a", "b", "c")
        page = await house.chats.list(limit=1)
        house.clock.advance(60)
        await house.chats.rename(ids[0], "  renamed \n a ")
        assert titles(await house.chats.list(cursor=page.cursor)) == ["b", "renamed a"]


@pytest.mark.parametrize("cursor", ["", "nonsense", "2026-01-01T00:00:00_x", "_"])
async def test_a_cursor_that_is_none_is_told(cursor: str) -> None:
    async with open_house() as house:
        with pytest.raises(Invalid):
            await house.chats.list(cursor=cursor)


async def test_archived_chats_have_their_own_list_and_frontends_can_be_told_apart() -> None:
    async with open_house() as house:
        a, _ = await make(house, "a", "b")
        (c,) = await make(house, "c", origin="cli")
        await house.chats.update(a, archived=True)
        assert titles(await house.chats.list()) == ["c", "b"]
        assert titles(await house.chats.list(archived=True)) == ["a"]
        assert [chat.id for chat in (await house.chats.list(origin="cli", limit=1)).items] == [c]


async def test_a_chat_is_found_by_the_beginning_or_the_end_of_its_id() -> None:
    async with open_house() as house:
        (a,) = await make(house, "a")
        for part in (a, a[:8], a[-8:], f" {a[-6:].upper()} "):
            assert (await house.chats.get(part)).id == a
        for part in (a[:5], a[9:20], "%%%%%%", "", "ffffffff"):
            with pytest.raises(NotFound):
                await house.chats.get(part)


async def test_the_beginning_of_several_ids_is_no_answer() -> None:
    async with open_house() as house:
        a, _ = await make(house, "a", "b")
        with pytest.raises(Invalid, match="Several"):
            await house.chats.get(a[:6])


async def test_a_long_conversation_is_read_from_its_end() -> None:
    async with talk(*[[text(f"r{at}")] for at in range(4)]) as house:
        sent, _ = await house.said("t0")
        for at in range(1, 4):
            await house.said(f"t{at}", chat_id=sent.chat_id)
        last = await house.chats.messages(sent.chat_id, limit=3)
        assert [message.text for message in last] == ["r2", "t3", "r3"]
        before = await house.chats.messages(sent.chat_id, limit=3, before=last[0].id)
        assert [message.text for message in before] == ["t1", "r1", "t2"]
        rest = await house.chats.messages(sent.chat_id, limit=9, before=before[0].id)
        assert [message.text for message in rest] == ["t0", "r0"]
        assert await house.chats.messages(sent.chat_id, before=rest[0].id) == []
        with pytest.raises(NotFound):
            await house.chats.messages(sent.chat_id, before="nothing")


async def with_versions(house: House) -> tuple[str, list[str]]:
    """A chat whose first turn has two versions, the first of which has two replies; the replies' ids."""
    first, _ = await house.said("one")
    second = await house.chats.regenerate(first.reply_id)
    await house.wait(second)
    await house.said("further", chat_id=first.chat_id)
    third, _ = await house.said("two", instead_of=first.message_id)
    return first.chat_id, [first.reply_id, second.reply_id, third.reply_id]


VERSIONS = [[text("a")], [text("b")], [text("c")], [text("d")]]


async def test_a_version_is_shown_with_what_came_after_it() -> None:
    async with talk(*VERSIONS) as house:
        chat_id, (first, second, third) = await with_versions(house)
        assert await house.texts(chat_id) == ["two", "d"]
        await house.chats.switch(second)
        assert await house.texts(chat_id) == ["one", "b", "further", "c"]
        await house.chats.switch(first)
        assert await house.texts(chat_id) == ["one", "a"]
        await house.chats.switch(third)
        assert await house.texts(chat_id) == ["two", "d"]


async def test_deleting_the_version_that_is_shown_shows_the_last_other_one() -> None:
    async with talk(*VERSIONS) as house:
        chat_id, (first, second, _) = await with_versions(house)
        await house.chats.delete_version((await house.chats.messages(chat_id))[0].id)
        assert await house.texts(chat_id) == ["one", "b", "further", "c"]
        await house.chats.delete_version(second)
        assert await house.texts(chat_id) == ["one", "a"]
        with pytest.raises(Invalid, match="only version"):
            await house.chats.delete_version(first)
        with pytest.raises(NotFound):
            await house.chats.message(second)


async def test_deleting_a_version_that_is_not_shown_leaves_the_conversation() -> None:
    async with talk(*VERSIONS) as house:
        chat_id, (_, second, third) = await with_versions(house)
        await house.chats.switch(third)
        await house.chats.delete_version(second)
        assert await house.texts(chat_id) == ["two", "d"]


async def test_a_version_in_which_a_reply_is_being_written_is_not_deleted() -> None:
    async with talk([text("a")], [pause(anyio.Event())]) as house:
        sent, _ = await house.said("one")
        again = await house.chats.regenerate(sent.reply_id)
        with pytest.raises(Conflict):
            await house.chats.delete_version(again.reply_id)
        with pytest.raises(Conflict):
            await house.chats.fork(again.reply_id)


async def test_a_fork_copies_the_path_up_to_a_message_and_runs_on_by_itself() -> None:
    async with talk(*VERSIONS, [text("e")]) as house:
        chat_id, (_, second, _) = await with_versions(house)
        fork = await house.chats.fork(second)
        assert await house.texts(fork.id) == ["one", "b"]
        copies = await house.chats.messages(fork.id)
        assert [copy.versions for copy in copies] == [1, 1]
        await house.said("elsewhere", chat_id=fork.id)
        assert await house.texts(fork.id) == ["one", "b", "elsewhere", "e"]
        assert await house.texts(chat_id) == ["two", "d"]


async def test_a_fork_of_a_persons_turn_can_be_answered() -> None:
    async with talk([text("a")], [text("b")]) as house:
        sent, _ = await house.said("one")
        fork = await house.chats.fork(sent.message_id)
        await house.said("two", chat_id=fork.id)
        assert [message.text for message in house.script.requests[1].messages] == ["one\n\ntwo"]


async def test_a_chat_can_be_changed_and_what_is_not_named_stays() -> None:
    async with open_house() as house:
        (a,) = await make(house, "a", system="Be brief.", effort="low")
        await house.chats.update(a, pinned=True, parameters=Parameters(seed=1))
        chat = await house.chats.get(a)
        assert (chat.pinned, chat.parameters, chat.system) == (True, Parameters(seed=1), "Be brief.")
        await house.chats.update(a, system=None, effort=None)
        chat = await house.chats.get(a)
        assert (chat.pinned, chat.system, chat.effort) == (True, None, None)
        with pytest.raises(NotFound):
            await house.chats.update(a, model="nope")


async def test_a_title_needs_a_letter() -> None:
    async with open_house() as house:
        (a,) = await make(house, "a")
        with pytest.raises(Invalid):
            await house.chats.rename(a, " \n")
        assert (await house.chats.get(a)).title == "a"


async def test_deleted_chats_are_not_found_and_not_gone() -> None:
    async with open_house() as house:
        a, b, c = await make(house, "a", "b", "c")
        with pytest.raises(NotFound):
            await house.chats.delete([a, "nothing"])
        await house.chats.delete([a, b])
        assert titles(await house.chats.list()) == ["c"]
        with pytest.raises(NotFound):
            await house.chats.get(a)
        assert await rows(house) == (3, 6)
        await house.chats.delete(c)
        assert titles(await house.chats.list()) == []


async def rows(house: House) -> tuple[int, int]:
    """How many chats and messages the database holds."""
    count = await house.store.read(
        lambda c: (
            c.scalar(select(func.count()).select_from(chats)),
            c.scalar(select(func.count()).select_from(messages)),
        )
    )
    return count[0] or 0, count[1] or 0


async def test_deleting_a_chat_stops_its_reply() -> None:
    async with talk([text("Once"), pause(anyio.Event())]) as house:
        sent = await house.chats.send("Hi")
        await house.settle()
        await house.chats.delete(sent.chat_id)
        assert house.script.streaming == 0


async def test_deleting_a_chat_stops_a_reply_in_a_version_that_is_not_shown() -> None:
    async with talk([text("Hello")], [text("Howdy"), pause(anyio.Event())]) as house:
        sent, _ = await house.said("Hi")
        again = await house.chats.regenerate(sent.reply_id)
        await house.settle()
        await house.chats.switch(sent.reply_id)
        await house.chats.delete(sent.chat_id)
        assert (await house.wait(again)).view.outcome == "stopped"


async def test_temporary_chats_are_never_listed_and_leave_nothing() -> None:
    async with open_house() as house:
        a, b = await make(house, "a", "b", temporary=True)
        assert titles(await house.chats.list()) == []
        assert (await house.chats.get(a)).temporary
        await house.chats.delete(a)
        assert await rows(house) == (1, 2)
        await house.chats.update(b, temporary=False)
        assert titles(await house.chats.list()) == ["b"]


async def test_temporary_chats_go_a_day_after_their_last_activity() -> None:
    async with open_house() as house:
        await make(house, "old", temporary=True)
        await make(house, "kept")
        house.clock.advance(24 * 3600 - 60)
        (young,) = await make(house, "young", temporary=True)
        house.clock.advance(120)
        assert await sweep_temporary_chats(house.store, house.clock) == 1
        assert await rows(house) == (2, 4)
        assert (await house.chats.get(young)).title == "young"


async def test_nobody_sees_or_changes_somebody_elses_chats() -> None:
    async with open_house() as house:
        (a,) = await make(house, "a")
        user, reply = await house.chats.messages(a)
        theirs = house.chats_of(Somebody("else"))
        acts: list[Callable[[], Awaitable[object]]] = [
            lambda: theirs.get(a),
            lambda: theirs.messages(a),
            lambda: theirs.message(user.id),
            lambda: theirs.versions(user.id),
            lambda: theirs.switch(user.id),
            lambda: theirs.delete_version(reply.id),
            lambda: theirs.fork(reply.id),
            lambda: theirs.rename(a, "mine"),
            lambda: theirs.update(a, pinned=True),
            lambda: theirs.delete(a),
            lambda: theirs.export(a),
            lambda: theirs.mark_read(a),
        ]
        before = await house.chats.get(a)
        for act in acts:
            with pytest.raises(NotFound):
                await act()
        assert (await theirs.list()).items == ()
        assert await house.chats.get(a) == before


async def test_a_clock_that_stands_still_loses_no_chat_from_the_list() -> None:
    async with open_house(clock=FakeClock()) as house:
        house.add(Script(*[[text("ok")]] * 5))
        for _ in range(5):
            await house.said("Hi")
        page = await house.chats.list(limit=3)
        rest = await house.chats.list(limit=3, cursor=page.cursor)
        assert len({chat.id for chat in (*page.items, *rest.items)}) == 5


async def test_a_search_finds_titles_and_messages_of_the_person_alone() -> None:
    async with talk([text("Percival would suit a pelican.")], [text("ok")]) as house:
        sent, _ = await house.said("A name for a bird, please.")
        await house.said("Nothing", setup=ChatSetup(title="Pelican feeding", temporary=True))
        (hit,) = (await house.chats.search("percival")).items
        assert (hit.chat_id, hit.message_id, hit.role) == (sent.chat_id, sent.reply_id, "assistant")
        assert "\x02Percival\x03" in hit.snippet
        assert (await house.chats_of(Somebody("else")).search("percival")).items == ()
        await house.chats.delete(sent.chat_id)
        assert (await house.chats.search("pelican")).items == ()


async def test_pages_of_hits_hold_every_hit_once() -> None:
    async with open_house() as house:
        await make(house, *(f"pelican {at}" for at in range(7)))
        seen, cursor = list[str](), None
        while True:
            page = await house.chats.search("pelican", limit=3, cursor=cursor)
            seen += [hit.title for hit in page.items]
            if (cursor := page.cursor) is None:
                break
        assert sorted(seen) == [f"pelican {at}" for at in range(7)]


async def test_a_reply_is_found_when_it_is_over_and_not_while_it_is_written() -> None:
    go = anyio.Event()
    async with talk([text("Percival"), pause(go), text(" the pelican.")]) as house:
        sent = await house.chats.send("A name, please.")
        await house.pass_time()
        assert (await house.chats.search("percival")).items == ()
        go.set()
        await house.wait(sent)
        (hit,) = (await house.chats.search("percival pelican")).items
        assert hit.message_id == sent.reply_id
