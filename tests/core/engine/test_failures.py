"""What goes wrong: customers that fail in every way, and a store that cannot write."""

from __future__ import annotations

import logging

import pytest

from core.dialogues import EndReason, Failure, Role
from core.engine import Phase
from core.errors import (
    ContextOverflow,
    DialogueOver,
    ModelBusy,
    ModelError,
    ModelMisbehaved,
    ModelRejected,
    ModelUnavailable,
    NothingToAnswer,
    StoreError,
    Unanswered,
)
from core.scenarios import Opener
from tests.support.customers import DISK_FULL, BreaksOff, Fails, NeverEnds, Room, Says, Step

MODEL_ERRORS: list[ModelError] = [
    ModelUnavailable("buyer", "no connection"),
    ModelBusy("buyer", "too many requests", retry_after_s=60.0),
    ModelRejected("buyer", "the key was refused"),
    ContextOverflow("buyer", "the dialogue has 9,000 tokens, of 8,192 at most"),
    ModelMisbehaved("buyer", "the reply was cut off"),
]


@pytest.mark.parametrize("text", ["", "I would like to"], ids=["at once", "in the middle"])
@pytest.mark.parametrize("error", MODEL_ERRORS, ids=lambda error: type(error).__name__)
async def test_a_model_failure_is_recorded_beside_the_turns_and_resumed_without_doubling(error: ModelError, text: str) -> None:
    room = Room(Fails(error, text), Says("Hello."))
    dialogue = await room.say()
    assert room.texts == ["Good morning."]
    assert dialogue.failure == room.dialogue.failure
    assert dialogue.failure is not None
    found = dialogue.failure
    assert (found.kind, found.model, found.detail, found.retryable) == (
        type(error).__name__,
        "buyer",
        error.detail,
        error.retryable,
    )
    assert not dialogue.is_over
    snapshot = await room.engine.snapshot(room.id)
    assert (snapshot.phase, snapshot.failure, snapshot.partial) == (Phase.FAILED, found, "")
    with pytest.raises(Unanswered):
        await room.engine.say(room.id, "Hello?")

    await room.engine.resume(room.id)
    dialogue = await room.settled()
    assert room.texts == ["Good morning.", "Hello."]
    assert dialogue.failure is None
    with pytest.raises(NothingToAnswer):
        await room.engine.resume(room.id)
    assert room.customer.running == 0


async def test_an_unexpected_fault_is_logged_whole_and_shown_in_short(caplog: pytest.LogCaptureFixture) -> None:
    room = Room(Fails(ZeroDivisionError("secret details"), "I"), Says("Hello."))
    failure = (await room.say()).failure
    assert failure is not None
    assert (failure.kind, failure.model, failure.retryable) == ("ZeroDivisionError", "scripted", True)
    assert "secret" not in failure.detail
    assert "secret details" in caplog.text
    await room.engine.resume(room.id)
    assert (await room.settled()).turns[-1].text == "Hello."


@pytest.mark.parametrize(
    "step",
    [Says("  \n "), Says(""), Says("\0"), BreaksOff(), BreaksOff("I would")],
    ids=["blank", "empty", "nothing that can be kept", "no reply", "no end"],
)
async def test_a_reply_that_is_none_is_a_failure(step: Step) -> None:
    room = Room(step, Says("Hello."))
    failure = (await room.say()).failure
    assert failure is not None
    assert (failure.kind, failure.retryable) == ("ModelMisbehaved", True)
    await room.engine.resume(room.id)
    assert (await room.settled()).turns[-1].text == "Hello."


async def test_failing_again_and_again_doubles_nothing() -> None:
    room = Room(*[Fails(ModelUnavailable("buyer", f"attempt {n}")) for n in range(4)], Says("At last."))
    await room.say()
    for n in range(1, 4):
        await room.engine.resume(room.id)
        failure = (await room.settled()).failure
        assert failure is not None
        assert failure.detail == f"attempt {n}"
    await room.engine.resume(room.id)
    await room.settled()
    assert room.texts == ["Good morning.", "At last."]


async def test_a_failed_opening_can_be_asked_for_again() -> None:
    room = Room(Fails(ModelBusy("buyer", "busy")), Says("Hello?"), opens=Opener.CUSTOMER)
    await room.engine.begin(room.id)
    assert (await room.settled()).failure is not None
    await room.engine.begin(room.id)
    assert [turn.text for turn in (await room.settled()).turns] == ["Hello?"]


