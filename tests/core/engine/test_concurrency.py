"""Double clicks, second tabs, callers that go away, and several engines on one store."""

from __future__ import annotations

import asyncio
import gc
import weakref

import pytest

from core.dialogues import EndReason, NewTurn, Role
from core.engine import DialogueEngine, MemoryDialogueStore, Phase
from core.errors import DialogueOver, ModelUnavailable, NothingToAnswer, StillAnswering, TurnConflict, Unanswered
from core.participants import Reply, TextDelta
from core.scenarios import Opener
from core.threads import in_thread
from tests.support.customers import (
    Customers,
    NeverEnds,
    Room,
    Says,
    ScriptedCustomer,
    Told,
    a_dialogue,
    alternates,
    salesperson_turns,
    until,
)

# -- sending twice ----------------------------------------------------------------------------------------------------


async def test_sending_the_same_message_again_changes_nothing_at_any_time() -> None:
    told = Told()
    room = Room(told)
    first = await room.engine.say(room.id, "Good morning.", client_message_id="message-1")
    assert await room.engine.say(room.id, "Good morning.", client_message_id="message-1") == first
    told.tell(Reply("Hello."))
    answered = await room.settled()
    assert await room.engine.say(room.id, "Good morning.", client_message_id="message-1") == answered
    over = await room.engine.finish(room.id)
    assert await room.engine.say(room.id, "Good morning.", client_message_id="message-1") == over
    assert room.texts == ["Good morning.", "Hello."]
    assert len(room.customer.calls) == 1


async def test_a_double_click_is_one_message() -> None:
    room = Room(NeverEnds())
    said = await asyncio.gather(*[room.engine.say(room.id, "Good morning.", client_message_id="message-1") for _ in range(20)])
    assert all(dialogue == said[0] for dialogue in said)
    assert room.texts == ["Good morning."]
    await room.engine.close()
    assert room.customer.most_running <= 1


async def test_of_two_messages_at_once_one_is_taken() -> None:
    room = Room(NeverEnds())
    outcomes = await asyncio.gather(
        room.engine.say(room.id, "From this tab.", client_message_id="message-1"),
        room.engine.say(room.id, "From that tab.", client_message_id="message-2"),
        return_exceptions=True,
    )
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Dialogue", "StillAnswering"]
    assert len(room.texts) == 1
    await room.engine.close()


async def test_nothing_is_taken_while_the_customer_answers() -> None:
    room = Room(NeverEnds("I"))
    await room.engine.say(room.id, "Good morning.")
    with pytest.raises(StillAnswering):
        await room.engine.say(room.id, "Hello?")
    assert room.texts == ["Good morning."]
    await room.engine.close()


async def test_a_message_that_meets_the_end_of_a_reply_is_still_refused_as_too_early() -> None:
    told = Told()
    room = Room(told)
    await room.engine.say(room.id, "Good morning.")
    with room.store.held("load") as gate:
        early = asyncio.create_task(room.engine.say(room.id, "Hello?"))
        await gate.reached()
        told.tell(Reply("Hello."))
        await until(lambda: len(room.texts) == 2)
    # The customer was answering when it was sent; "unanswered" would send the salesperson to a button that does nothing.
    with pytest.raises(StillAnswering):
        await early
    assert room.texts == ["Good morning.", "Hello."]


async def test_resuming_a_reply_that_is_being_made_lets_it_go_on() -> None:
    told = Told()
    room = Room(told)
    await room.engine.say(room.id, "Good morning.")
    await asyncio.gather(*[room.engine.resume(room.id) for _ in range(5)])
    told.tell(Reply("Hello."))
    await room.settled()
    assert room.texts == ["Good morning.", "Hello."]
    assert len(room.customer.calls) == 1


async def test_resuming_from_two_tabs_asks_once() -> None:
    room = Room(NeverEnds())
    await room.engine.say(room.id, "Good morning.")
    await room.engine.close()
    room.engine = room.another_engine()
    await asyncio.gather(*[room.engine.resume(room.id) for _ in range(5)])
    await until(lambda: room.customer.running)
    assert room.customer.running == 1
    await room.engine.close()


