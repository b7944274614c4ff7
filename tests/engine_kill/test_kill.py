"""kill -9 at random moments: what was promised is there, once, and what was cut off goes on."""

from __future__ import annotations

import asyncio
import multiprocessing
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from core.customers.embedded.customer import NAME as EMBEDDED
from core.customers.embedded.customer import EmbeddedCustomer
from core.customers.embedded.understanding import understand
from core.dialogues import Dialogue, Role
from core.engine import DialogueEngine, MemoryDialogueStore, Phase
from core.participants import SingleCustomer
from data.dialogues import DialogueFilter, DialogueRepository, SqlDialogueStore
from data.store import Store
from tests.engine_kill import life
from tests.engine_kill.life import Ended, Replied, Resumed, Said, Started, Word, line_at
from tests.support.customers import alternates
from tests.support.store_factory import new_dialogue, sqlite_url

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

Stop = Callable[[list[Word], float], bool]
"""Given what one life has told so far and the seconds since its first word: is this the moment?"""


class Witness:
    """Starts lives on one store, kills them, and compares what they promised with what is there."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.store = Store(url)
        self.store.migrate()
        self.told: list[Word] = []
        self.kills = 0
        self._known: dict[str, Dialogue] = {}
        self._processes = multiprocessing.get_context("forkserver")
        self._processes.set_forkserver_preload(["tests.engine_kill.preloaded"])

    # -- lives --------------------------------------------------------------------------------------------------------

    @contextmanager
    def alive(self, seed: int) -> Iterator[tuple[BaseProcess, Connection]]:
        """A life on the store. It is killed, if it still lives, when the block ends."""
        listening, speaking = self._processes.Pipe(duplex=False)
        arguments = (self.url, new_dialogue(), self.open_ids(), seed, speaking)
        process = self._processes.Process(target=life.run, args=arguments, daemon=True)
        process.start()
        speaking.close()
        try:
            yield process, listening
        finally:
            process.kill()
            process.join(10.0)
            self._hear_out(listening)
            listening.close()
            process.close()

    def live_and_die(self, seed: int, stop: Stop) -> list[Word]:
        """Run one life and kill it at the moment that ``stop`` says. Returns what it told."""
        before = len(self.told)
        with self.alive(seed) as (process, pipe):
            self._listen(pipe, stop)
            assert process.is_alive(), "it ended by itself"
        self.kills += 1
        return self.told[before:]

    def _listen(self, pipe: Connection, stop: Stop) -> None:
        heard: list[Word] = []
        assert pipe.poll(30.0), "nothing was told within 30 s"
        began = time.monotonic()
        while not stop(heard, time.monotonic() - began):
            if pipe.poll(0.001):
                heard.append(pipe.recv())
                self.told.append(heard[-1])

    def _hear_out(self, pipe: Connection) -> None:
        """What was told before the kill counts, heard or not."""
        try:
            while pipe.poll(0.0):
                self.told.append(pipe.recv())
        except EOFError:
            pass

    # -- what is there ------------------------------------------------------------------------------------------------

    def dialogues(self) -> dict[str, Dialogue]:
        with self.store.reading() as session:
            return {dialogue.id: dialogue for dialogue in DialogueRepository(session).iterate(DialogueFilter())}

    def open_ids(self) -> list[str]:
        stored = self.dialogues().values()
        return [dialogue.id for dialogue in stored if not (dialogue.is_over and dialogue.session >= life.SESSIONS)]

    def examine(self) -> None:
        """Nothing promised is missing, nothing is doubled, and what was once there is there unchanged."""
        stored = self.dialogues()
        for word in self.told:
            self._expect(word, stored[word.dialogue_id])
        for dialogue in stored.values():
            self._examine_dialogue(dialogue)
        for dialogue_id, known in self._known.items():
            assert stored[dialogue_id].turns[: len(known.turns)] == known.turns, "a stored turn has changed"
        self._known = stored

    def _expect(self, word: Word, dialogue: Dialogue) -> None:
        match word:
            case Said(_, index, text):
                assert dialogue.turns[index].role is Role.SALESPERSON
                assert dialogue.turns[index].text == text == line_at(dialogue.id, index)
            case Replied(_, index, text):
                assert dialogue.turns[index].role is Role.CUSTOMER
                assert dialogue.turns[index].text == text
            case Ended(_, session, turns):
                # What came later belongs to a later session.
                assert sum(turn.session <= session for turn in dialogue.turns) == turns
                assert dialogue.session > session or dialogue.is_over
            case Started() | Resumed():
                pass

    def _examine_dialogue(self, dialogue: Dialogue) -> None:
        assert alternates(dialogue)
        message_ids = [turn.client_message_id for turn in dialogue.turns if turn.role is Role.SALESPERSON]
        assert message_ids == [f"{dialogue.id}:{turn.index}" for turn in dialogue.turns if turn.role is Role.SALESPERSON]
        texts = [turn.text for turn in dialogue.turns if turn.role is Role.SALESPERSON or dialogue.customer.name != EMBEDDED]
        assert len(set(texts)) == len(texts), "a turn was doubled"
        for session in range(1, dialogue.session + 1):
            turns = [turn for turn in dialogue.turns if turn.session == session]
            assert sum(turn.role is Role.SALESPERSON for turn in turns) <= dialogue.max_rounds
            assert not turns or turns[0].role.value == dialogue.opens.value


@pytest.fixture
def witness(tmp_path: Path) -> Iterator[Witness]:
    witness = Witness(sqlite_url(tmp_path / "data"))
    yield witness
    witness.store.close()


def after(seconds: float) -> Stop:
    return lambda _, elapsed: elapsed >= seconds


def at_word(number: int) -> Stop:
    """Right after that word was told: at the point between one step and the next."""
    return lambda heard, elapsed: len(heard) >= number or elapsed > 2.0


def moments(seed: int, count: int) -> list[Stop]:
    chance = random.Random(seed)
    return [after(chance.uniform(0.0, 0.3)) if chance.random() < 0.5 else at_word(chance.randint(1, 60)) for _ in range(count)]


def test_fifty_kills_lose_and_double_nothing(witness: Witness) -> None:
    for seed, stop in enumerate(moments(seed=2026, count=50)):
        witness.live_and_die(seed, stop)
        witness.examine()
    assert witness.kills >= 50

    told = Counter(type(word) for word in witness.told)
    assert told[Said] > 200, told
    assert told[Replied] > 200, told
    assert told[Ended] > 20, told
    # The kills did hit replies in the making, and those were asked for again.
    assert told[Resumed] > 20, told
    _repeat_with_the_embedded_customer(witness)
    _bring_to_an_end(witness)


def test_two_processes_on_one_store_and_kills_of_either(witness: Witness) -> None:
    chance = random.Random(7)
    with witness.alive(1000) as (_, pipe):
        witness._listen(pipe, at_word(40))  # something for both to quarrel about
    witness.examine()
    for seed in range(12):
        with witness.alive(2 * seed) as (first, one), witness.alive(2 * seed + 1) as (second, other):
            assert wait([one], timeout=30.0)
            assert wait([other], timeout=30.0)
            deadline = time.monotonic() + chance.uniform(0.05, 0.4)
            while time.monotonic() < deadline:
                for pipe in wait([one, other], timeout=0.01):
                    assert isinstance(pipe, Connection)
                    witness.told.append(pipe.recv())
            assert first.is_alive()
            assert second.is_alive()
            chance.choice([first, second]).kill()
            witness.kills += 1
            time.sleep(0.05)
        witness.examine()
    both = Counter(word for word in witness.told if isinstance(word, Said))
    assert max(both.values()) == 2, "the two never met"
    _bring_to_an_end(witness)


def _repeat_with_the_embedded_customer(witness: Witness) -> None:
    """The customer is seeded: without any kill the same lines are answered with the same words."""
    resumed = {word.dialogue_id for word in witness.told if isinstance(word, Resumed)}
    interrupted = [
        dialogue for dialogue in witness.dialogues().values() if dialogue.id in resumed and dialogue.customer.name == EMBEDDED
    ]
    assert interrupted, "no reply of the embedded customer was cut off"
    for dialogue in interrupted:
        asyncio.run(_compare(dialogue))


async def _compare(dialogue: Dialogue) -> None:
    fresh = dialogue.model_copy(update={"turns": (), "session": 1, "ended_by": None, "ended_at": None, "failure": None})
    engine = DialogueEngine(MemoryDialogueStore(fresh), SingleCustomer(EmbeddedCustomer(understand=understand, typing_speed=0.0)))
    await engine.begin(fresh.id)
    expected = [turn.text for turn in dialogue.turns if turn.session == 1]
    for turn in dialogue.turns:
        if turn.session == 1 and turn.role is Role.SALESPERSON:
            await engine.settled(fresh.id)
            await engine.say(fresh.id, turn.text)
    again = await engine.settled(fresh.id)
    assert [turn.text for turn in again.turns][: len(expected)] == expected


def _bring_to_an_end(witness: Witness) -> None:
    """Every dialogue that was left behind can be taken up and brought to its end, with nothing but the public operations."""
    asyncio.run(_finish_all(witness))
    assert all(dialogue.is_over for dialogue in witness.dialogues().values())
    witness.examine()


async def _finish_all(witness: Witness) -> None:
    customers = life._Customers(seed=0)
    engine = DialogueEngine(SqlDialogueStore(witness.store), customers)
    for dialogue_id in witness.open_ids():
        await engine.begin(dialogue_id)
        while (snapshot := await engine.snapshot(dialogue_id)).phase is not Phase.OVER:
            match snapshot.phase:
                case Phase.INTERRUPTED | Phase.FAILED:
                    await engine.resume(dialogue_id)
                case Phase.SALESPERSON:
                    index = len(snapshot.dialogue.turns)
                    await engine.say(dialogue_id, line_at(dialogue_id, index), client_message_id=f"{dialogue_id}:{index}")
            await engine.settled(dialogue_id)
    await engine.close()
