"""One round after the other: who speaks, what goes on record, and when a dialogue ends."""

from __future__ import annotations

import pytest

from core.dialogues import EndReason, Participant, Role, Turn, Usage
from core.engine import MAX_TURN_CHARACTERS, Phase
from core.errors import DialogueOver, InvalidInput, NotFound, NothingToAnswer, Unanswered
from core.participants import Reply
from core.scenarios import Opener
from tests.support.customers import NeverEnds, Room, Says, alternates


async def test_a_turn_is_stored_before_the_customer_is_asked_and_the_reply_after() -> None:
    room = Room(NeverEnds())
    said = await room.engine.say(room.id, "  Good morning.  ", client_message_id="message-1")
    assert room.dialogue == said
    assert [(turn.role, turn.text, turn.client_message_id) for turn in said.turns] == [
        (Role.SALESPERSON, "Good morning.", "message-1")
    ]
    assert said.awaits is Role.CUSTOMER
    assert (await room.engine.snapshot(room.id)).phase is Phase.ANSWERING
    await room.engine.close()


async def test_a_reply_goes_on_record_with_all_that_made_it() -> None:
    usage = Usage(prompt_tokens=11, completion_tokens=2, first_token_ms=40.0, latency_ms=90.0, attempts=2)
    room = Room(Says("I see.", usage=usage, state={"trust": 0.5}))
    dialogue = await room.say()
    reply = dialogue.turns[1]
    assert (reply.role, reply.text, reply.model, reply.settings) == (Role.CUSTOMER, "I see.", "scripted", {"temperature": 0.8})
    assert reply.usage == usage
    assert reply.state == dialogue.customer_state == {"trust": 0.5}
    assert dialogue.failure is None
    assert dialogue == room.dialogue


async def test_times_that_the_customer_did_not_measure_are_measured() -> None:
    room = Room(Says("I see."), Says("Well.", usage=Usage(completion_tokens=1, latency_ms=5.0)))
    await room.say()
    dialogue = await room.say("And?")
    first, second = dialogue.turns[1].usage, dialogue.turns[3].usage
    assert first is not None
    assert second is not None
    assert first.first_token_ms is not None
    assert first.latency_ms is not None
    assert 0.0 <= first.first_token_ms <= first.latency_ms < 5000.0
    assert second.latency_ms == 5.0
    assert second.completion_tokens == 1
    assert second.first_token_ms is not None


async def test_speakers_alternate_and_the_customer_is_given_the_dialogue_as_it_stands() -> None:
    room = Room(by=lambda dialogue: Says(f"Reply {dialogue.rounds}."))
    for number in (1, 2, 3):
        await room.say(f"Line {number}.")
    assert room.texts == ["Line 1.", "Reply 1.", "Line 2.", "Reply 2.", "Line 3.", "Reply 3."]
    assert alternates(room.dialogue)
    assert [call.turns[-1].text for call in room.customer.calls] == ["Line 1.", "Line 2.", "Line 3."]


@pytest.mark.parametrize("text", ["", "   \n\t ", "\0 \0", "x" * (MAX_TURN_CHARACTERS + 1)])
async def test_an_empty_or_endless_message_is_refused_and_changes_nothing(text: str) -> None:
    room = Room()
    with pytest.raises(InvalidInput, match="message"):
        await room.engine.say(room.id, text)
    assert room.store.calls == []


async def test_the_longest_message_is_taken() -> None:
    room = Room()
    assert len((await room.say("x" * MAX_TURN_CHARACTERS)).turns[0].text) == MAX_TURN_CHARACTERS


async def test_a_model_that_sells_leaves_its_record_and_may_be_long_winded() -> None:
    room = Room()
    made = Reply("x" * (MAX_TURN_CHARACTERS + 1), model="seller", usage=Usage(latency_ms=3.0), state={"secret": 1})
    turn = (await room.say(made.text, made=made)).turns[0]
    assert (turn.text, turn.model, turn.usage) == (made.text, "seller", Usage(latency_ms=3.0))
    # Only a customer's state is handed back, and to the customer.
    assert turn.state is None


# -- the end ----------------------------------------------------------------------------------------------------------


async def test_a_customer_who_leaves_ends_the_dialogue_with_the_reply() -> None:
    room = Room(Says("Goodbye.", leaves=True))
    dialogue = await room.say()
    assert dialogue.ended_by is EndReason.CUSTOMER
    assert dialogue.ended_at == dialogue.turns[-1].created_at
    with pytest.raises(DialogueOver):
        await room.engine.say(room.id, "Wait!")
    assert room.texts == ["Good morning.", "Goodbye."]


async def test_the_last_round_ends_with_the_reply_to_it() -> None:
    room = Room(max_rounds=2)
    assert not (await room.say("One.")).is_over
    dialogue = await room.say("Two.")
    assert dialogue.ended_by is EndReason.ROUNDS
    assert len(dialogue.turns) == 4
    with pytest.raises(DialogueOver):
        await room.engine.say(room.id, "Three.")


