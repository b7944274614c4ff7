"""What the customer does next. Pure: state, understood turn, scenario and a random generator in; state and decision out.

The order of things in one reply follows the salesperson's own: what was asked or shown is answered in that order, reactions to
an offence come first, and what the customer brings up unasked comes last. Three acts at most.
"""

from __future__ import annotations

from random import Random

from core.customers.embedded._answers import Reply
from core.customers.embedded.acts import CustomerAct, Decision, Move, Understood
from core.customers.embedded.hearing import factor_weight, hear
from core.customers.embedded.moods import mood_of
from core.customers.embedded.state import ConcernState, State
from core.customers.embedded.tiers import TIERS
from core.scenarios import Scenario

__all__ = ["begin", "begin_session", "decide", "opening"]


def begin(scenario: Scenario, rng: Random) -> State:
    """The customer before the first word. Interest starts from the propensity, with a little chance in it."""
    tier = TIERS[scenario.tier.tier]
    concerns = sorted(
        (ConcernState(id=concern.id, weight=factor_weight(scenario, concern)) for concern in scenario.customer.concerns),
        key=lambda concern: -concern.weight,
    )
    state = State(
        interest=min(1.0, max(0.0, 0.12 + 0.6 * scenario.propensity + rng.gauss(0.0, 0.04))),
        trust=min(1.0, max(0.0, tier.trust + rng.gauss(0.0, 0.03))),
        patience=tier.patience,
        susceptibility=min(1.35, max(0.65, rng.gauss(1.0, 0.15))),
        concerns=tuple(concerns),
    )
    return state.update(mood=mood_of(state, scenario))


def begin_session(state: State, scenario: Scenario, rng: Random, session: int) -> State:
    """The customer when a follow-up session starts: nothing is forgotten, and who left in bad humour is harder to win."""
    tier = TIERS[scenario.tier.tier]
    soured = state.ending in (CustomerAct.LEAVE_COLD, CustomerAct.LEAVE_ANGRY)
    drift = rng.gauss(-0.07 if soured else 0.0, 0.03)
    state = state.update(
        session=session,
        session_rounds=0,
        interest=state.interest + drift,
        # Time heals a part of the mistrust, never more than half of it.
        trust=state.trust + 0.5 * max(0.0, tier.trust - state.trust),
        patience=tier.patience * (0.55 if soured else 0.85),
        susceptibility=state.susceptibility * (0.85 if soured else 1.0),
        greeted=False,
        warned=False,
        refusals=0,
        idle_after_step=0,
        empathy_heard=state.empathy_heard // 2,
    )
    return state.update(mood=mood_of(state, scenario))


def opening(state: State, scenario: Scenario) -> tuple[State, Decision]:
    """The customer speaks first in a session."""
    act = CustomerAct.OPEN if state.session == 1 else CustomerAct.GREET
    state = state.update(greeted=True, mood=mood_of(state, scenario))
    return state, Decision(moves=(Move(act=act),), mood=state.mood)


def decide(state: State, understood: Understood, scenario: Scenario, rng: Random) -> tuple[State, Decision]:
    """Answer one salesperson turn. ``state.turn`` must be the index of the reply to come."""
    state = state.update(rounds=state.rounds + 1, session_rounds=state.session_rounds + 1, ending=None)
    state, heard = hear(state, understood, scenario)
    reply = Reply(state, heard, understood, scenario, rng)
    moves, leaves = reply.make()
    state = reply.state.update(mood=mood_of(reply.state, scenario, offended=bool(reply.offended)))
    return state, Decision(moves=moves, mood=state.mood, leaves=leaves)
