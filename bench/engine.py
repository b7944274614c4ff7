"""What the engine adds to a model's own time: to the first words on view, and to the complete reply.

    python bench/engine.py                    # the table, in about three minutes
    python bench/engine.py --quick            # a look, in half a minute
    python bench/engine.py --rate 80 --delay 0.1

Compared on the very same requests, against the same local server, with the same client library, in one process:

direct          the ``openai`` client, called with nothing in between
engine, memory  ``DialogueEngine`` and ``ModelCustomer`` as the app wires them, over a store in memory
engine, SQLite  the same over a SQLite file, each turn on disk before anything goes on

For the engine, a round begins with ``say`` and is on view when ``follow`` shows it, as a page would.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

import openai

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench._measure import Arm, Model, Outcomes, Round, Speak, Stopwatch, compare, medians, print_table, serving
from core.customers.model_customer import ModelCustomer
from core.customers.registry import Customers
from core.dialogues import Dialogue, EndReason, Failure, Mode, NewTurn, Participant
from core.engine import DialogueEngine, DialogueStore, MemoryDialogueStore, Phase
from core.models import ChatRequest, ScriptedBackend
from core.participants import SingleCustomer
from core.scenarios import Scenario
from core.settings import ModelEndpoint, Sampling, Settings
from data.dialogues import DialogueRepository, SqlDialogueStore
from data.library import SHIPPED_LIBRARY, load
from data.store import Store

CUSTOMER = "measured"
DIRECT = "direct"
LINES = ("Good morning! What matters most to you?", "The rate is fixed for the whole term.", "Shall we meet on Thursday at ten?")
AIM = 1.05

T = TypeVar("T")


def line_at(number: int) -> str:
    return LINES[number % len(LINES)]


def new_dialogue(scenario: Scenario, rounds: int) -> Dialogue:
    return Dialogue.of(
        scenario,
        mode=Mode.PRACTICE,
        salesperson=Participant(kind="human", name="bench"),
        customer=Participant(kind="model", name=CUSTOMER),
        max_rounds=rounds + 2,
    ).model_copy(update={"opens": "salesperson"})


def endpoint(base_url: str) -> ModelEndpoint:
    return ModelEndpoint.model_validate({"base_url": base_url, "model": "test", "reply_format": "text"})


# -- the arms ---------------------------------------------------------------------------------------------------------


async def requests_of(scenario: Scenario, model: Model, rounds: int) -> list[ChatRequest]:
    """What the engine asks the model in each round of such a dialogue, so that the direct arm can ask the same."""
    reply = "".join(f" word{place}" for place in range(model.tokens))
    backend = ScriptedBackend(lambda _: reply)
    dialogue = new_dialogue(scenario, rounds)
    customer = ModelCustomer(backend, Sampling(), CUSTOMER, "text")
    engine = DialogueEngine(MemoryDialogueStore(dialogue), SingleCustomer(customer))
    for number in range(rounds + 1):
        await engine.say(dialogue.id, line_at(number))
        await engine.settled(dialogue.id)
    return backend.requests


def direct_arm(base_url: str, requests: list[ChatRequest]) -> Arm:
    @asynccontextmanager
    async def ready(_: int) -> AsyncIterator[Speak]:
        client = openai.AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0)

        async def speak(_: int, number: int) -> Round:
            request = requests[number]
            watch = Stopwatch()
            stream: Any = await client.chat.completions.create(
                model="test",
                messages=[{"role": message.role, "content": message.content} for message in request.messages],  # type: ignore[misc]
                temperature=request.sampling.temperature,
                top_p=request.sampling.top_p,
                max_tokens=request.sampling.max_tokens,
                seed=request.seed,
                stream=True,
                stream_options={"include_usage": True},
            )
            async for chunk in stream:
                if chunk.choices and chunk.choices[0].delta.content:
                    watch.words_on_view()
            return watch.complete()

        try:
            yield speak
        finally:
            await client.close()

    return ready


def engine_arm(
    base_url: str, scenario: Scenario, rounds: int, opened: Callable[[list[Dialogue]], AbstractContextManager[DialogueStore]]
) -> Arm:
    @asynccontextmanager
    async def ready(count: int) -> AsyncIterator[Speak]:
        dialogues = [new_dialogue(scenario, rounds) for _ in range(count)]
        customers = Customers(Settings(models={CUSTOMER: endpoint(base_url)}))
        with opened(dialogues) as store:
            engine = DialogueEngine(store, customers)

            async def speak(place: int, number: int) -> Round:
                dialogue_id = dialogues[place].id
                watch = Stopwatch()
                await engine.say(dialogue_id, line_at(number), client_message_id=f"{dialogue_id}:{number}")
                async for snapshot in engine.follow(dialogue_id):
                    if snapshot.partial:
                        watch.words_on_view()
                made = watch.complete()
                assert snapshot.phase is Phase.SALESPERSON, snapshot.failure
                return made

            try:
                yield speak
            finally:
                await engine.close()
                await customers.close()

    return ready


def in_memory(dialogues: list[Dialogue]) -> AbstractContextManager[DialogueStore]:
    return nullcontext(MemoryDialogueStore(*dialogues))


@contextmanager
def in_sqlite(dialogues: list[Dialogue]) -> Iterator[SqlDialogueStore]:
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder:
        store = Store(f"sqlite:///{folder}/bench.sqlite")
        store.migrate()
        with store.session() as session:
            for dialogue in dialogues:
                DialogueRepository(session).insert(dialogue)
        try:
            yield SqlDialogueStore(store)
        finally:
            store.close()


# -- where it goes ----------------------------------------------------------------------------------------------------


class TimedStore:
    """Passes every call on and writes down how long it took."""

    def __init__(self, store: DialogueStore, spent: dict[str, list[float]]) -> None:
        self._store = store
        self._spent = spent

    def load(self, dialogue_id: str) -> Dialogue:
        return self._timed("load", lambda: self._store.load(dialogue_id))

    def append(
        self, dialogue_id: str, turn: NewTurn, index: int, *, session: int | None = None, ends: EndReason | None = None
    ) -> Dialogue:
        name = f"append the {turn.role.value}'s turn"
        return self._timed(name, lambda: self._store.append(dialogue_id, turn, index, session=session, ends=ends))

    def end(self, dialogue_id: str, reason: EndReason, at: datetime) -> Dialogue:
        return self._store.end(dialogue_id, reason, at)

    def record_failure(self, dialogue_id: str, failure: Failure) -> Dialogue:
        return self._store.record_failure(dialogue_id, failure)

    def reopen(self, dialogue_id: str) -> Dialogue:
        return self._store.reopen(dialogue_id)

    def begin_session(self, dialogue_id: str, at: datetime) -> Dialogue:
        return self._store.begin_session(dialogue_id, at)

    def _timed(self, name: str, call: Callable[[], T]) -> T:
        began = time.perf_counter()
        try:
            return call()
        finally:
            self._spent[name].append(time.perf_counter() - began)


def timed(spent: dict[str, list[float]]) -> Callable[[list[Dialogue]], AbstractContextManager[DialogueStore]]:
    @contextmanager
    def opened(dialogues: list[Dialogue]) -> Iterator[DialogueStore]:
        with in_sqlite(dialogues) as store:
            yield TimedStore(store, spent)

    return opened


def print_summary(outcomes: Outcomes, spent: dict[str, list[float]], most: int) -> None:
    print(f"\nStore calls with SQLite at {most} at a time, median and 95th percentile:")
    for name, seconds in sorted(spent.items()):
        late = sorted(seconds)[int(0.95 * len(seconds))]
        print(f"  {name:<30} {1e3 * median(seconds):6.1f} ms  {1e3 * late:6.1f} ms")
    direct = medians(outcomes[DIRECT, most])
    for name, level in outcomes:
        if level == most and name != DIRECT:
            first, reply, cpu = medians(outcomes[name, level])
            added, verdict = reply / direct[1] - 1.0, "within" if reply / direct[1] <= AIM else "beyond"
            print(
                f"{name}: {1e3 * (first - direct[0]):+.1f} ms to the first token, {1e3 * (reply - direct[1]):+.1f} ms a reply"
                f" ({100 * added:+.1f} %, {verdict} the aim of {100 * (AIM - 1):.0f} %),"
                f" {1e3 * (cpu - direct[2]):+.1f} ms of CPU"
            )


async def measure(options: argparse.Namespace) -> None:
    model = Model(delay_s=options.delay, rate=options.rate, tokens=options.tokens)
    scenario = next(s for s in load(SHIPPED_LIBRARY).scenarios() if s.id == "fin-deposit-01.hard.en")
    requests = await requests_of(scenario, model, options.rounds)
    spent: dict[str, list[float]] = defaultdict(list)
    print(f"The model: {model}. {options.rounds} rounds a dialogue, {options.repeats} repeats.\n")
    with serving(model) as base_url:
        arms = {
            DIRECT: direct_arm(base_url, requests),
            "engine, memory": engine_arm(base_url, scenario, options.rounds, in_memory),
            "engine, SQLite": engine_arm(base_url, scenario, options.rounds, in_sqlite),
            # The page's arm goes here: log in once, then POST a message and follow the stream; see bench/README.md.
        }
        scale = {"rounds": options.rounds, "repeats": options.repeats, "over_s": model.reply_s}
        outcomes = await compare(arms, options.levels, **scale)
        most = max(options.levels)
        # By itself, because timing each call costs time.
        await compare({"": engine_arm(base_url, scenario, options.rounds, timed(spent))}, [most], **{**scale, "repeats": 1})
    print_table(outcomes, DIRECT)
    print_summary(outcomes, spent, most)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what the engine adds to a model's own time.")
    parser.add_argument("--rate", type=float, default=40.0, help="tokens a second of each reply")
    parser.add_argument("--delay", type=float, default=0.2, help="seconds until the first token's slot")
    parser.add_argument("--tokens", type=int, default=40, help="tokens in a reply")
    parser.add_argument("--rounds", type=int, default=4, help="rounds that count in each dialogue")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--levels", type=int, nargs="+", default=[1, 10, 50], help="numbers of concurrent dialogues")
    parser.add_argument("--quick", action="store_true", help="2 rounds, 2 repeats")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.repeats = 2, 2
    asyncio.run(measure(options))


if __name__ == "__main__":
    main()
