"""Watching a reply in the making."""

from __future__ import annotations

import asyncio
import itertools
import time

import pytest

from core.dialogues import EndReason, Role
from core.engine import Phase, Snapshot
from core.errors import ModelUnavailable
from core.participants import Reply, Restart, TextDelta
from tests.support.customers import BreaksOff, Fails, NeverEnds, Room, Says, Told, until

LINE = "I saw your leaflet and I have a few questions."


def partials(snapshots: list[Snapshot]) -> list[str]:
    return [snapshot.partial for snapshot in snapshots if snapshot.phase is Phase.ANSWERING]


async def test_a_follower_sees_the_reply_grow_and_then_the_stored_turn() -> None:
    told = Told()
    room = Room(told)
    await room.engine.say(room.id, "Good morning.")
    snapshots = room.engine.follow(room.id, hertz=1e6)
    assert (await anext(snapshots)).partial == ""
    seen = ""
    for word in LINE.split():
        told.tell(TextDelta(word + " "))
        seen += word + " "
        snapshot = await anext(snapshots)
        assert (snapshot.phase, snapshot.partial) == (Phase.ANSWERING, seen)
        assert snapshot.dialogue.awaits is Role.CUSTOMER
    told.tell(Reply(LINE))
    last = await anext(snapshots)
    assert (last.phase, last.partial) == (Phase.SALESPERSON, "")
    assert last.dialogue == room.dialogue
    assert last.dialogue.turns[-1].text == LINE
    with pytest.raises(StopAsyncIteration):
        await anext(snapshots)


async def test_the_last_snapshot_needs_no_second_look_at_the_store() -> None:
    room = Room(Says(LINE))
    await room.engine.say(room.id, "Good morning.")
    before = room.store.calls.count("load")
    await room.follow()
    await room.settled()
    assert room.store.calls.count("load") == before + 1  # `settled` came after the reply was done


async def test_a_settled_dialogue_is_shown_once() -> None:
    room = Room()
    assert [snapshot.phase for snapshot in await room.follow()] == [Phase.SALESPERSON]
    await room.say()
    await room.engine.finish(room.id)
    assert [snapshot.phase for snapshot in await room.follow()] == [Phase.OVER]


async def test_a_restart_withdraws_what_was_shown() -> None:
    told = Told()
    room = Room(told)
    await room.engine.say(room.id, "Good morning.")
    snapshots = room.engine.follow(room.id, hertz=1e6)
    shown = [(await anext(snapshots)).partial]
    for event in (TextDelta("First try."), Restart("the connection was lost"), TextDelta("Second.")):
        told.tell(event)
        shown.append((await anext(snapshots)).partial)
    assert shown == ["", "First try.", "", "Second."]
    told.tell(Reply("Second."))
    assert (await anext(snapshots)).dialogue.turns[-1].text == "Second."


async def test_a_restart_leaves_nothing_behind_in_the_stored_turn() -> None:
    room = Room(Says("Second.", withdrawn="First try."))
    assert (await room.say()).turns[-1].text == "Second."


async def test_a_failure_withdraws_what_was_shown() -> None:
    room = Room(Fails(ModelUnavailable("buyer", "away"), LINE))
    await room.engine.say(room.id, "Good morning.")
    last = (await room.follow())[-1]
    assert (last.phase, last.partial) == (Phase.FAILED, "")
    assert last.failure == room.dialogue.failure


async def test_any_number_of_followers_come_and_go() -> None:
    room = Room(Says(LINE))
    await room.engine.say(room.id, "Good morning.")
    early = [asyncio.create_task(room.follow(hertz=1e6)) for _ in range(40)]
    await asyncio.sleep(0)
    late = [asyncio.create_task(room.follow(hertz=1e6)) for _ in range(40)]
    for snapshots in await asyncio.gather(*early, *late):
        assert snapshots[-1].dialogue == room.dialogue
        shown = partials(snapshots)
        assert all(b.startswith(a) for a, b in itertools.pairwise(shown))
    assert len(room.customer.calls) == 1