async def test_a_dialogue_that_ended_by_failure_is_taken_up_again() -> None:
    room = Room(Fails(ModelUnavailable("buyer", "away")), Says("Hello."))
    await room.say()
    await room.engine.finish(room.id, reason=EndReason.FAILED)
    with pytest.raises(DialogueOver):
        await room.engine.say(room.id, "Hello?")
    await room.engine.resume(room.id)
    dialogue = await room.settled()
    assert dialogue.ended_by is None
    assert dialogue.ended_at is None
    assert room.texts == ["Good morning.", "Hello."]


async def test_a_dialogue_that_ended_by_failure_is_opened_again_for_the_salesperson() -> None:
    room = Room()
    await room.say()
    await room.engine.finish(room.id, reason=EndReason.FAILED)
    dialogue = await room.engine.resume(room.id)
    assert dialogue.awaits is Role.SALESPERSON
    assert len(room.customer.calls) == 1
    await room.say("Now then.")
    assert len(room.texts) == 4


async def test_a_stop_of_the_program_leaves_a_turn_that_the_next_start_resumes() -> None:
    room = Room(NeverEnds("I would"), Says("Hello."))
    await room.engine.say(room.id, "Good morning.", client_message_id="message-1")
    await room.engine.close()
    assert room.customer.running == 0

    room.engine = room.another_engine()
    snapshot = await room.engine.snapshot(room.id)
    assert (snapshot.phase, snapshot.partial) == (Phase.INTERRUPTED, "")
    await room.engine.say(room.id, "Good morning.", client_message_id="message-1")
    with pytest.raises(Unanswered):
        await room.engine.say(room.id, "Good morning.", client_message_id="message-2")
    await room.engine.resume(room.id)
    await room.settled()
    assert room.texts == ["Good morning.", "Hello."]


# -- the store --------------------------------------------------------------------------------------------------------


async def test_a_turn_that_cannot_be_stored_is_not_answered() -> None:
    room = Room()
    room.store.faults["append salesperson"] = DISK_FULL
    with pytest.raises(StoreError, match="disk is full"):
        await room.engine.say(room.id, "Good morning.", client_message_id="message-1")
    assert room.customer.calls == []
    assert (await room.engine.snapshot(room.id)).phase is Phase.SALESPERSON

    room.store.faults.clear()
    await room.say("Good morning.", client_message_id="message-1")
    assert room.texts == ["Good morning.", "I see."]


async def test_a_reply_that_cannot_be_stored_is_a_failure_and_can_be_resumed() -> None:
    room = Room(Says("Hello."))
    room.store.faults["append customer"] = DISK_FULL
    failure = (await room.say()).failure
    assert failure is not None
    assert (failure.kind, failure.retryable) == ("StoreError", True)
    assert "disk is full" in failure.detail

    room.store.faults.clear()
    await room.engine.resume(room.id)
    await room.settled()
    assert room.texts == ["Good morning.", "Hello."]


@pytest.mark.parametrize("error", [DISK_FULL, OSError(28, "No space left on device")], ids=["our own", "the driver's"])
async def test_a_failure_that_cannot_be_stored_is_told_all_the_same(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    room = Room(Fails(ModelUnavailable("buyer", "away"), "I"), Says("Hello."))
    room.store.faults["record_failure"] = error
    await room.engine.say(room.id, "Good morning.")
    last = (await room.follow())[-1]
    assert last.phase is Phase.FAILED
    assert last.failure is not None
    assert last.failure.detail == "away"
    assert "could not be recorded" in caplog.text
    assert any(record.levelno == logging.ERROR for record in caplog.records)
    # Nothing is on record, so to whoever comes later the reply was cut off; the way on is the same.
    assert (await room.engine.snapshot(room.id)).phase is Phase.INTERRUPTED
    await room.engine.resume(room.id)
    await room.settled()
    assert room.texts == ["Good morning.", "Hello."]


async def test_whoever_waits_learns_of_a_failure_that_could_not_be_stored() -> None:
    room = Room(Fails(ModelUnavailable("buyer", "away")))
    room.store.faults["record_failure"] = DISK_FULL
    await room.engine.say(room.id, "Good morning.")
    failure = (await room.settled()).failure
    assert isinstance(failure, Failure)
    assert failure.detail == "away"


async def test_an_end_that_cannot_be_stored_leaves_an_open_turn() -> None:
    room = Room(NeverEnds("I"), Says("Hello."))
    await room.engine.say(room.id, "Good morning.")
    room.store.faults["end"] = DISK_FULL
    with pytest.raises(StoreError):
        await room.engine.finish(room.id)
    assert (await room.engine.snapshot(room.id)).phase is Phase.INTERRUPTED
    room.store.faults.clear()
    await room.engine.resume(room.id)
    await room.settled()
    assert room.texts == ["Good morning.", "Hello."]
