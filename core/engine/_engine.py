"""The dialogue engine."""

from __future__ import annotations

import asyncio
import functools
import logging
import math
import time
import weakref
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Concatenate, ParamSpec, TypeVar

from core.dialogues import Dialogue, EndReason, Failure, NewTurn, Role, Usage, utc_now
from core.engine._live import Live, Phase, Snapshot, settled_snapshot
from core.engine._ports import DialogueStore
from core.errors import (
    DialogueOver,
    InvalidInput,
    ModelError,
    ModelMisbehaved,
    NothingToAnswer,
    Problem,
    SalesfloorError,
    StillAnswering,
    TurnConflict,
    Unanswered,
)
from core.participants import CustomerSource, Reply, Restart, TextDelta
from core.threads import in_thread

__all__ = ["MAX_TURN_CHARACTERS", "DialogueEngine"]

logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

MAX_TURN_CHARACTERS = 4000
"""Longest turn of a person who sells. Far beyond speech, and well within every model's context."""


def _carried_through(
    operation: Callable[Concatenate[DialogueEngine, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[DialogueEngine, P], Coroutine[Any, Any, T]]:
    """Let an operation come to its end even if its caller is cancelled: a turn that is on disk must be answered."""

    @functools.wraps(operation)
    async def carried(engine: DialogueEngine, /, *args: P.args, **kwargs: P.kwargs) -> T:
        task = asyncio.create_task(operation(engine, *args, **kwargs))
        engine._operations.add(task)  # noqa: SLF001 (the decorator belongs to the engine)
        task.add_done_callback(engine._operations.discard)  # noqa: SLF001
        return await asyncio.shield(task)

    return carried


class DialogueEngine:
    """Runs every dialogue, sold by a person or by a model.

    :meth:`say` stores the salesperson's turn, then the customer answers in a task that belongs to the engine: the caller may go
    away. :meth:`follow` watches; it may be abandoned, and any number of followers may watch one dialogue.

    The store is called in worker threads and never during a model call. One engine belongs to one event loop. Several engines,
    in one process or in many, may work on one store: what was written first stands.
    """

    def __init__(self, store: DialogueStore, customers: CustomerSource) -> None:
        self._store = store
        self._customers = customers
        self._live: dict[str, Live] = {}
        # A lock lives for as long as somebody uses it: the store, not the engine, remembers dialogues.
        self._locks: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()
        self._operations: set[asyncio.Task[Any]] = set()
        self._closing = False

    @_carried_through
    async def say(
        self, dialogue_id: str, text: str, *, client_message_id: str | None = None, made: Reply | None = None
    ) -> Dialogue:
        """Store a salesperson turn and set the customer to answer it. Returns when the turn is on disk.

        Saying the same ``client_message_id`` again changes nothing and returns the dialogue as it stands. ``made`` is the model's
        reply that ``text`` is of: its model, settings, usage and flags go on record with the turn.
        Raises InvalidInput (empty, or too long for a person), StillAnswering, Unanswered, DialogueOver, NotFound, StoreError.
        """
        text = text.replace("\0", "").strip()
        if not text:
            raise InvalidInput(Problem("message", "it is empty", "write something first"))
        if made is None and len(text) > MAX_TURN_CHARACTERS:
            fault = f"it has {len(text):,} characters, of {MAX_TURN_CHARACTERS:,} at most"
            raise InvalidInput(Problem("message", fault, "shorten it"))
        async with self._lock(dialogue_id):
            # Looked up before reading: a reply begins only under this lock, but it may come to its end at any time.
            answering = dialogue_id in self._live
            dialogue = await self._load(dialogue_id)
            if _was_sent(dialogue, client_message_id):
                return dialogue
            if answering:
                raise StillAnswering
            if dialogue.is_over:
                raise DialogueOver
            if dialogue.awaits is Role.CUSTOMER:
                raise Unanswered
            turn = NewTurn(role=Role.SALESPERSON, text=text, client_message_id=client_message_id, **_record_of(made))
            try:
                dialogue = await self._append(dialogue, turn)
            except TurnConflict:
                # Another process on the same store was faster. If it stored this very message, all is well.
                dialogue = await self._load(dialogue_id)
                if _was_sent(dialogue, client_message_id):
                    return dialogue
                raise
            self._answer(dialogue)
            return dialogue

    @_carried_through
    async def begin(self, dialogue_id: str) -> Dialogue:
        """Let the customer open the dialogue, or the session, if it is theirs to open. Otherwise changes nothing."""
        async with self._lock(dialogue_id):
            if dialogue_id in self._live:
                return self._live[dialogue_id].dialogue
            dialogue = await self._load(dialogue_id)
            if not dialogue.session_turns and dialogue.awaits is Role.CUSTOMER:
                self._answer(dialogue)
            return dialogue

    @_carried_through
    async def resume(self, dialogue_id: str) -> Dialogue:
        """Ask the customer again for a reply that failed or was cut off. A reply that is being made goes on.

        A dialogue that ended by :attr:`EndReason.FAILED` is open again, whoever's turn it is.
        Raises NothingToAnswer, DialogueOver, NotFound.
        """
        async with self._lock(dialogue_id):
            if dialogue_id in self._live:
                return self._live[dialogue_id].dialogue
            dialogue = await self._load(dialogue_id)
            reopened = dialogue.ended_by is EndReason.FAILED
            if reopened:
                dialogue = await in_thread(lambda: self._store.reopen(dialogue_id))
            if dialogue.is_over:
                raise DialogueOver
            if dialogue.awaits is Role.CUSTOMER:
                self._answer(dialogue)
            elif not reopened:
                raise NothingToAnswer
            return dialogue

    @_carried_through
    async def finish(self, dialogue_id: str, *, reason: EndReason = EndReason.SALESPERSON) -> Dialogue:
        """End the dialogue. A reply in the making is dropped; finishing twice is harmless."""
        async with self._lock(dialogue_id):
            await self._drop(dialogue_id)
            return await in_thread(lambda: self._store.end(dialogue_id, reason, utc_now()))

    @_carried_through
    async def begin_session(self, dialogue_id: str) -> Dialogue:
        """Open a follow-up session of a dialogue that has ended; the customer begins it if the dialogue says so.

        Raises NothingToAnswer if the dialogue has not ended.
        """
        async with self._lock(dialogue_id):
            dialogue = await self._load(dialogue_id)
            if not dialogue.is_over:
                raise NothingToAnswer
            # It is over and yet being answered: another engine ended it.
            await self._drop(dialogue_id)
            dialogue = await in_thread(lambda: self._store.begin_session(dialogue_id, utc_now()))
            if dialogue.awaits is Role.CUSTOMER:
                self._answer(dialogue)
            return dialogue

    async def snapshot(self, dialogue_id: str) -> Snapshot:
        """The dialogue as it stands. Raises NotFound."""
        live = self._live.get(dialogue_id)
        return live.snapshot if live is not None else settled_snapshot(await self._load(dialogue_id))

    async def follow(self, dialogue_id: str, *, hertz: float = 8.0) -> AsyncGenerator[Snapshot, None]:
        """Yield the dialogue now, then while a reply is made, then as it has settled.

        The beginning of the reply and its end are shown at once, what comes in between at most ``hertz`` times a second.
        """
        clock = asyncio.get_running_loop().time
        while (live := self._live.get(dialogue_id)) is not None:
            due = -math.inf
            while not live.done:
                version = live.version
                yield live.snapshot
                await live.wait_beyond(version)
                await live.wait_done(due - clock())
                due = clock() + 1.0 / hertz
            if live.outcome is not None:
                yield live.outcome
                return
            await self._quiet(dialogue_id)
        yield settled_snapshot(await self._load(dialogue_id))

    async def settled(self, dialogue_id: str) -> Dialogue:
        """Wait until no reply is being made. A failed one shows as ``failure`` on the dialogue, even if that could not be stored.

        Raises NotFound.
        """
        while (live := self._live.get(dialogue_id)) is not None:
            await asyncio.wait([live.task])
            if live.outcome is not None:
                return live.outcome.dialogue
            await self._quiet(dialogue_id)
        return await self._load(dialogue_id)

    async def close(self) -> None:
        """Stop all replies in the making. Their turns stay open in the store and can be resumed.

        What is said from now on is stored, and not answered.
        """
        self._closing = True
        while self._operations:
            await asyncio.wait(self._operations)
        await self._drop(*self._live)

    # -- inside -------------------------------------------------------------------------------------------------------

    def _lock(self, dialogue_id: str) -> asyncio.Lock:
        lock = self._locks.get(dialogue_id)
        if lock is None:
            lock = self._locks[dialogue_id] = asyncio.Lock()
        return lock

    async def _quiet(self, dialogue_id: str) -> None:
        """Wait for whoever is at work on the dialogue: it cut a reply short, and has yet to write down why."""
        async with self._lock(dialogue_id):
            pass

    async def _load(self, dialogue_id: str) -> Dialogue:
        return await in_thread(lambda: self._store.load(dialogue_id))

    async def _append(self, dialogue: Dialogue, turn: NewTurn, ends: EndReason | None = None) -> Dialogue:
        """Put the turn after those of ``dialogue``, if the store has it as it was read."""
        index, session = len(dialogue.turns), dialogue.session
        return await in_thread(lambda: self._store.append(dialogue.id, turn, index, session=session, ends=ends))

    def _answer(self, dialogue: Dialogue) -> None:
        if self._closing:
            return
        live = self._live[dialogue.id] = Live(dialogue)
        live.task = asyncio.create_task(self._make_reply(live), name=f"reply {dialogue.id}")
        # Not in the task: one that is cancelled before its first step never runs, not even its ``finally``.
        live.task.add_done_callback(lambda _: self._retire(live))

    def _retire(self, live: Live) -> None:
        del self._live[live.dialogue.id]
        live.finish()

    async def _drop(self, *dialogue_ids: str) -> None:
        """Stop the replies that are being made to these dialogues."""
        tasks = [self._live[dialogue_id].task for dialogue_id in dialogue_ids if dialogue_id in self._live]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _make_reply(self, live: Live) -> None:
        dialogue = live.dialogue
        try:
            reply = await self._ask_customer(live)
            ends = EndReason.CUSTOMER if reply.leaves else None
            if ends is None and dialogue.rounds >= dialogue.max_rounds:
                ends = EndReason.ROUNDS
            turn = NewTurn(role=Role.CUSTOMER, text=reply.text, state=reply.state, **_record_of(reply))
            live.outcome = settled_snapshot(await self._append(dialogue, turn, ends))
        except (DialogueOver, TurnConflict):
            # Another engine on the same store has ended the dialogue, or answered first: what it wrote stands.
            logger.info("reply of dialogue %s came too late and was dropped", dialogue.id)
        except ModelError as error:
            await self._fail(live, error, error.model, error.detail, retryable=error.retryable)
        except SalesfloorError as error:
            await self._fail(live, error, dialogue.customer.name, str(error), retryable=True)
        except Exception as error:
            # A fault in a customer's code must not leave the salesperson waiting: it is logged whole and shown in short.
            logger.exception("reply of dialogue %s failed", dialogue.id)
            await self._fail(live, error, dialogue.customer.name, "an unexpected fault; the log has the details", retryable=True)

    async def _ask_customer(self, live: Live) -> Reply:
        name = live.dialogue.customer.name
        started, first_token_ms = time.perf_counter(), None
        customer = await self._customers.get(name)
        async with aclosing(customer.reply(live.dialogue)) as events:
            async for event in events:
                match event:
                    case TextDelta(text):
                        live.partial += text
                        first_token_ms = _ms_since(started) if first_token_ms is None else first_token_ms
                    case Restart():
                        live.partial = ""
                    case Reply():
                        if not event.text.replace("\0", "").strip():
                            raise ModelMisbehaved(name, "the reply was empty")
                        return replace(event, usage=_timed(event.usage, first_token_ms, _ms_since(started)))
                live.notify()
        raise ModelMisbehaved(name, "the reply did not come to an end")

    async def _fail(self, live: Live, error: Exception, model: str, detail: str, *, retryable: bool) -> None:
        failure = Failure(kind=type(error).__name__, model=model, detail=detail, retryable=retryable)
        try:
            dialogue = await in_thread(lambda: self._record_failure(live.dialogue, failure))
            if dialogue.failure != failure:
                return
        except Exception:
            # The store itself is in trouble (a full disk): those who follow are told all the same.
            logger.exception("failure of dialogue %s could not be recorded", live.dialogue.id)
            dialogue = live.dialogue.model_copy(update={"failure": failure})
        live.outcome = Snapshot(dialogue, Phase.FAILED, failure=failure)

    def _record_failure(self, asked: Dialogue, failure: Failure) -> Dialogue:
        current = self._store.load(asked.id)
        if current.is_over or (current.session, len(current.turns)) != (asked.session, len(asked.turns)):
            logger.info("failure of dialogue %s came too late: another engine has gone on with it", asked.id)
            return current
        return self._store.record_failure(asked.id, failure)


def _was_sent(dialogue: Dialogue, client_message_id: str | None) -> bool:
    return client_message_id is not None and any(turn.client_message_id == client_message_id for turn in dialogue.turns)


def _record_of(reply: Reply | None) -> dict[str, Any]:
    """What goes on record with a turn that a model made. Its ``state`` is not among it: only the customer's is handed back."""
    if reply is None:
        return {}
    return {"model": reply.model, "settings": reply.settings, "usage": reply.usage, "flags": reply.flags}


def _timed(usage: Usage | None, first_token_ms: float | None, latency_ms: float) -> Usage:
    """The usage that the customer reported, with times as the engine saw them where it reported none."""
    usage = usage or Usage()
    missing = {"first_token_ms": first_token_ms, "latency_ms": latency_ms}
    return usage.model_copy(update={name: ms for name, ms in missing.items() if getattr(usage, name) is None})


def _ms_since(started: float) -> float:
    return 1000.0 * (time.perf_counter() - started)
