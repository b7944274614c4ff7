"""What sets the tiers apart: one table.

A tier changes where a customer starts and how easily they move. It never decides the outcome: every number below can be
outweighed by what the salesperson does, with the exception that an adversarial customer hardly ever comes round.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.scenarios import Tier

__all__ = ["TIERS", "TierParameters"]


@dataclass(frozen=True)
class TierParameters:
    """How one tier behaves. Shares, bars and chances lie in [0, 1] unless said otherwise."""

    trust: float
    """Trust at the start."""
    patience: float
    """Patience at the start; the customer leaves when it is spent."""
    patience_drain: float
    """Patience that every round costs, whatever is said."""
    annoyance: float
    """Factor on what pressure, repetition, empty praise and long speeches cost in patience."""
    receptivity: float
    """Factor on what evidence, understanding and good questions gain in interest."""
    trust_gain: float
    """Factor on what they gain in trust."""
    reactance: float
    """Factor on what pressure, false claims and the like cost in interest and trust."""
    initiative: float
    """Chance of bringing up a concern unasked, in a round that leaves room for it."""
    concerns: int
    """How many concerns are brought up unasked, most important first."""
    as_question: float
    """Chance that a concern is first raised as a question rather than as an objection."""
    persistence: float
    """Chance of coming back to an open concern that the salesperson passed over."""
    proof: float
    """Progress that eases a concern. A first fitting statement counts 1.0, each further one 0.6, empathy 0.4, asking 0.3."""
    main_concerns: int
    """How many of the weightiest concerns must be out of the way before anything is agreed."""
    openness: float
    """Trust from which an ordinary fact is told; sensitive ones (budget, other offers) need 0.08 more."""
    step_bar: float
    """Interest from which a specific next step is accepted."""
    commit_bar: float
    """Interest from which the purchase is agreed to when asked for."""
    needs_step: bool
    """Whether a next step must stand before the purchase is agreed to."""
    warmth: float
    """Added to the score that decides the mood."""
    temper: float
    """Weight of offences from which the customer leaves in anger."""


TIERS: dict[Tier, TierParameters] = {
    Tier.EASY: TierParameters(
        trust=0.55, patience=1.0, patience_drain=0.015, annoyance=0.65, receptivity=1.0, trust_gain=1.2, reactance=0.8,
        initiative=0.75, concerns=2, as_question=0.9, persistence=0.35, proof=0.9, main_concerns=1, openness=0.0,
        step_bar=0.62, commit_bar=0.72, needs_step=False, warmth=0.08, temper=6.0,
    ),
    Tier.MEDIUM: TierParameters(
        trust=0.42, patience=0.9, patience_drain=0.02, annoyance=0.85, receptivity=0.9, trust_gain=1.0, reactance=1.0,
        initiative=0.65, concerns=3, as_question=0.6, persistence=0.5, proof=1.0, main_concerns=2, openness=0.35,
        step_bar=0.62, commit_bar=0.78, needs_step=False, warmth=0.02, temper=4.5,
    ),
    Tier.HARD: TierParameters(
        trust=0.32, patience=0.78, patience_drain=0.022, annoyance=1.0, receptivity=0.78, trust_gain=0.9, reactance=1.15,
        initiative=0.65, concerns=4, as_question=0.2, persistence=0.65, proof=1.25, main_concerns=2, openness=0.43,
        step_bar=0.62, commit_bar=0.8, needs_step=True, warmth=-0.04, temper=3.2,
    ),
    Tier.VERY_HARD: TierParameters(
        trust=0.24, patience=0.62, patience_drain=0.026, annoyance=1.25, receptivity=0.72, trust_gain=0.8, reactance=1.3,
        initiative=0.4, concerns=5, as_question=0.1, persistence=0.8, proof=1.4, main_concerns=3, openness=0.4,
        step_bar=0.62, commit_bar=0.82, needs_step=True, warmth=-0.1, temper=2.1,
    ),
    Tier.ADVERSARIAL: TierParameters(
        trust=0.15, patience=0.62, patience_drain=0.028, annoyance=1.2, receptivity=0.42, trust_gain=0.6, reactance=1.5,
        initiative=0.85, concerns=5, as_question=0.0, persistence=0.9, proof=1.65, main_concerns=5, openness=0.38,
        step_bar=0.62, commit_bar=0.9, needs_step=True, warmth=-0.2, temper=1.5,
    ),
}  # fmt: skip
"""Easy customers ask and tell; medium ones check; hard ones object and want proof; very hard ones say little, come back to
the same doubts and have no time; adversarial ones look for the flaw and are quick to take offence."""
