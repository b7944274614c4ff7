"""Rollouts: a model sells."""

from __future__ import annotations

import pytest

from core.dialogues import EndReason, NewTurn, Role, Usage
from core.engine import play
from core.errors import ModelMisbehaved, ModelUnavailable, StoreError
from core.scenarios import Opener
from tests.support.customers import (
    DISK_FULL,
    Fails,
    NeverEnds,
    Room,
    Says,
    ScriptedSalesperson,
    alternates,
    salesperson_turns,
    until,
)


@pytest.mark.parametrize("opens", Opener)
async def test_a_rollout_plays_to_the_last_round(opens: Opener) -> None:
    room = Room(by=lambda dialogue: Says(f"Reply {len(dialogue.turns)}."), max_rounds=5, opens=opens)
    salesperson = ScriptedSalesperson("One.", "Two.", "Three.", "Four.", "Five.", "Six.")
    dialogue = await play(room.engine, salesperson, room.id)
    assert dialogue == room.dialogue
    assert dialogue.ended_by is EndReason.ROUNDS
    assert salesperson_turns(dialogue) == ["One.", "Two.", "Three.", "Four.", "Five."]
    assert len(dialogue.turns) == 10 + (opens is Opener.CUSTOMER)
    assert alternates(dialogue)


async def test_a_customer_who_leaves_ends_a_rollout() -> None:
    room = Room(Says("Hm."), Says("Goodbye.", leaves=True))
    dialogue = await play(room.engine, ScriptedSalesperson("Buy!"), room.id)
    assert dialogue.ended_by is EndReason.CUSTOMER
    assert len(dialogue.turns) == 4


async def test_a_salesperson_who_leaves_is_answered_and_then_ends_it() -> None:
    room = Room(Says("Hm."))
    dialogue = await play(room.engine, ScriptedSalesperson("Hello.", "Goodbye.", leaves=True), room.id)
    assert dialogue.ended_by is EndReason.SALESPERSON
    assert room.texts == ["Hello.", "Hm.", "Goodbye.", "Hm."]


async def test_the_customers_leaving_counts_where_both_leave() -> None:
    room = Room(Says("Goodbye.", leaves=True))
    assert (await play(room.engine, ScriptedSalesperson("Bye.", leaves=True), room.id)).ended_by is EndReason.CUSTOMER


async def test_a_salespersons_turn_goes_on_record_with_what_made_it() -> None:
    room = Room(Says("Goodbye.", leaves=True))
    turn = (await play(room.engine, ScriptedSalesperson("Buy!"), room.id)).turns[0]
    assert turn.model == "seller-8b"
    assert turn.settings == {"temperature": 0.8}
    assert turn.usage == Usage(prompt_tokens=7, completion_tokens=3, latency_ms=12.0)
    assert turn.state is None


async def test_a_failing_customer_ends_a_rollout_with_its_own_reason_and_playing_again_goes_on() -> None:
    room = Room(Says("Hm."), Fails(ModelUnavailable("buyer", "away")), Says("Goodbye.", leaves=True))
    failed = await play(room.engine, ScriptedSalesperson("One.", "Two."), room.id)
    assert failed.ended_by is EndReason.FAILED
    assert failed.failure is not None
    assert room.texts == ["One.", "Hm.", "Two."]
    dialogue = await play(room.engine, ScriptedSalesperson("Never said."), room.id)
    assert dialogue.ended_by is EndReason.CUSTOMER
    assert room.texts == ["One.", "Hm.", "Two.", "Goodbye."]


async def test_a_customer_who_goes_on_failing_is_asked_once_a_try() -> None:
    room = Room(Fails(ModelUnavailable("buyer", "away")))
    for tries in (1, 2, 3):
        assert (await play(room.engine, ScriptedSalesperson("One."), room.id)).ended_by is EndReason.FAILED
        assert len(room.customer.calls) == tries
    assert room.texts == ["One."]


@pytest.mark.parametrize("line", [ModelUnavailable("seller", "away"), " \n"], ids=["an error", "an empty turn"])
async def test_a_failing_salesperson_leaves_the_dialogue_open(line: ModelUnavailable | str) -> None:
    room = Room(Says("Hm."), Says("Goodbye.", leaves=True))
    with pytest.raises((ModelUnavailable, ModelMisbehaved), match="seller"):
        await play(room.engine, ScriptedSalesperson("One.", line), room.id)
    assert not room.dialogue.is_over
    assert (await play(room.engine, ScriptedSalesperson("Two."), room.id)).ended_by is EndReason.CUSTOMER
    assert room.texts == ["One.", "Hm.", "Two.", "Goodbye."]


async def test_a_rollout_that_was_given_up_for_its_salesperson_can_be_played_again() -> None:
    room = Room(Says("Hm."), Says("Goodbye.", leaves=True))
    with pytest.raises(ModelUnavailable):
        await play(room.engine, ScriptedSalesperson("One.", ModelUnavailable("seller", "away")), room.id)
    await room.engine.finish(room.id, reason=EndReason.FAILED)
    assert (await play(room.engine, ScriptedSalesperson("Two."), room.id)).ended_by is EndReason.CUSTOMER
    assert room.texts == ["One.", "Hm.", "Two.", "Goodbye."]


async def test_a_rollout_that_was_stopped_goes_on_where_it_stood() -> None:
    room = Room(NeverEnds("I"), Says("Hm."), Says("Goodbye.", leaves=True))
    await room.engine.say(room.id, "One.")
    await until(lambda: room.customer.running)
    await room.engine.close()
    dialogue = await play(room.another_engine(), ScriptedSalesperson("Two."), room.id)
    assert room.texts == ["One.", "Hm.", "Two.", "Goodbye."]
    assert dialogue.ended_by is EndReason.CUSTOMER


async def test_a_rollout_that_is_over_is_not_played() -> None:
    room = Room(Says("Goodbye.", leaves=True))
    salesperson = ScriptedSalesperson("One.")
    first = await play(room.engine, salesperson, room.id)
    assert await play(room.engine, salesperson, room.id) == first
    assert len(salesperson.calls) == 1


async def test_a_turn_that_was_stored_by_an_earlier_try_is_not_said_again() -> None:
    room = Room(Says("Hm."), Says("Goodbye.", leaves=True))
    room.store.kept.append(room.id, NewTurn(role=Role.SALESPERSON, text="One.", client_message_id=f"{room.id}:0"), 0)
    await play(room.engine, ScriptedSalesperson("Two."), room.id)
    assert room.texts == ["One.", "Hm.", "Two.", "Goodbye."]


async def test_a_store_that_can_write_nothing_stops_the_rollout_as_such() -> None:
    room = Room(Says("Hm."))
    room.store.faults |= {"append customer": DISK_FULL, "record_failure": DISK_FULL, "end": DISK_FULL}
    with pytest.raises(StoreError, match="disk is full"):
        await play(room.engine, ScriptedSalesperson("One.", "Two."), room.id)
    assert room.texts == ["One."]
