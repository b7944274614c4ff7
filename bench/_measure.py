"""What the measurements share: a model that answers at a fixed rate, dialogues at a time, medians over interleaved repeats.

Something that can be measured is an :data:`Arm`: told how many dialogues there will be, it makes them ready and yields a function
that makes one round of one of them and says how long it took. Anything that answers a salesperson can be one: a client library,
the engine, or the running app spoken to by HTTP.
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

__all__ = ["Arm", "Model", "Outcome", "Round", "Speak", "Stopwatch", "compare", "medians", "print_table", "serving"]

ROOT = Path(__file__).parents[1]
CHAT_SERVER = ROOT / "tests" / "support" / "chat_server.py"


@dataclass(frozen=True)
class Round:
    """One round. Seconds from the moment of sending to the first words on view, and to the complete reply."""

    first_token_s: float
    reply_s: float


Speak = Callable[[int, int], Awaitable[Round]]
"""Makes a round: the number of the dialogue, and the number of the round in it, both from 0."""

Arm = Callable[[int], AbstractAsyncContextManager[Speak]]
"""Makes that many dialogues ready to be spoken to."""


class Stopwatch:
    """Started when it is made."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._first_s: float | None = None

    def words_on_view(self) -> None:
        """To be called whenever words are on view; the first time counts."""
        if self._first_s is None:
            self._first_s = time.perf_counter() - self._started

    def complete(self) -> Round:
        self.words_on_view()
        assert self._first_s is not None
        return Round(self._first_s, time.perf_counter() - self._started)


# -- the model --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Model:
    """How the model answers: seconds until the first token's slot, tokens a second, tokens in a reply."""

    delay_s: float
    rate: float
    tokens: int

    @property
    def first_token_s(self) -> float:
        """When the first token leaves the server."""
        return self.delay_s + 1.0 / self.rate

    @property
    def reply_s(self) -> float:
        return self.delay_s + self.tokens / self.rate

    def __str__(self) -> str:
        return f"first token after {1e3 * self.first_token_s:.0f} ms, then {self.rate:g} a second, {self.tokens} tokens a reply"


@contextmanager
def serving(model: Model) -> Iterator[str]:
    """Run the model as a server of its own process; yields its base URL."""
    command = [sys.executable, str(CHAT_SERVER), "--rate", str(model.rate), "--delay", str(model.delay_s)]
    process = subprocess.Popen([*command, "--tokens", str(model.tokens)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().removeprefix("listening on ").strip()
    finally:
        process.terminate()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


# -- measuring --------------------------------------------------------------------------------------------------------


@dataclass
class Outcome:
    """What was measured of one arm at one number of dialogues: each list has one median for each repeat."""

    first_token_s: list[float] = field(default_factory=list)
    reply_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    """Processor time of this process for one reply."""


Outcomes = Mapping[tuple[str, int], Outcome]


async def compare(
    arms: Mapping[str, Arm], levels: Sequence[int], *, rounds: int, repeats: int, over_s: float, seed: int = 0
) -> Outcomes:
    """Measure every arm at every number of concurrent dialogues, ``repeats`` times, in an order that is drawn anew each time.

    Interleaved, so that whatever else the machine does meanwhile falls on all arms alike. Dialogues begin spread over ``over_s``
    seconds, in the same places for each arm: people do not press Enter in step. The first round of each is made and not counted:
    it opens connections.
    """
    chance = random.Random(seed)
    outcomes = {(name, level): Outcome() for level in levels for name in arms}
    for repeat in range(repeats):
        for level in levels:
            names = list(arms)
            chance.shuffle(names)
            for name in names:
                _progress(f"repeat {repeat + 1} of {repeats}: {level} at a time, {name}")
                starts = random.Random(repeat)
                offsets = [starts.uniform(0.0, over_s) for _ in range(level)]
                await _measure_once(outcomes[name, level], arms[name], offsets, rounds)
    _progress("")
    return outcomes


async def _measure_once(outcome: Outcome, arm: Arm, offsets: Sequence[float], rounds: int) -> None:
    async with arm(len(offsets)) as speak:

        async def talk(place: int) -> list[Round]:
            await asyncio.sleep(offsets[place])
            return [await speak(place, number) for number in range(rounds + 1)]

        cpu = time.process_time()
        talks = await asyncio.gather(*[talk(place) for place in range(len(offsets))])
        outcome.cpu_s.append((time.process_time() - cpu) / (len(offsets) * (rounds + 1)))
    counted = [made for talk_ in talks for made in talk_[1:]]
    outcome.first_token_s.append(median(made.first_token_s for made in counted))
    outcome.reply_s.append(median(made.reply_s for made in counted))


def medians(outcome: Outcome) -> tuple[float, float, float]:
    """Time to first token, time for a reply, processor time for a reply: seconds, the median over the repeats."""
    return median(outcome.first_token_s), median(outcome.reply_s), median(outcome.cpu_s)


# -- reporting --------------------------------------------------------------------------------------------------------


def print_table(outcomes: Outcomes, baseline: str) -> None:
    """One row for each number of dialogues and arm, each compared with ``baseline`` at the same number.

    A ratio is the median over the repeats of the ratios within a repeat; in brackets the lowest and the highest.
    """
    head = f"{'at once':>7}  {'arm':<22}  {'first token':>11}  {'ratio':<22}  {'reply':>9}  {'ratio':<22}  {'CPU/reply':>9}"
    print(head)
    print("-" * len(head))
    for (name, level), outcome in outcomes.items():
        first, reply, cpu = medians(outcome)
        base = outcomes[baseline, level]
        first_ratio = _ratio(outcome.first_token_s, base.first_token_s) if name != baseline else "1"
        reply_ratio = _ratio(outcome.reply_s, base.reply_s) if name != baseline else "1"
        print(
            f"{level:>7}  {name:<22}  {1e3 * first:>8.1f} ms  {first_ratio:<22}  {1e3 * reply:>6.0f} ms  {reply_ratio:<22}"
            f"  {1e3 * cpu:>6.1f} ms"
        )


def _ratio(values: Sequence[float], base: Sequence[float]) -> str:
    ratios = [value / other for value, other in zip(values, base, strict=True)]
    return f"{median(ratios):.3f} ({min(ratios):.3f}–{max(ratios):.3f})"


def _progress(line: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{line}")
        sys.stderr.flush()