async def test_a_customer_who_leaves_in_the_last_round_has_left() -> None:
    room = Room(Says("Goodbye.", leaves=True), max_rounds=1)
    assert (await room.say()).ended_by is EndReason.CUSTOMER


async def test_finishing_ends_the_dialogue_once() -> None:
    room = Room()
    await room.say()
    first = await room.engine.finish(room.id)
    again = await room.engine.finish(room.id, reason=EndReason.FAILED)
    assert first.ended_by is EndReason.SALESPERSON
    assert again == first
    with pytest.raises(DialogueOver):
        await room.engine.resume(room.id)


async def test_a_dialogue_that_never_began_can_be_finished() -> None:
    room = Room()
    assert (await room.engine.finish(room.id)).turns == ()


async def test_what_is_not_there_is_not_found() -> None:
    room = Room()
    engine = room.engine
    for operation in (engine.begin, engine.resume, engine.finish, engine.begin_session, engine.snapshot, engine.settled):
        with pytest.raises(NotFound, match="'d-none'"):
            await operation("d-none")
    with pytest.raises(NotFound):
        await engine.say("d-none", "Hello.")
    with pytest.raises(NotFound):
        await anext(engine.follow("d-none"))


# -- who opens --------------------------------------------------------------------------------------------------------


async def test_a_customer_who_opens_speaks_first() -> None:
    room = Room(by=lambda dialogue: Says("Do you sell bikes?" if not dialogue.turns else "Oh."), opens=Opener.CUSTOMER)
    with pytest.raises(Unanswered):
        await room.engine.say(room.id, "Hello!")
    await room.engine.begin(room.id)
    assert [turn.role for turn in (await room.settled()).turns] == [Role.CUSTOMER]
    await room.say("We do.")
    assert room.texts == ["Do you sell bikes?", "We do.", "Oh."]
    assert room.dialogue.rounds == 1


async def test_beginning_changes_nothing_where_there_is_nothing_to_begin() -> None:
    room = Room()
    assert (await room.engine.begin(room.id)).turns == ()
    await room.say()
    assert await room.engine.begin(room.id) == room.dialogue
    await room.engine.finish(room.id)
    assert await room.engine.begin(room.id) == room.dialogue
    assert len(room.customer.calls) == 1


async def test_an_opening_is_asked_for_once() -> None:
    room = Room(NeverEnds(), opens=Opener.CUSTOMER)
    await room.engine.begin(room.id)
    await room.engine.begin(room.id)
    await room.engine.resume(room.id)
    await _run_a_little(room)
    assert len(room.customer.calls) == 1
    await room.engine.close()


async def test_an_opening_counts_no_round() -> None:
    room = Room(opens=Opener.CUSTOMER, max_rounds=1)
    await room.engine.begin(room.id)
    assert not (await room.settled()).is_over
    assert (await room.say()).ended_by is EndReason.ROUNDS


async def _run_a_little(room: Room) -> None:
    snapshots = room.engine.follow(room.id)
    await anext(snapshots)
    await snapshots.aclose()


# -- sessions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("opens", Opener)
async def test_a_follow_up_session_goes_on_after_the_end(opens: Opener) -> None:
    room = Room(Says("Well."), max_rounds=1, opens=opens)
    await room.engine.begin(room.id)
    await room.settled()
    await room.say("First.")
    before = room.dialogue
    assert before.ended_by is EndReason.ROUNDS
    await room.engine.begin_session(room.id)
    dialogue = await room.settled()
    assert (dialogue.session, dialogue.ended_by) == (2, None)
    assert dialogue.turns[: len(before.turns)] == before.turns
    assert len(dialogue.session_turns) == (1 if opens is Opener.CUSTOMER else 0)
    dialogue = await room.say("Second.")
    assert dialogue.ended_by is EndReason.ROUNDS
    assert _sessions(dialogue.turns) == {1: len(before.turns), 2: len(before.turns)}
    assert alternates(dialogue)


async def test_a_session_begins_only_after_the_end() -> None:
    room = Room()
    await room.say()
    with pytest.raises(NothingToAnswer):
        await room.engine.begin_session(room.id)
    assert room.dialogue.session == 1


def _sessions(turns: tuple[Turn, ...]) -> dict[int, int]:
    return {session: sum(turn.session == session for turn in turns) for session in {turn.session for turn in turns}}


async def test_an_unanswered_turn_stays_unanswered_when_the_next_session_begins() -> None:
    room = Room(NeverEnds(), Says("Hello again."))
    await room.engine.say(room.id, "Are you there?")
    await room.engine.finish(room.id)
    await room.engine.begin_session(room.id)
    dialogue = await room.say("Back again.")
    assert room.texts == ["Are you there?", "Back again.", "Hello again."]
    assert alternates(dialogue)


async def test_a_dialogue_whose_customer_is_unknown_fails_and_says_so() -> None:
    room = Room(customer=Participant(kind="model", name="gone"))
    failure = (await room.say()).failure
    assert failure is not None
    assert (failure.kind, failure.model) == ("InvalidInput", "gone")
    assert "there is no such model" in failure.detail
