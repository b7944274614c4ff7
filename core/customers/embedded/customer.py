"""The embedded customer as the engine sees it: stateless, seeded, streaming."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from random import Random
from typing import Any, Protocol

from core.customers.embedded.acts import Understood
from core.customers.embedded.policy import begin, begin_session, decide, opening
from core.customers.embedded.state import STATE_VERSION, State
from core.customers.embedded.understanding import understand
from core.customers.embedded.wording import render
from core.dialogues import Dialogue, Participant, Role, Usage
from core.errors import ModelRejected
from core.participants import Reply, ReplyEvent, TextDelta
from core.scenarios import Language, Scenario

__all__ = ["NAME", "VERSION", "EmbeddedCustomer", "Understand"]

NAME = "embedded"
VERSION = f"1.{STATE_VERSION}"
"""Changes when the same seed may give another dialogue."""

LONGEST_PAUSE_S = 1.6
"""Longest time for which the customer seems to think."""


class Understand(Protocol):
    """Reads one salesperson turn."""

    def __call__(self, text: str, scenario: Scenario, earlier: Sequence[str], last_customer_text: str | None) -> Understood:
        """``earlier`` are the salesperson's earlier turns, oldest first."""
        ...


class EmbeddedCustomer:
    """An agenda-based customer that runs anywhere. A practice partner, not the benchmark's simulator.

    Everything it knows of a dialogue is in the dialogue: the state in its last turn, and chance drawn from the dialogue's seed,
    the scenario and the index of the turn. The same seed and the same salesperson turns give the same dialogue, in any process,
    and a branch or a restart goes on as if nothing had happened.

    Args:
        understand: what reads the salesperson's turns.
        typing_speed: words (in Chinese: pairs of characters) a second; 0: at once.
    """

    def __init__(self, *, understand: Understand = understand, typing_speed: float = 18.0) -> None:
        if typing_speed < 0.0:
            raise ValueError(f"typing_speed {typing_speed} is below 0; give words a second, or 0 for at once")
        self._understand = understand
        self._typing_speed = typing_speed

    @property
    def participant(self) -> Participant:
        return Participant(kind="model", name=NAME)

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"kind": "agenda-based", "version": VERSION}

    async def reply(self, dialogue: Dialogue) -> AsyncGenerator[ReplyEvent, None]:
        """Stream the next customer turn.

        Raises ModelRejected if the dialogue has no scenario or was begun with another customer; InvalidInput if its state was
        written by another version.
        """
        started = time.perf_counter()
        if dialogue.scenario is None:
            raise ModelRejected(NAME, "the dialogue has no scenario, so there is nobody to play; choose a scenario")
        state, text, leaves = self._next(dialogue, dialogue.scenario)
        first_token_ms: float | None = None
        if self._typing_speed > 0.0:
            await asyncio.sleep(_thinking_time(dialogue))
        for piece in _pieces(text, dialogue.scenario.language):
            if first_token_ms is None:
                first_token_ms = 1000.0 * (time.perf_counter() - started)
            yield TextDelta(piece)
            if self._typing_speed > 0.0:
                await asyncio.sleep(1.0 / self._typing_speed)
        latency_ms = 1000.0 * (time.perf_counter() - started)
        yield Reply(
            text=text,
            leaves=leaves,
            model=NAME,
            settings=self.settings,
            usage=Usage(first_token_ms=first_token_ms, latency_ms=latency_ms),
            state=state.to_json(),
        )

    async def close(self) -> None:
        """Nothing is held open."""

    def _next(self, dialogue: Dialogue, scenario: Scenario) -> tuple[State, str, bool]:
        stored = dialogue.customer_state
        if stored is not None:
            state = State.from_json(stored)
        elif any(turn.role is Role.CUSTOMER for turn in dialogue.turns):
            raise ModelRejected(NAME, "its earlier turns were answered by another customer; start a new dialogue")
        else:
            state = begin(scenario, _chance(dialogue, scenario, "disposition"))
        if dialogue.session > state.session:
            state = begin_session(state, scenario, _chance(dialogue, scenario, f"session {dialogue.session}"), dialogue.session)
        state = state.update(turn=len(dialogue.turns))
        rng = _chance(dialogue, scenario, f"turn {state.turn}")
        heard = dialogue.turns[-1] if dialogue.session_turns else None
        if heard is None:
            state, decision = opening(state, scenario)
        else:
            before = dialogue.turns[:-1]
            earlier = [turn.text for turn in before if turn.role is Role.SALESPERSON]
            last = next((turn.text for turn in reversed(before) if turn.role is Role.CUSTOMER), None)
            state, decision = decide(state, self._understand(heard.text, scenario, earlier, last), scenario, rng)
        text, state = render(decision, state, scenario, rng, heard="" if heard is None else heard.text)
        return state, text, decision.leaves


def _chance(dialogue: Dialogue, scenario: Scenario, occasion: str) -> Random:
    """A generator that depends on nothing but the dialogue's seed, the scenario and the occasion."""
    return Random(f"{dialogue.seed}|{scenario.id}|{occasion}")  # noqa: S311 (repeatable by design, no secret)


def _thinking_time(dialogue: Dialogue) -> float:
    """Seconds before the first word: longer after a longer turn."""
    read = len(dialogue.turns[-1].text) if dialogue.turns else 0
    return min(LONGEST_PAUSE_S, 0.35 + read / 400)


def _pieces(text: str, language: Language) -> list[str]:
    """Words with the blank that follows them, or pairs of characters; together the text."""
    return re.findall(r"\S+\s*|\s+", text) if language is Language.EN else re.findall(r"(?s).{1,2}", text)
