"""The scorecard of a dialogue with the embedded customer: read off its state, which is the truth about what happened."""

from __future__ import annotations

from statistics import fmean

from core.customers.embedded.acts import CustomerAct, SellerMove
from core.customers.embedded.phrases import PhraseBank, load_phrases
from core.customers.embedded.state import STATE_VERSION, ConcernState, ConcernStatus, Line, State, StepStatus
from core.customers.embedded.tiers import TIERS
from core.dialogues import Dialogue
from core.errors import InvalidInput, Problem
from core.scenarios import FactTopic, Scenario
from core.scoring import Dimension, DimensionScore, Intent, LearnedFact, ObjectionOutcome, Scorecard, UnlistedOffer

__all__ = ["SCORER", "VERSION", "embedded_scorecard", "intent_of", "score_state"]

SCORER = "embedded-state"
VERSION = f"1.{STATE_VERSION}"

FACT_POINTS: dict[FactTopic, float] = {
    FactTopic.BUDGET: 2.5,
    FactTopic.DECISION_AUTHORITY: 2.0,
    FactTopic.TIME_HORIZON: 2.0,
    FactTopic.COMPETING_OPTIONS: 2.0,
    FactTopic.RISK_TOLERANCE: 1.5,
}
"""Points for each fact that was surfaced; together 10."""

COMMITMENT_POINTS: dict[CustomerAct, float] = {
    CustomerAct.COMMIT: 10.0,
    CustomerAct.AGREE_STEP: 7.0,
    CustomerAct.CONFIRM_STEP: 7.0,
    CustomerAct.ASK_STEP: 5.0,
    CustomerAct.SOFTEN: 3.0,
    CustomerAct.DEFER_STEP: 3.0,
    CustomerAct.CONCEDE_PART: 2.0,
    CustomerAct.STATE_NEED: 1.5,
    CustomerAct.OPEN: 1.0,
}
"""What a customer's words are worth as verbal commitment: the best of them counts, and each further concern eased adds 0.75."""

PART_EASED = 0.35
"""Share of an objection's credit when the customer granted a part of it."""


def embedded_scorecard(dialogue: Dialogue) -> Scorecard:
    """Score a dialogue from the state in its last customer turn.

    Raises InvalidInput if the embedded customer took no part in it.
    """
    if dialogue.scenario is None or dialogue.customer_state is None:
        fault = "the embedded customer has not spoken in it"
        raise InvalidInput(Problem(f"dialogue {dialogue.id}", fault, "score it with another scorer"))
    return score_state(State.from_json(dialogue.customer_state), dialogue.scenario)


def score_state(state: State, scenario: Scenario) -> Scorecard:
    """The same, from the state itself."""
    bank = load_phrases(scenario.language)
    return Scorecard(
        scorer=SCORER,
        version=VERSION,
        intent=intent_of(state, scenario),
        dimensions=(
            _verbal_commitment(state, bank),
            _next_step(state, bank),
            _information(state, bank),
            _objections(state, bank),
        ),
        learned=tuple(_learned(state, scenario, topic) for topic in FactTopic),
        objections=tuple(_outcomes(state, scenario)),
        unlisted_offers=tuple(
            UnlistedOffer(turn_index=offence.turn, quote=offence.quote, what=offence.detail or offence.quote)
            for offence in state.offences
            if offence.move is SellerMove.UNLISTED_OFFER
        ),
    )


def intent_of(state: State, scenario: Scenario) -> Intent:
    """A: agreed to buy. B: agreed to a next step, or well disposed. F: left in anger. X: fobbed the salesperson off. C: else."""
    if state.ending is CustomerAct.LEAVE_ANGRY:
        return Intent.F
    if state.committed_turn is not None:
        return Intent.A
    if state.step is StepStatus.AGREED:
        return Intent.B
    if state.ending is CustomerAct.LEAVE_COLD:
        return Intent.X
    tier = TIERS[scenario.tier.tier]
    if state.interest >= tier.step_bar + 0.05 and state.mood == "warm":
        return Intent.B
    if state.mood in ("cool", "hostile") and state.interest < 0.3:
        return Intent.X
    return Intent.C


def _quotes(lines: list[Line], limit: int = 3) -> tuple[str, ...]:
    return tuple(dict.fromkeys(line.text for line in lines[-limit:]))


def _spoken(state: State, *acts: CustomerAct) -> list[Line]:
    return [line for line in state.lines if line.act in acts]


