"""Customers, salespeople and stores for tests of the engine: each behaves, or misbehaves, exactly as it is told.

::

    room = Room(Says("Hello."), Fails(ModelBusy("m", "too many requests")), Says("Bye.", leaves=True))
    await room.engine.say(room.id, "Good morning.")
    assert (await room.settled()).turns[-1].text == "Hello."
"""

from __future__ import annotations

import asyncio
import itertools
import re
import threading
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from core.dialogues import Dialogue, EndReason, Failure, Mode, NewTurn, Participant, Role, Usage
from core.engine import DialogueEngine, DialogueStore, MemoryDialogueStore, Snapshot
from core.errors import InvalidInput, Problem, StoreError
from core.participants import Reply, ReplyEvent, Restart, TextDelta
from core.scenarios import Language

NAME = "scripted"


@dataclass(frozen=True)
class Says:
    """Streams the text word by word, then replies with it. ``withdrawn`` is streamed first and taken back."""

    text: str
    leaves: bool = False
    withdrawn: str = ""
    usage: Usage | None = None
    state: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Fails:
    """Streams ``text``, then raises."""

    error: BaseException
    text: str = ""


@dataclass(frozen=True)
class BreaksOff:
    """Streams ``text`` and ends without a reply."""

    text: str = ""


@dataclass(frozen=True)
class NeverEnds:
    """Streams ``text`` and hangs."""

    text: str = ""


class Told:
    """Streams what it is told while it runs: events, or an error to raise. Ends with a :class:`Reply` or an error."""

    def __init__(self) -> None:
        self._events: asyncio.Queue[ReplyEvent | BaseException] = asyncio.Queue()

    def tell(self, *events: ReplyEvent | BaseException) -> None:
        for event in events:
            self._events.put_nowait(event)

    async def next(self) -> ReplyEvent:
        event = await self._events.get()
        if isinstance(event, BaseException):
            raise event
        return event


Step = Says | Fails | BreaksOff | NeverEnds | Told


class ScriptedCustomer:
    """Answers calls in order from a list, the last step repeating, or each by a function of the dialogue."""

    def __init__(self, steps: Sequence[Step] | Callable[[Dialogue], Step], *, name: str = NAME) -> None:
        self._steps = steps
        self._name = name
        self.calls: list[Dialogue] = []
        self.running = 0
        self.most_running = 0

    @property
    def participant(self) -> Participant:
        return Participant(kind="model", name=self._name)

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"kind": "scripted"}

    async def reply(self, dialogue: Dialogue) -> AsyncGenerator[ReplyEvent, None]:
        self.calls.append(dialogue)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            async for event in self._perform(self._next(dialogue)):
                yield event
        finally:
            self.running -= 1

    async def close(self) -> None:
        pass

    def _next(self, dialogue: Dialogue) -> Step:
        if callable(self._steps):
            return self._steps(dialogue)
        return self._steps[min(len(self.calls), len(self._steps)) - 1]

    async def _perform(self, step: Step) -> AsyncGenerator[ReplyEvent, None]:
        match step:
            case Told():
                while True:
                    yield await step.next()
            case Says():
                if step.withdrawn:
                    async for event in _streamed(step.withdrawn):
                        yield event
                    yield Restart("the connection was lost")
                async for event in _streamed(step.text):
                    yield event
                yield Reply(
                    text=step.text,
                    leaves=step.leaves,
                    model=self._name,
                    settings={"temperature": 0.8},
                    usage=step.usage,
                    state=step.state,
                )
            case Fails(error, text):
                async for event in _streamed(text):
                    yield event
                raise error
            case BreaksOff(text):
                async for event in _streamed(text):
                    yield event
            case NeverEnds(text):
                async for event in _streamed(text):
                    yield event
                await asyncio.Event().wait()


async def _streamed(text: str) -> AsyncGenerator[ReplyEvent, None]:
    for piece in re.findall(r"\s*\S+|\s+$", text):
        await asyncio.sleep(0)
        yield TextDelta(piece)


class Customers:
    """A source of customers by name. An unknown name is refused as the real source refuses it."""

    def __init__(self, *customers: ScriptedCustomer) -> None:
        self._customers = {customer.participant.name: customer for customer in customers}

    async def get(self, name: str) -> ScriptedCustomer:
        try:
            return self._customers[name]
        except KeyError:
            raise InvalidInput(Problem(f"model {name!r}", "there is no such model")) from None


class ScriptedSalesperson:
    """Says its lines in order, an error where one stands, and leaves with the last one if told so."""

    def __init__(self, *lines: str | BaseException, leaves: bool = False) -> None:
        self._lines = lines
        self._leaves = leaves
        self.calls: list[Dialogue] = []

    @property
    def participant(self) -> Participant:
        return Participant(kind="model", name="seller")

    async def reply(self, dialogue: Dialogue) -> AsyncGenerator[ReplyEvent, None]:
        self.calls.append(dialogue)
        place = min(len(self.calls), len(self._lines)) - 1
        line = self._lines[place]
        if isinstance(line, BaseException):
            raise line
        yield TextDelta(line)
        yield Reply(
            text=line,
            leaves=self._leaves and place == len(self._lines) - 1,
            model="seller-8b",
            settings={"temperature": 0.8},
            usage=Usage(prompt_tokens=7, completion_tokens=3, latency_ms=12.0),
            state={"private": True},
        )

    async def close(self) -> None:
        pass


