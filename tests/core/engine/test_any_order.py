"""Whatever is done in whatever order, by two engines on one store: nothing is lost, doubled or out of place."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from hypothesis import HealthCheck, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from core.dialogues import Dialogue, EndReason, Role
from core.engine import DialogueEngine, Phase
from core.errors import (
    ContextOverflow,
    ModelBusy,
    ModelMisbehaved,
    ModelRejected,
    ModelUnavailable,
    NothingToAnswer,
    Refused,
    SalesfloorError,
    StoreError,
)
from core.participants import Reply, ReplyEvent, Restart, TextDelta
from core.scenarios import Opener
from core.threads import in_thread
from tests.support.customers import (
    DISK_FULL,
    Room,
    Told,
    alternates,
    salesperson_turns,
)

ERRORS = (
    ModelUnavailable("buyer", "away"),
    ModelBusy("buyer", "busy"),
    ModelRejected("buyer", "wrong key"),
    ContextOverflow("buyer", "too long"),
    ModelMisbehaved("buyer", "odd"),
    RuntimeError("a fault in the customer's code"),
)
ENGINES = st.integers(0, 1)


class AnyOrder(RuleBasedStateMachine):
    """Drives two engines on one store, and keeps a book of its own of what was promised to whom."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.said: list[str] = []
        """Texts that were promised to be stored, in order."""
        self.ids: list[str] = []
        self.replies: set[str] = set()
        """Texts that a customer finished, stored or not."""
        self.frozen: tuple[int, int] | None = None
        """Session and number of turns when the dialogue ended."""
        self.streams: list[Told] = []
        self.count = 0

    @initialize(opens=st.sampled_from(Opener), max_rounds=st.integers(1, 3))
    def open(self, opens: Opener, max_rounds: int) -> None:
        self.room = Room(by=self._ask, opens=opens, max_rounds=max_rounds)
        self.engines = [self.room.engine, self.room.another_engine()]

    def _ask(self, dialogue: Dialogue) -> Told:
        assert dialogue.awaits is Role.CUSTOMER
        self.streams.append(Told())
        return self.streams[-1]

    def _new_text(self, kind: str) -> str:
        self.count += 1
        return f"{kind} {self.count}"

    def _run(self, operation: Coroutine[Any, Any, Any]) -> Any:
        async def bounded() -> Any:
            async with asyncio.timeout(10.0):
                result = await operation
                await _rest()
                return result

        return self.runner.run(bounded())

    def _try(self, operation: Coroutine[Any, Any, Any], *expected: type[SalesfloorError]) -> bool:
        """Run it; False if it was refused. A refusal changes nothing."""
        before = self.room.dialogue
        try:
            self._run(operation)
        except expected as error:
            note(f"refused: {error}")
            # A store that fails in the middle of `finish` has dropped the reply by then; the turns are the same.
            assert self.room.dialogue.turns == before.turns
            return False
        return True

    # -- the salesperson ----------------------------------------------------------------------------------------------

    @rule(engine=ENGINES, with_id=st.booleans())
    def say(self, engine: int, with_id: bool) -> None:
        text = self._new_text("line")
        message_id = f"message-{self.count}" if with_id else None
        if self._try(self.engines[engine].say(self.room.id, text, client_message_id=message_id), Refused, StoreError):
            self.said.append(text)
            if message_id is not None:
                self.ids.append(message_id)

    @precondition(lambda self: self.ids)
    @rule(engine=ENGINES, data=st.data())
    def say_again(self, engine: int, data: st.DataObject) -> None:
        message_id = data.draw(st.sampled_from(self.ids))
        before = self.room.dialogue
        self._run(self.engines[engine].say(self.room.id, "whatever the text", client_message_id=message_id))
        assert self.room.dialogue == before

    @rule(steps=st.integers(0, 12))
    def say_and_go_away(self, steps: int) -> None:
        text = self._new_text("line")

        async def go_away() -> None:
            saying = asyncio.create_task(self.engines[0].say(self.room.id, text))
            for _ in range(steps):
                await asyncio.sleep(0)
            saying.cancel()
            await asyncio.wait([saying])
            if not saying.cancelled():
                saying.exception()
            while self.engines[0]._operations:
                await asyncio.wait(self.engines[0]._operations)

        self._run(go_away())
        # Nobody was told, so either is right; half of it would not be.
        if text in self.room.texts:
            self.said.append(text)

    @rule(with_id=st.booleans())
    def say_twice_at_once(self, with_id: bool) -> None:
        texts = [self._new_text("line"), self._new_text("line")]
        message_id = f"message-{self.count}" if with_id else None

        async def both() -> list[Dialogue | BaseException]:
            return await asyncio.gather(
                *[self.engines[0].say(self.room.id, text, client_message_id=message_id) for text in texts],
                return_exceptions=True,
            )

        outcomes = self._run(both())
        assert all(isinstance(outcome, Dialogue | Refused | StoreError) for outcome in outcomes)
        taken = [text for text in texts if text in self.room.texts]
        assert len(taken) <= 1
        accepted = sum(isinstance(outcome, Dialogue) for outcome in outcomes)
        assert accepted == (2 * len(taken) if with_id else len(taken))
        self.said += taken
        if taken and message_id is not None:
            self.ids.append(message_id)

    @rule(engine=ENGINES)
    def begin(self, engine: int) -> None:
        self._run(self.engines[engine].begin(self.room.id))

    @rule(engine=ENGINES)
    def resume(self, engine: int) -> None:
        awaits = self.room.dialogue.awaits
        ended_by = self.room.dialogue.ended_by
        if not self._try(self.engines[engine].resume(self.room.id), Refused):
            assert awaits is not Role.CUSTOMER
            assert ended_by is not EndReason.FAILED
        elif ended_by is EndReason.FAILED:
            self.frozen = None

    @rule(engine=ENGINES, reason=st.sampled_from([EndReason.SALESPERSON, EndReason.FAILED]))
    def finish(self, engine: int, reason: EndReason) -> None:
        if self._try(self.engines[engine].finish(self.room.id, reason=reason), StoreError):
            assert self.room.dialogue.is_over

    @rule(engine=ENGINES)
    def begin_session(self, engine: int) -> None:
        session = self.room.dialogue.session
        if self._try(self.engines[engine].begin_session(self.room.id), NothingToAnswer):
            self.frozen = None
            session += 1
        assert self.room.dialogue.session == session

    # -- the customer -------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.streams)
    @rule(event=st.sampled_from(["delta", "restart"]), data=st.data())
    def stream(self, event: str, data: st.DataObject) -> None:
        event_to_tell: ReplyEvent = TextDelta("word ") if event == "delta" else Restart("again")
        self._tell(data.draw(st.sampled_from(self.streams)), event_to_tell)

    @precondition(lambda self: self.streams)
    @rule(leaves=st.booleans(), blank=st.booleans(), data=st.data())
    def reply(self, leaves: bool, blank: bool, data: st.DataObject) -> None:
        text = "  " if blank and leaves else self._new_text("reply")
        self.replies.add(text)
        stream = data.draw(st.sampled_from(self.streams))
        self.streams.remove(stream)
        self._tell(stream, Reply(text, leaves=leaves))

    @precondition(lambda self: self.streams)
    @rule(error=st.sampled_from(ERRORS), data=st.data())
    def fail(self, error: Exception, data: st.DataObject) -> None:
        stream = data.draw(st.sampled_from(self.streams))
        self.streams.remove(stream)
        self._tell(stream, error)

    def _tell(self, stream: Told, event: ReplyEvent | BaseException) -> None:
        """Tell a stream, which may have been dropped by now; nobody hears that."""

        async def tell() -> None:
            stream.tell(event)
            await _rest()

        self._run(tell())

    # -- the world ----------------------------------------------------------------------------------------------------

    @rule(operation=st.sampled_from(["append salesperson", "append customer", "record_failure", "end"]))
    def fill_the_disk(self, operation: str) -> None:
        self.room.store.faults[operation] = DISK_FULL

    @rule()
    def free_the_disk(self) -> None:
        self.room.store.faults.clear()

    @rule(engine=ENGINES)
    def restart(self, engine: int) -> None:
        self._run(self.engines[engine].close())
        self.engines[engine] = self.room.another_engine()

    @rule(engine=ENGINES)
    def crash(self, engine: int) -> None:
        """The program is gone between two steps: its tasks stop, and nothing is tidied up."""

        async def vanish() -> None:
            tasks = [live.task for live in self.engines[engine]._live.values()]
            self.engines[engine] = self.room.another_engine()
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks)

        self._run(vanish())

    @rule(engine=ENGINES)
    def look(self, engine: int) -> None:
        """A page that looks and goes away again."""

        async def peek() -> Phase:
            snapshots = self.engines[engine].follow(self.room.id)
            snapshot = await anext(snapshots)
            await snapshots.aclose()
            return snapshot.phase

        phase = self._run(peek())
        running = self.room.id in self.engines[engine]._live
        assert (phase is Phase.ANSWERING) == running
        if not running:
            awaits = self.room.dialogue.awaits
            assert (phase is Phase.OVER) == (awaits is None)
            assert (phase is Phase.SALESPERSON) == (awaits is Role.SALESPERSON)

    # -- what holds at all times --------------------------------------------------------------------------------------

    @invariant()
    def turns_are_in_order(self) -> None:
        assert alternates(self.room.dialogue)

    @invariant()
    def each_session_is_opened_by_whose_turn_it_is(self) -> None:
        dialogue = self.room.dialogue
        opened = {turn.session: turn.role for turn in reversed(dialogue.turns)}
        assert all(role.value == dialogue.opens.value for role in opened.values())

    @invariant()
    def what_was_promised_is_there_once_and_in_order(self) -> None:
        assert salesperson_turns(self.room.dialogue) == self.said

    @invariant()
    def replies_are_the_customers_own_and_never_doubled(self) -> None:
        stored = [turn.text for turn in self.room.dialogue.turns if turn.role is Role.CUSTOMER]
        assert len(set(stored)) == len(stored)
        assert set(stored) <= self.replies - {"  "}

    @invariant()
    def no_session_has_too_many_rounds(self) -> None:
        dialogue = self.room.dialogue
        for session in range(1, dialogue.session + 1):
            turns = [turn for turn in dialogue.turns if turn.session == session]
            assert sum(turn.role is Role.SALESPERSON for turn in turns) <= dialogue.max_rounds
        if dialogue.rounds == dialogue.max_rounds and dialogue.session_turns[-1].role is Role.CUSTOMER:
            assert dialogue.is_over

    @invariant()
    def nothing_follows_the_end(self) -> None:
        dialogue = self.room.dialogue
        now = (dialogue.session, len(dialogue.turns))
        if self.frozen is not None:
            assert now == self.frozen
            assert dialogue.is_over
        if dialogue.is_over:
            self.frozen = now

    @invariant()
    def a_failure_is_the_customers_or_the_disks(self) -> None:
        failure = self.room.dialogue.failure
        if failure is not None:
            assert failure.kind in {type(error).__name__ for error in (*ERRORS, DISK_FULL)}
            assert self.room.dialogue.awaits is not Role.SALESPERSON

    @invariant()
    def each_engine_asks_one_customer_at_a_time(self) -> None:
        assert self.room.customer.running <= len(self.engines)
        for engine in self.engines:
            assert len(engine._live) <= 1
            assert not engine._operations

    def teardown(self) -> None:
        if hasattr(self, "room"):
            self.room.store.faults.clear()
            self._run(_close(self.engines))
            assert self.room.customer.running == 0
            self._run(self._play_to_the_end())
        self.runner.close()

    async def _play_to_the_end(self) -> None:
        """From wherever it stands, the dialogue can be brought to its end."""
        engine, dialogue = self.room.another_engine(), self.room.dialogue
        if dialogue.ended_by is EndReason.FAILED or dialogue.awaits is Role.CUSTOMER:
            dialogue = await engine.resume(self.room.id)
        if dialogue.awaits is Role.CUSTOMER:
            while not self.room.customer.running:
                await asyncio.sleep(0)
            self.streams[-1].tell(Reply("The last word.", leaves=True))
            assert (await engine.settled(self.room.id)).turns[-1].text == "The last word."
        assert (await engine.finish(self.room.id)).is_over
        assert alternates(self.room.dialogue)
        await engine.close()


async def _close(engines: list[DialogueEngine]) -> None:
    for engine in engines:
        await engine.close()


async def _rest() -> None:
    """Let everything that was set going come to rest: no worker thread at work, and a few steps without one."""
    quiet = 0
    while quiet < 8:
        busy = any(task.get_name() == in_thread.__name__ for task in asyncio.all_tasks())
        quiet = 0 if busy else quiet + 1
        await asyncio.sleep(0)


def test_the_invariants_hold_in_any_order() -> None:
    # The faults that are told to happen are logged with their tracebacks, thousands of times.
    logging.disable(logging.ERROR)
    try:
        AnyOrder.TestCase.settings = settings(
            max_examples=40, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
        )
        AnyOrder.TestCase().runTest()
    finally:
        logging.disable(logging.NOTSET)