def _verbal_commitment(state: State, bank: PhraseBank) -> DimensionScore:
    def made(value: float, lines: list[Line], reason: str) -> DimensionScore:
        return DimensionScore(
            dimension=Dimension.VERBAL_COMMITMENT, value=value, quotes=_quotes(lines), reason=bank.reasons[reason]
        )

    if state.ending is CustomerAct.LEAVE_ANGRY:
        return made(0.0, _spoken(state, CustomerAct.LEAVE_ANGRY, CustomerAct.OFFENDED), "commitment_angry")
    if state.committed_turn is not None:
        return made(10.0, _spoken(state, CustomerAct.COMMIT), "commitment_bought")
    if state.step is StepStatus.AGREED:
        return made(7.0, _spoken(state, CustomerAct.AGREE_STEP), "commitment_step")
    if state.step is StepStatus.WITHDRAWN:
        return made(2.0, _spoken(state, CustomerAct.AGREE_STEP, CustomerAct.DECLINE_STEP), "commitment_withdrawn")
    if state.ending is CustomerAct.LEAVE_COLD:
        return made(1.0, _spoken(state, CustomerAct.LEAVE_COLD), "commitment_cold")
    best = max((COMMITMENT_POINTS.get(line.act, 0.0) for line in state.lines), default=0.0)
    eased = _spoken(state, CustomerAct.SOFTEN)
    value = min(6.5, best + 0.75 * max(0, len(eased) - 1))
    if best >= COMMITMENT_POINTS[CustomerAct.ASK_STEP]:
        return made(value, _spoken(state, CustomerAct.ASK_STEP), "commitment_conditional")
    if eased:
        return made(value, eased, "commitment_softened")
    refused = _spoken(state, CustomerAct.DECLINE_STEP, CustomerAct.DECLINE_CLOSE, CustomerAct.DEFER_STEP)
    return made(value, refused or _spoken(state, CustomerAct.STATE_NEED), "commitment_refused" if refused else "commitment_none")


def _next_step(state: State, bank: PhraseBank) -> DimensionScore:
    agreed = _spoken(state, CustomerAct.AGREE_STEP)
    asked = _spoken(state, CustomerAct.ASK_STEP)
    put_off = _spoken(state, CustomerAct.DEFER_STEP, CustomerAct.DECLINE_STEP)
    value, lines, reason = 0.0, [], "step_never"
    if state.step is StepStatus.AGREED:
        kept = state.ending is CustomerAct.LEAVE_WON or state.committed_turn is not None
        value, lines, reason = (10.0 if kept else 9.0), agreed, "step_agreed"
    elif state.committed_turn is not None:
        value, lines, reason = 6.0, _spoken(state, CustomerAct.COMMIT), "step_bought_without"
    elif state.step is StepStatus.WITHDRAWN:
        value, lines, reason = 1.0, put_off, "step_withdrawn"
    elif state.step is StepStatus.ASKED:
        value, lines, reason = 4.0, asked, "step_vague"
    elif any(line.act is CustomerAct.DEFER_STEP for line in put_off):
        value, lines, reason = 2.0, put_off, "step_deferred"
    elif put_off:
        value, lines, reason = 1.0, put_off, "step_declined"
    return DimensionScore(dimension=Dimension.NEXT_STEP, value=value, quotes=_quotes(lines), reason=bank.reasons[reason])


def _information(state: State, bank: PhraseBank) -> DimensionScore:
    told = [topic for topic in FactTopic if topic in state.told]
    missing = [topic for topic in FactTopic if topic not in state.told]
    value = sum(FACT_POINTS[topic] for topic in told)
    if not told:
        reason = bank.reasons["facts_none"]
    elif missing:
        reason = bank.reasons["facts_some"].format(
            count=len(told), missing=bank.list_separator.join(bank.topic_labels[topic] for topic in missing)
        )
    else:
        reason = bank.reasons["facts_all"]
    quotes = _quotes(_spoken(state, CustomerAct.DISCLOSE), limit=len(FactTopic))
    return DimensionScore(dimension=Dimension.INFORMATION_ELICITATION, value=value, quotes=quotes, reason=reason)


def _objections(state: State, bank: PhraseBank) -> DimensionScore:
    raised = [concern for concern in state.concerns if concern.raised_turn is not None]
    if not raised:
        return DimensionScore(dimension=Dimension.OBJECTION_RESOLUTION, value=None, reason=bank.reasons["objections_none"])
    eased = [concern for concern in raised if concern.status is ConcernStatus.EASED]
    granted = {line.concern_id for line in _spoken(state, CustomerAct.CONCEDE_PART)}

    def credit(concern: ConcernState) -> float:
        return 1.0 if concern in eased else PART_EASED if concern.id in granted else 0.0

    value = 10.0 * fmean(map(credit, raised), weights=[concern.weight for concern in raised])
    reason = bank.reasons["objections_some"].format(eased=len(eased), raised=len(raised))
    lines = _spoken(state, CustomerAct.SOFTEN) or _spoken(
        state, CustomerAct.PUSH_BACK, CustomerAct.CONCEDE_PART, CustomerAct.OBJECT
    )
    return DimensionScore(dimension=Dimension.OBJECTION_RESOLUTION, value=value, quotes=_quotes(lines, limit=5), reason=reason)


def _learned(state: State, scenario: Scenario, topic: FactTopic) -> LearnedFact:
    told = next((item for item in state.disclosed if item.topic is topic), None)
    if told is None:
        return LearnedFact(topic=topic)
    return LearnedFact(topic=topic, summary=scenario.customer.fact(topic).summary, turn_index=told.turn)


def _outcomes(state: State, scenario: Scenario) -> list[ObjectionOutcome]:
    sheet = {concern.id: concern for concern in scenario.customer.concerns}
    return [
        ObjectionOutcome(
            concern_id=concern.id,
            kind=sheet[concern.id].kind,
            label=sheet[concern.id].label,
            eased=concern.status is ConcernStatus.EASED,
            raised_turn=concern.raised_turn,
            eased_turn=concern.eased_turn,
        )
        for concern in sorted(state.concerns, key=lambda concern: concern.raised_turn or 0)
        if concern.raised_turn is not None
    ]