# -- callers that go away ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("held", ["load", "append salesperson"])
async def test_a_message_whose_sender_goes_away_is_stored_and_answered(held: str) -> None:
    room = Room(Says("Hello."))
    with room.store.held(held) as gate:
        saying = asyncio.create_task(room.engine.say(room.id, "Good morning."))
        await gate.reached()
        saying.cancel()
        await asyncio.wait([saying])
    assert saying.cancelled()
    await until(lambda: len(room.texts) == 2)
    assert room.texts == ["Good morning.", "Hello."]


async def test_a_finish_whose_caller_goes_away_is_carried_through() -> None:
    room = Room(NeverEnds())
    await room.engine.say(room.id, "Good morning.")
    with room.store.held("end") as gate:
        finishing = asyncio.create_task(room.engine.finish(room.id))
        await gate.reached()
        finishing.cancel()
        await asyncio.wait([finishing])
    await until(lambda: room.dialogue.is_over)


async def test_a_refusal_to_a_caller_who_has_gone_disturbs_nobody() -> None:
    room = Room()
    await room.engine.finish(room.id)
    with room.store.held("load") as gate:
        saying = asyncio.create_task(room.engine.say(room.id, "Good morning."))
        await gate.reached()
        saying.cancel()
        await asyncio.wait([saying])
    await asyncio.sleep(0.01)
    gc.collect()
    assert room.texts == []


async def test_a_cancelled_caller_waits_for_the_blocking_call_to_end() -> None:
    store = Room().store
    with store.held("load") as gate:
        calling = asyncio.create_task(in_thread(lambda: store.load("d-none")))
        await gate.reached()
        for _ in range(3):
            calling.cancel()
            await asyncio.sleep(0.005)
        assert not calling.done()
        gate.open()
        await asyncio.wait([calling])
    assert calling.cancelled()


# -- a reply that is cut short ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", range(16))
async def test_finishing_at_any_step_of_a_message_leaves_nothing_running(steps: int) -> None:
    room = Room(NeverEnds("I would"), Says("I see."))
    saying = asyncio.create_task(room.engine.say(room.id, "Good morning."))
    while not saying.done():
        await asyncio.sleep(0)
    for _ in range(steps):
        await asyncio.sleep(0)
    dialogue = await room.engine.finish(room.id)
    assert (dialogue.ended_by, len(dialogue.turns)) == (EndReason.SALESPERSON, 1)
    assert (await room.engine.snapshot(room.id)).phase is Phase.OVER
    assert (await room.settled()) == dialogue
    assert room.customer.running == 0


async def test_finishing_in_the_very_moment_in_which_the_customer_is_asked_leaves_nothing_running() -> None:
    # As many as there are moments: one of them hits the reply's task before its first step.
    room = Room(NeverEnds("I would"))
    racing = [asyncio.create_task(room.engine.say(room.id, "Good morning."))]
    while not room.dialogue.is_over:
        racing.append(asyncio.create_task(_finish_if_said(room)))
        await asyncio.sleep(0)
    await asyncio.wait(racing)
    async with asyncio.timeout(5.0):
        assert (await room.settled()).is_over
    assert not room.engine._live
    assert room.customer.running == 0


async def _finish_if_said(room: Room) -> None:
    if room.texts:
        await room.engine.finish(room.id)


async def test_finishing_drops_a_reply_in_the_making() -> None:
    room = Room(NeverEnds("I would"))
    await room.engine.say(room.id, "Good morning.")
    await until(lambda: room.customer.running)
    dialogue = await room.engine.finish(room.id)
    assert room.customer.running == 0
    assert [turn.role for turn in dialogue.turns] == [Role.SALESPERSON]
    with pytest.raises(DialogueOver):
        await room.engine.resume(room.id)


async def test_a_reply_that_is_being_stored_is_kept_or_dropped_whole() -> None:
    room = Room(Says("Hello."))
    with room.store.held("append customer") as gate:
        await room.engine.say(room.id, "Good morning.")
        await gate.reached()
        finishing = asyncio.create_task(room.engine.finish(room.id))
        await asyncio.sleep(0.01)
        # Ending now would let the reply slip in after the end.
        assert "end" not in room.store.calls
    dialogue = await finishing
    assert dialogue == room.dialogue
    assert room.texts == ["Good morning.", "Hello."]
    assert dialogue.ended_by is EndReason.SALESPERSON


