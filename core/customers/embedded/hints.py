"""Hints from the embedded customer's state. They speak only of what the customer has brought up itself."""

from __future__ import annotations

from core.customers.embedded.state import State, StepStatus
from core.dialogues import Dialogue
from core.hints import Hint, HintKind
from core.scenarios import FactTopic, Scenario

__all__ = ["embedded_hint"]

LOW_PATIENCE = 0.25

# What helps most to know early comes first; the least asked-for, decision authority, is not left to the end by accident.
_ORDER = (
    FactTopic.TIME_HORIZON,
    FactTopic.BUDGET,
    FactTopic.DECISION_AUTHORITY,
    FactTopic.COMPETING_OPTIONS,
    FactTopic.RISK_TOLERANCE,
)


def embedded_hint(dialogue: Dialogue) -> Hint | None:
    """What is worth doing next, or None where the embedded customer takes no part. Raises InvalidInput for a foreign state."""
    scenario = dialogue.scenario
    if scenario is None:
        return None
    if dialogue.customer_state is None:
        return Hint(kind=HintKind.ASK_OPENLY)
    return hint_for(State.from_json(dialogue.customer_state), scenario)


def hint_for(state: State, scenario: Scenario) -> Hint:
    """The same, from the state itself."""
    if state.committed_turn is not None:
        return Hint(kind=HintKind.WRAP_UP)
    if state.patience <= LOW_PATIENCE:
        return Hint(kind=HintKind.EASE_OFF)
    if state.pending:
        return _address(state.pending[0].id, scenario)
    if state.rounds <= 1 and not state.disclosed:
        return Hint(kind=HintKind.ASK_OPENLY)
    unknown = [topic for topic in _ORDER if topic not in state.told and topic not in state.withheld]
    if unknown and (len(state.disclosed) < 2 or state.step is StepStatus.NONE) and state.step is not StepStatus.AGREED:
        return Hint(kind=HintKind.ASK_FACT, topic=unknown[0])
    return Hint(kind=HintKind.CLOSE if state.step is StepStatus.AGREED else HintKind.PROPOSE_STEP)


def _address(concern_id: str, scenario: Scenario) -> Hint:
    concern = next(item for item in scenario.customer.concerns if item.id == concern_id)
    names = tuple(scenario.product.find_evidence(item).name for item in concern.eased_by)
    return Hint(kind=HintKind.ADDRESS, concern=concern.label, evidence=names)
