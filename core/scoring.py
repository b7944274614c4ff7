"""Scores: buying intent, the four sub-dimensions, the final score, and the scorecard that a person reads."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import AwareDatetime, Field

from core.dialogues import utc_now
from core.scenarios import FactTopic, Frozen, ObjectionKind

__all__ = [
    "DEFAULT_WEIGHT",
    "Dimension",
    "DimensionScore",
    "Intent",
    "LearnedFact",
    "ObjectionOutcome",
    "Scorecard",
    "UnlistedOffer",
    "final_score",
    "s_buy",
    "s_sell",
]

DEFAULT_WEIGHT = 0.5
"""alpha: the weight of ``s_buy`` in the final score."""

Score = Annotated[float, Field(ge=0.0, le=10.0)]


class Intent(StrEnum):
    """The customer's disposition at the end, five ordered classes, lowest first."""

    F = "F"
    """insulting"""
    X = "X"
    """perfunctory"""
    C = "C"
    """no intention"""
    B = "B"
    """potential interest"""
    A = "A"
    """clear purchase intent"""


class Dimension(StrEnum):
    """The sub-dimensions of selling performance. Customer-side evidence only."""

    VERBAL_COMMITMENT = "verbal_commitment"
    NEXT_STEP = "next_step"
    INFORMATION_ELICITATION = "information_elicitation"
    OBJECTION_RESOLUTION = "objection_resolution"


_S_BUY = {Intent.F: 2.0, Intent.X: 4.0, Intent.C: 6.0, Intent.B: 8.0, Intent.A: 10.0}


def s_buy(intent: Intent) -> float:
    """Buying intent as a number: F 2, X 4, C 6, B 8, A 10."""
    return _S_BUY[intent]


def s_sell(scores: dict[Dimension, float | None]) -> float | None:
    """Selling performance: the mean of the sub-dimensions that apply, in [0, 10].

    ``None`` marks a dimension that does not apply (no objection was raised) and is left out of the mean.
    Returns None when nothing applies.
    """
    values = [value for value in scores.values() if value is not None]
    return sum(values) / len(values) if values else None


def final_score(buy: float, sell: float, weight: float = DEFAULT_WEIGHT) -> float:
    """``weight * buy + (1 - weight) * sell``. Raises ValueError unless ``0 <= weight <= 1``."""
    if not 0.0 <= weight <= 1.0:
        raise ValueError(f"weight {weight} is outside [0, 1]")
    return weight * buy + (1.0 - weight) * sell


class DimensionScore(Frozen):
    """``value`` None: not applicable, and ``reason`` says why. ``quotes`` are verbatim pieces of customer turns."""

    dimension: Dimension
    value: Score | None
    quotes: tuple[str, ...] = ()
    reason: str = ""


class LearnedFact(Frozen):
    """``summary`` is what the customer told; None: it was never asked."""

    topic: FactTopic
    summary: str | None = None
    turn_index: int | None = None


class ObjectionOutcome(Frozen):
    concern_id: str
    kind: ObjectionKind
    label: str
    eased: bool
    raised_turn: int
    eased_turn: int | None = None


class UnlistedOffer(Frozen):
    """Something the salesperson offered that the script does not allow."""

    turn_index: int
    quote: str
    what: str


class Scorecard(Frozen):
    """One scorer's view of one dialogue.

    ``scorer`` and ``version`` say who judged. ``objections`` is empty and ``learned`` names only open topics where nothing
    was found.
    """

    scorer: str
    version: str
    intent: Intent | None
    dimensions: tuple[DimensionScore, ...]
    learned: tuple[LearnedFact, ...] = ()
    objections: tuple[ObjectionOutcome, ...] = ()
    unlisted_offers: tuple[UnlistedOffer, ...] = ()
    created_at: AwareDatetime = Field(default_factory=utc_now)

    @property
    def s_buy(self) -> float | None:
        return None if self.intent is None else s_buy(self.intent)

    @property
    def s_sell(self) -> float | None:
        return s_sell({score.dimension: score.value for score in self.dimensions})

    def final(self, weight: float = DEFAULT_WEIGHT) -> float | None:
        """The final score, or None when either part is missing."""
        buy, sell = self.s_buy, self.s_sell
        return None if buy is None or sell is None else final_score(buy, sell, weight)
