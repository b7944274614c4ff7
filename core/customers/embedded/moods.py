"""The customer's mood, and how they leave. Both are read off the state."""

from __future__ import annotations

from core.customers.embedded.acts import CustomerAct
from core.customers.embedded.state import State
from core.customers.embedded.tiers import TIERS
from core.scenarios import Scenario, Tier

__all__ = ["leave_act", "mood_of"]


def mood_of(state: State, scenario: Scenario, *, offended: bool = False) -> str:
    """One of ``warm``, ``neutral``, ``cool``, ``hostile``.

    A weighted mean of interest, trust and patience, plus the tier's warmth; an offence just heard takes 0.18 off.
    """
    tier = TIERS[scenario.tier.tier]
    score = 0.45 * state.interest + 0.35 * state.trust + 0.2 * state.patience + tier.warmth - (0.18 if offended else 0.0)
    if score >= 0.58:
        return "warm"
    if score >= 0.33:
        return "neutral"
    if state.offence_weight >= 0.6 * tier.temper and score < 0.2:
        return "hostile"
    return "cool"


def leave_act(state: State, scenario: Scenario) -> CustomerAct:
    """Won, angry, cold or polite, by what stands and what happened."""
    tier = scenario.tier.tier
    if state.is_won:
        return CustomerAct.LEAVE_WON
    if state.offence_weight >= TIERS[tier].temper:
        return CustomerAct.LEAVE_ANGRY
    mood = mood_of(state, scenario)
    provoked = state.offence_weight >= 0.4 * TIERS[tier].temper
    guarded = tier in (Tier.VERY_HARD, Tier.ADVERSARIAL)
    cold = (provoked and state.patience <= 0.0) or (mood in ("cool", "hostile") and (provoked or guarded or state.trust < 0.2))
    return CustomerAct.LEAVE_COLD if cold else CustomerAct.LEAVE_POLITE
