"""What a scorer says of a dialogue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import AwareDatetime, Field

from core.dialogues import utc_now
from core.scenarios import FactTopic, Frozen, ObjectionKind
from core.scoring._scale import DEFAULT_WEIGHT, Dimension, Intent, final_score, s_buy, s_sell

__all__ = ["DimensionScore", "FlaggedTurn", "LearnedFact", "ObjectionOutcome", "Provenance", "Scorecard", "UnlistedOffer"]

Score = Annotated[float, Field(ge=0.0, le=10.0)]


class DimensionScore(Frozen):
    """``value`` None: not applicable, and ``reason`` says why. ``quotes`` are verbatim pieces of customer turns."""

    dimension: Dimension
    value: Score | None
    quotes: tuple[str, ...] = ()
    reason: str = ""
    samples: tuple[Score | None, ...] = Field(
        default=(), description="Where the judge was asked several times: what each answer said. ``value`` is their mean."
    )
    stated: Score | None = Field(
        default=None, description="What the judge had said, where ``value`` was lowered because no customer words bear it out."
    )


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


class FlaggedTurn(Frozen):
    """A customer turn that acts as the seller. ``rule`` says which sign of it was found, or what the model gave as a reason."""

    turn_index: int
    quote: str
    rule: str


class Provenance(Frozen):
    """What made a scorecard, beyond the scorer's name and version."""

    model: str | None = Field(default=None, description="What the endpoint calls its model, or the folder it was loaded from.")
    prompt_hash: str | None = Field(default=None, description="SHA-256 of the prompt's fixed part, in hexadecimal.")
    samples: int = Field(default=1, ge=1, description="How many answers the card is the mean of.")
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    latency_ms: float | None = None


class Scorecard(Frozen):
    """One scorer's view of one dialogue.

    ``scorer`` and ``version`` say who judged. A scorer leaves empty, or None, what it does not look at. ``objections`` is empty
    and ``learned`` names only open topics where nothing was found.
    """

    scorer: str
    version: str
    intent: Intent | None = None
    dimensions: tuple[DimensionScore, ...] = ()
    learned: tuple[LearnedFact, ...] = ()
    objections: tuple[ObjectionOutcome, ...] = ()
    unlisted_offers: tuple[UnlistedOffer, ...] | None = Field(
        default=None, description="The seller's unauthorised concessions. None: this scorer does not look for them."
    )
    inversions: tuple[FlaggedTurn, ...] | None = Field(
        default=None, description="Customer turns that invert the roles. None: this scorer does not look for them."
    )
    stated_s_sell: Score | None = Field(
        default=None, description="Selling performance where the scorer gives only the mean, and no sub-dimensions."
    )
    probabilities: Mapping[Intent, float] | None = Field(
        default=None, description="A classifier's probability of each class of intent; they add up to 1."
    )
    reason: str = Field(default="", description="Why this intent, in one line, where the scorer says so.")
    provenance: Provenance | None = None
    created_at: AwareDatetime = Field(default_factory=utc_now)

    @property
    def s_buy(self) -> float | None:
        return None if self.intent is None else s_buy(self.intent)

    @property
    def s_sell(self) -> float | None:
        """The mean of the sub-dimensions that apply; where there are none, what the scorer states."""
        judged = s_sell({score.dimension: score.value for score in self.dimensions})
        return self.stated_s_sell if judged is None else judged

    def final(self, weight: float = DEFAULT_WEIGHT) -> float | None:
        """The final score, or None when either part is missing."""
        buy, sell = self.s_buy, self.s_sell
        return None if buy is None or sell is None else final_score(buy, sell, weight)