class TroubledStore:
    """A store in memory that fails, or stands still, where it is told to.

    Operations are called by their method's name; ``append`` is ``"append salesperson"`` or ``"append customer"``.
    """

    def __init__(self, *dialogues: Dialogue) -> None:
        self.kept = MemoryDialogueStore(*dialogues)
        self.faults: dict[str, Exception] = {}
        self.calls: list[str] = []
        self._gates: dict[str, _Gate] = {}

    @contextmanager
    def held(self, operation: str) -> Iterator[_Gate]:
        """Let the operation stand still, before it changes anything, until the block ends or the gate is opened."""
        gate = self._gates[operation] = _Gate()
        try:
            yield gate
        finally:
            del self._gates[operation]
            gate.open()

    def load(self, dialogue_id: str) -> Dialogue:
        self._enter("load")
        return self.kept.load(dialogue_id)

    def append(
        self, dialogue_id: str, turn: NewTurn, index: int, *, session: int | None = None, ends: EndReason | None = None
    ) -> Dialogue:
        self._enter(f"append {turn.role.value}")
        return self.kept.append(dialogue_id, turn, index, session=session, ends=ends)

    def end(self, dialogue_id: str, reason: EndReason, at: datetime) -> Dialogue:
        self._enter("end")
        return self.kept.end(dialogue_id, reason, at)

    def record_failure(self, dialogue_id: str, failure: Failure) -> Dialogue:
        self._enter("record_failure")
        return self.kept.record_failure(dialogue_id, failure)

    def reopen(self, dialogue_id: str) -> Dialogue:
        self._enter("reopen")
        return self.kept.reopen(dialogue_id)

    def begin_session(self, dialogue_id: str, at: datetime) -> Dialogue:
        self._enter("begin_session")
        return self.kept.begin_session(dialogue_id, at)

    def _enter(self, operation: str) -> None:
        self.calls.append(operation)
        gate = self._gates.get(operation)
        if gate is not None:
            gate.pass_through()
        if operation in self.faults:
            raise self.faults[operation]


class _Gate:
    def __init__(self) -> None:
        self._reached = threading.Event()
        self._opened = threading.Event()

    def pass_through(self) -> None:
        self._reached.set()
        assert self._opened.wait(timeout=10.0), "nobody opened the gate"

    def open(self) -> None:
        self._opened.set()

    async def reached(self) -> None:
        """Wait until an operation stands at the gate."""
        await asyncio.to_thread(self._reached.wait, 10.0)


DISK_FULL = StoreError("store salesfloor.sqlite cannot grow because the disk is full; free some space and try again")


def a_dialogue(**changes: Any) -> Dialogue:
    """An open practice dialogue with the scripted customer and no scenario."""
    values: dict[str, Any] = {
        "language": Language.EN,
        "goal": "Sell the fixed deposit.",
        "mode": Mode.PRACTICE,
        "salesperson": Participant(kind="human", name="Mei"),
        "customer": Participant(kind="model", name=NAME),
    }
    return Dialogue(**{**values, **changes})


class Room:
    """An engine with one scripted customer and one dialogue in a store."""

    def __init__(self, *steps: Step, by: Callable[[Dialogue], Step] | None = None, **changes: Any) -> None:
        self.customer = ScriptedCustomer(by or steps or [Says("I see.")])
        dialogue = a_dialogue(**changes)
        self.store = TroubledStore(dialogue)
        self.id = dialogue.id
        self.engine = self.another_engine()

    def another_engine(self, store: DialogueStore | None = None) -> DialogueEngine:
        """As another process would have it, or this one after a restart."""
        return DialogueEngine(store or self.store, Customers(self.customer))

    @property
    def dialogue(self) -> Dialogue:
        """As it is stored."""
        return self.store.kept.load(self.id)

    @property
    def texts(self) -> list[str]:
        return [turn.text for turn in self.dialogue.turns]

    async def settled(self) -> Dialogue:
        return await self.engine.settled(self.id)

    async def say(self, text: str = "Good morning.", **options: Any) -> Dialogue:
        """Say something and wait for what becomes of it."""
        await self.engine.say(self.id, text, **options)
        return await self.settled()

    async def follow(self, engine: DialogueEngine | None = None, *, hertz: float = 1000.0) -> list[Snapshot]:
        return [snapshot async for snapshot in (engine or self.engine).follow(self.id, hertz=hertz)]


async def until(condition: Callable[[], object]) -> None:
    """Let other tasks run until the condition holds."""
    async with asyncio.timeout(5.0):
        while not condition():
            await asyncio.sleep(0.001)


def alternates(dialogue: Dialogue) -> bool:
    """Whether turns are numbered without a gap, sessions only go up, and the speakers alternate within each."""
    turns = dialogue.turns
    in_order = [turn.index for turn in turns] == list(range(len(turns)))
    pairs = list(itertools.pairwise(turns))
    return in_order and all(a.session < b.session or (a.session == b.session and a.role is not b.role) for a, b in pairs)


def salesperson_turns(dialogue: Dialogue) -> list[str]:
    return [turn.text for turn in dialogue.turns if turn.role is Role.SALESPERSON]
