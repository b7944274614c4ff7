"""Scores: the scale, what a scorer says of a dialogue, and what a scorer is.

    dialogue ──Scorer.score──▶ Scorecard ──stored, appended──▶ of each scorer the latest one counts

A scorer fills in what it looks at and leaves the rest None: an intent scorer the intent, a judge the sub-dimensions, a detector
the turns it flags. The final score of a dialogue takes its intent from one scorer and its sub-dimensions from one judge
(:func:`combine`).
"""

from core.scoring._combine import EMBEDDED_STATE, combine, latest_of_each
from core.scoring._readiness import not_ready
from core.scoring._scale import DEFAULT_WEIGHT, Dimension, Intent, final_score, s_buy, s_sell
from core.scoring._scorecard import (
    DimensionScore,
    FlaggedTurn,
    LearnedFact,
    ObjectionOutcome,
    Provenance,
    Scorecard,
    UnlistedOffer,
)
from core.scoring._scorer import Scorer

__all__ = [
    "DEFAULT_WEIGHT",
    "EMBEDDED_STATE",
    "Dimension",
    "DimensionScore",
    "FlaggedTurn",
    "Intent",
    "LearnedFact",
    "ObjectionOutcome",
    "Provenance",
    "Scorecard",
    "Scorer",
    "UnlistedOffer",
    "combine",
    "final_score",
    "latest_of_each",
    "not_ready",
    "s_buy",
    "s_sell",
]
