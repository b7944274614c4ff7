"""One life of the program: it sells to simulated customers over a real store, and tells a witness what it was promised.

The witness is on the other end of a pipe and outlives it. Whatever is told there was promised: a line when ``say`` returned, a
reply when it had settled, an end when ``finish`` returned. A life goes on until it is killed.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from core.customers.embedded.customer import NAME as EMBEDDED
from core.customers.embedded.customer import EmbeddedCustomer
from core.customers.embedded.understanding import understand
from core.dialogues import Dialogue, Participant, Role, new_dialogue_id
from core.engine import DialogueEngine, Phase
from core.errors import ModelUnavailable, Refused, TurnConflict
from core.participants import Customer, Reply, ReplyEvent, TextDelta
from core.scenarios import Opener
from data.dialogues import DialogueRepository, SqlDialogueStore
from data.store import Store

SCRIPTED = "scripted"
WORKERS = 6
SESSIONS = 2
LINES = (
    "Good morning! What matters most to you?",
    "How do you keep your savings today?",
    "What would you want to do with the money, and when?",
    "The rate is fixed for the whole term, and the deposit is insured.",
    "Shall we open it on Thursday at ten, here at the branch?",
    "Is there anything that holds you back?",
)


@dataclass(frozen=True)
class Started:
    dialogue_id: str


@dataclass(frozen=True)
class Said:
    dialogue_id: str
    index: int
    text: str


@dataclass(frozen=True)
class Replied:
    dialogue_id: str
    index: int
    text: str


@dataclass(frozen=True)
class Ended:
    dialogue_id: str
    session: int
    turns: int


@dataclass(frozen=True)
class Resumed:
    """Promises nothing; told so that the witness knows that it was tried."""

    dialogue_id: str
    index: int


Word = Started | Said | Replied | Ended | Resumed


def line_at(dialogue_id: str, index: int) -> str:
    """What is said at that place, by whichever life and however often: a browser sends an unconfirmed message again."""
    return f"{LINES[index // 2 % len(LINES)]} ({dialogue_id[-4:]}/{index})"


def run(url: str, template: Dialogue, open_ids: Sequence[str], seed: int, pipe: Connection) -> None:
    """Live. ``template`` is what new dialogues are made from, ``open_ids`` are those that earlier lives left behind."""
    asyncio.run(_Life(url, template, open_ids, seed, pipe).live())


class _Life:
    def __init__(self, url: str, template: Dialogue, open_ids: Sequence[str], seed: int, pipe: Connection) -> None:
        self._store = Store(url)
        self._template = template
        self._open = list(open_ids)
        self._random = random.Random(seed)
        self._pipe = pipe
        self._engine = DialogueEngine(SqlDialogueStore(self._store), _Customers(seed))

    async def live(self) -> None:
        async with asyncio.TaskGroup() as workers:
            for _ in range(WORKERS):
                workers.create_task(self._work())

    def _tell(self, word: Word) -> None:
        self._pipe.send(word)

    async def _work(self) -> None:
        while True:
            dialogue_id = self._open.pop(0) if self._open else self._start()
            await self._sell(dialogue_id)

    def _start(self) -> str:
        customer = self._random.choice([SCRIPTED, SCRIPTED, EMBEDDED])
        dialogue = self._template.model_copy(
            update={
                "id": new_dialogue_id(),
                "customer": Participant(kind="model", name=customer),
                "seed": self._random.randrange(2**31),
                "max_rounds": self._random.randint(1, 6),
                "opens": self._random.choice(list(Opener)),
            }
        )
        with self._store.session() as session:
            DialogueRepository(session).add(dialogue)
        self._tell(Started(dialogue.id))
        return dialogue.id

    async def _sell(self, dialogue_id: str) -> None:
        """Bring a dialogue to the end of its last session, from wherever it stands."""
        await self._engine.begin(dialogue_id)
        while True:
            snapshot = await self._engine.snapshot(dialogue_id)
            dialogue = snapshot.dialogue
            try:
                match snapshot.phase:
                    case Phase.OVER if dialogue.session >= SESSIONS:
                        self._tell(Ended(dialogue_id, dialogue.session, len(dialogue.turns)))
                        return
                    case Phase.OVER:
                        await self._engine.begin_session(dialogue_id)
                    case Phase.SALESPERSON if dialogue.turns and self._random.random() < 0.08:
                        finished = await self._engine.finish(dialogue_id)
                        self._tell(Ended(dialogue_id, finished.session, len(finished.turns)))
                    case Phase.SALESPERSON:
                        await self._say(dialogue)
                    case Phase.FAILED | Phase.INTERRUPTED:
                        await self._engine.resume(dialogue_id)
                        self._tell(Resumed(dialogue_id, len(dialogue.turns)))
                    case Phase.ANSWERING:
                        await self._await_reply(dialogue_id)
            except (Refused, TurnConflict):
                # Another process on the same store was there first; look again.
                await asyncio.sleep(0.01 * self._random.random())

    async def _say(self, dialogue: Dialogue) -> None:
        index = len(dialogue.turns)
        message_id = f"{dialogue.id}:{index}"
        said = await self._engine.say(dialogue.id, line_at(dialogue.id, index), client_message_id=message_id)
        turn = next(turn for turn in said.turns if turn.client_message_id == message_id)
        self._tell(Said(dialogue.id, turn.index, turn.text))

    async def _await_reply(self, dialogue_id: str) -> None:
        dialogue = await self._engine.settled(dialogue_id)
        if dialogue.failure is None and dialogue.turns and dialogue.turns[-1].role is Role.CUSTOMER:
            last = dialogue.turns[-1]
            self._tell(Replied(dialogue_id, last.index, last.text))


class _SlowCustomer:
    """Streams for a few milliseconds, and now and then fails, or leaves. No two of its replies are alike."""

    participant = Participant(kind="model", name=SCRIPTED)
    settings: Mapping[str, Any] = {}

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    async def reply(self, dialogue: Dialogue) -> AsyncGenerator[ReplyEvent, None]:
        text = f"Reply {self._random.getrandbits(64):016x} to turn {len(dialogue.turns)}."
        for piece in text.split():
            await asyncio.sleep(0.002 * self._random.random())
            yield TextDelta(piece + " ")
            if self._random.random() < 0.02:
                raise ModelUnavailable(SCRIPTED, "the connection was lost")
        yield Reply(text, leaves=self._random.random() < 0.1, state={"last": text})

    async def close(self) -> None:
        pass


class _Customers:
    def __init__(self, seed: int) -> None:
        embedded = EmbeddedCustomer(understand=understand, typing_speed=0.0)
        self._customers: dict[str, Customer] = {SCRIPTED: _SlowCustomer(seed), EMBEDDED: embedded}

    async def get(self, name: str) -> Customer:
        return self._customers[name]