async def test_closing_stops_every_reply_and_what_is_said_after_waits_for_the_next_start() -> None:
    customer = ScriptedCustomer([NeverEnds("I")])
    dialogues = [a_dialogue() for _ in range(30)]
    store = MemoryDialogueStore(*dialogues)
    engine = DialogueEngine(store, Customers(customer))
    await asyncio.gather(*[engine.say(dialogue.id, "Good morning.") for dialogue in dialogues])
    await until(lambda: customer.running == 30)
    pending = asyncio.create_task(engine.begin(dialogues[0].id))
    await asyncio.sleep(0)
    await engine.close()
    assert pending.done()
    assert customer.running == 0
    late = store.add(a_dialogue())
    await engine.say(late.id, "Anybody here?")
    assert (await engine.snapshot(late.id)).phase is Phase.INTERRUPTED
    await engine.close()
    again = DialogueEngine(store, Customers(ScriptedCustomer([Says("Hello.")])))
    for dialogue in [*dialogues, late]:
        await again.resume(dialogue.id)
        assert [turn.text for turn in (await again.settled(dialogue.id)).turns][1:] == ["Hello."]


# -- several dialogues, several engines -------------------------------------------------------------------------------


async def test_dialogues_do_not_wait_for_one_another() -> None:
    told = Told()
    customer = ScriptedCustomer(lambda dialogue: told if dialogue.seed == 0 else Says("Hello."))
    dialogues = [a_dialogue(seed=seed) for seed in range(30)]
    store = MemoryDialogueStore(*dialogues)
    engine = DialogueEngine(store, Customers(customer))
    await asyncio.gather(*[engine.say(dialogue.id, "Good morning.") for dialogue in dialogues])
    for dialogue in dialogues[1:]:
        assert len((await engine.settled(dialogue.id)).turns) == 2
    assert (await engine.snapshot(dialogues[0].id)).phase is Phase.ANSWERING
    told.tell(TextDelta("Hel"), Reply("Hello."))
    assert len((await engine.settled(dialogues[0].id)).turns) == 2


async def test_the_engine_remembers_no_dialogue_that_is_at_rest() -> None:
    room = Room()
    for number in range(5):
        await room.say(f"Line {number}.")
    await room.engine.finish(room.id)
    gc.collect()
    assert len(room.engine._locks) == 0
    assert not room.engine._live
    assert not room.engine._operations
    engine = weakref.ref(room.engine)
    del room
    gc.collect()
    assert engine() is None


async def test_two_engines_on_one_store_take_a_message_once() -> None:
    room = Room(NeverEnds())
    other = room.another_engine()
    outcomes = await asyncio.gather(
        *[engine.say(room.id, "Good morning.", client_message_id="message-1") for engine in (room.engine, other)],
    )
    assert all(salesperson_turns(dialogue) == ["Good morning."] for dialogue in outcomes)
    await until(lambda: room.customer.running)
    assert room.customer.running == 1
    await room.engine.close()
    await other.close()


async def test_of_two_engines_with_different_messages_one_is_told_no() -> None:
    room = Room(NeverEnds())
    other = room.another_engine()
    with room.store.held("append salesperson") as gate:
        racing = [asyncio.create_task(engine.say(room.id, f"{name}.")) for name, engine in (("A", room.engine), ("B", other))]
        await gate.reached()
        await until(lambda: room.store.calls.count("append salesperson") == 2)
    await asyncio.wait(racing)
    errors = [task.exception() for task in racing if task.exception() is not None]
    assert [type(error) for error in errors] == [TurnConflict]
    assert len(room.texts) == 1
    await room.engine.close()
    await other.close()


async def test_the_same_message_through_two_engines_at_the_same_moment_is_taken_by_both() -> None:
    room = Room(NeverEnds())
    other = room.another_engine()
    with room.store.held("append salesperson") as gate:
        racing = [
            asyncio.create_task(engine.say(room.id, "Good morning.", client_message_id="message-1"))
            for engine in (room.engine, other)
        ]
        await gate.reached()
        await until(lambda: room.store.calls.count("append salesperson") == 2)
    for dialogue in await asyncio.gather(*racing):
        assert salesperson_turns(dialogue) == ["Good morning."]
    await room.engine.close()
    await other.close()


