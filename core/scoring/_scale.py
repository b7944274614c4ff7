"""The scale: five classes of buying intent, four sub-dimensions of selling performance, and the final score."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

__all__ = ["DEFAULT_WEIGHT", "Dimension", "Intent", "final_score", "s_buy", "s_sell"]

DEFAULT_WEIGHT = 0.5
"""alpha: the weight of ``s_buy`` in the final score."""


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


def s_sell(scores: Mapping[Dimension, float | None]) -> float | None:
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