async def test_a_follower_who_goes_away_stops_nothing() -> None:
    told = Told()
    room = Room(told)
    await room.engine.say(room.id, "Good morning.")
    abandoned = room.engine.follow(room.id)
    await anext(abandoned)
    await abandoned.aclose()
    cancelled = asyncio.create_task(room.follow())
    await asyncio.sleep(0)
    cancelled.cancel()
    await asyncio.wait([cancelled])
    told.tell(TextDelta(LINE), Reply(LINE))
    assert (await room.settled()).turns[-1].text == LINE


async def test_the_beginning_and_the_end_are_shown_at_once_and_the_rest_at_a_measured_pace() -> None:
    told = Told()
    room = Room(told)
    await room.engine.say(room.id, "Good morning.")
    started = time.perf_counter()
    snapshots = room.engine.follow(room.id, hertz=0.01)
    await anext(snapshots)
    told.tell(TextDelta("I"))
    assert (await anext(snapshots)).partial == "I"
    told.tell(TextDelta(" saw"))
    waiting = asyncio.ensure_future(anext(snapshots))
    await asyncio.sleep(0.02)
    assert not waiting.done()
    told.tell(TextDelta(" it."), Reply("I saw it."))
    assert (await waiting).phase is Phase.SALESPERSON
    assert time.perf_counter() - started < 5.0


async def test_a_slow_reader_misses_steps_but_never_the_end() -> None:
    told = Told()
    room = Room(told)
    await room.engine.say(room.id, "Good morning.")
    snapshots = room.engine.follow(room.id, hertz=1e6)
    await anext(snapshots)
    told.tell(*[TextDelta("x") for _ in range(100)], Reply("x" * 100))
    await room.settled()
    assert [snapshot.phase async for snapshot in snapshots] == [Phase.SALESPERSON]


async def test_a_follower_is_shown_the_end_that_cut_the_reply_short() -> None:
    room = Room(NeverEnds(LINE))
    await room.engine.say(room.id, "Good morning.")
    following = asyncio.create_task(room.follow())
    waiting = asyncio.create_task(room.settled())
    await until(lambda: room.customer.running)
    with room.store.held("end") as gate:
        finishing = asyncio.create_task(room.engine.finish(room.id))
        await gate.reached()
        # The reply is gone, but its end is not on disk yet: nobody may be told that the dialogue waits.
        await asyncio.sleep(0.01)
        assert not following.done()
        assert not waiting.done()
    await finishing
    assert (await following)[-1].phase is Phase.OVER
    assert (await waiting).ended_by is EndReason.SALESPERSON


async def test_a_follower_stays_when_a_new_reply_begins_where_one_was_cut_short() -> None:
    room = Room(NeverEnds("one"), Says("two"), max_rounds=1)
    await room.engine.say(room.id, "Good morning.")
    following = asyncio.create_task(room.follow())
    await until(lambda: room.customer.running)
    await asyncio.gather(room.engine.finish(room.id), room.engine.begin_session(room.id), room.engine.say(room.id, "Me again."))
    assert (await following)[-1].dialogue.turns[-1].text == "two"


async def test_a_follower_of_a_stopping_program_is_let_go() -> None:
    room = Room(NeverEnds(LINE))
    await room.engine.say(room.id, "Good morning.")
    following = asyncio.create_task(room.follow())
    await until(lambda: room.customer.running)
    await room.engine.close()
    assert (await following)[-1].phase is Phase.INTERRUPTED


async def test_a_reply_without_a_stream_is_followed_to_its_end() -> None:
    room = Room(BreaksOff())
    await room.engine.say(room.id, "Good morning.")
    assert [snapshot.phase for snapshot in await room.follow()] == [Phase.ANSWERING, Phase.FAILED]