@pytest.mark.parametrize("opens", Opener)
async def test_a_reply_that_another_engine_made_first_stands_and_is_no_failure(opens: Opener) -> None:
    mine, theirs = Told(), Told()
    steps = iter([mine, theirs])
    room = Room(by=lambda _: next(steps), opens=opens)
    other = room.another_engine()
    if opens is Opener.CUSTOMER:
        await room.engine.begin(room.id)
        await until(lambda: room.customer.running == 1)
        await other.begin(room.id)
    else:
        await room.engine.say(room.id, "Good morning.")
        await until(lambda: room.customer.running == 1)
        with pytest.raises(Unanswered):
            await other.say(room.id, "Hello?")
        await other.resume(room.id)
    following = asyncio.create_task(room.follow())
    theirs.tell(Reply("Theirs."))
    await other.settled(room.id)
    mine.tell(Reply("Mine."))
    dialogue = await room.settled()
    assert dialogue.failure is None
    assert room.texts[-1] == "Theirs."
    assert alternates(dialogue)
    assert (await following)[-1].phase is Phase.SALESPERSON
    with pytest.raises(NothingToAnswer):
        await room.engine.resume(room.id)


async def test_a_reply_to_a_dialogue_that_another_engine_ended_is_dropped() -> None:
    told = Told()
    room = Room(told)
    await room.engine.say(room.id, "Good morning.")
    following = asyncio.create_task(room.follow())
    await room.another_engine().finish(room.id)
    told.tell(TextDelta("Wait"), Reply("Wait, I buy!"))
    assert (await following)[-1].phase is Phase.OVER
    assert (await room.settled()).failure is None
    assert room.texts == ["Good morning."]


async def test_a_failure_is_forgotten_where_another_engine_has_made_the_reply() -> None:
    mine = Told()
    steps = iter([mine, Says("Theirs.")])
    room = Room(by=lambda _: next(steps))
    await room.engine.say(room.id, "Good morning.")
    await until(lambda: room.customer.running == 1)
    other = room.another_engine()
    await other.resume(room.id)
    await other.settled(room.id)
    following = asyncio.create_task(room.follow())
    mine.tell(TextDelta("Mi"), ModelUnavailable("buyer", "away"))
    assert (await room.settled()).failure is None
    assert (await following)[-1].phase is Phase.SALESPERSON
    assert room.texts == ["Good morning.", "Theirs."]


@pytest.mark.parametrize("opens", Opener)
async def test_a_reply_to_an_earlier_session_never_comes_into_the_next(opens: Opener) -> None:
    late = Told()
    steps = iter([Says("Hello."), late, Says("Hello again.")] if opens is Opener.CUSTOMER else [late, Says("Hello again.")])
    room = Room(by=lambda _: next(steps), opens=opens)
    if opens is Opener.CUSTOMER:
        await room.engine.begin(room.id)
        await room.settled()
    await room.engine.say(room.id, "Good morning.")
    await until(lambda: room.customer.running == 1)
    other = room.another_engine()
    await other.finish(room.id)
    await other.begin_session(room.id)
    late.tell(Reply("Too late."))
    assert (await room.settled()).session == 2
    await other.settled(room.id)
    if opens is Opener.SALESPERSON:
        await other.say(room.id, "Me again.")
        await other.settled(room.id)
    assert "Too late." not in room.texts
    assert room.texts[-1] == "Hello again."
    assert room.dialogue.failure is None


async def test_a_new_session_drops_a_reply_to_one_that_another_engine_ended() -> None:
    room = Room(NeverEnds("I would"), Says("Hello again."))
    await room.engine.say(room.id, "Good morning.")
    await until(lambda: room.customer.running == 1)
    await room.another_engine().finish(room.id)
    await room.engine.begin_session(room.id)
    assert room.customer.running == 0
    await room.say("Me again.")
    assert room.texts == ["Good morning.", "Me again.", "Hello again."]


async def test_what_another_process_wrote_is_seen() -> None:
    room = Room()
    room.store.kept.append(room.id, NewTurn(role=Role.SALESPERSON, text="Written elsewhere."), 0)
    with pytest.raises(Unanswered):
        await room.engine.say(room.id, "Hello?")
    await room.engine.resume(room.id)
    await room.settled()
    assert room.texts == ["Written elsewhere.", "I see."]
