"""Hints speak of what was said, and never give the customer's sheet away."""

from __future__ import annotations

import random

import pytest

from core.customers.embedded.hints import hint_for
from core.customers.embedded.policy import begin
from core.customers.embedded.state import ConcernStatus, Disclosure, State, StepStatus
from core.hints import HintKind
from core.scenarios import FactTopic, Scenario
from tests.support.store_factory import a_scenario


@pytest.fixture
def scenario() -> Scenario:
    return a_scenario()


@pytest.fixture
def state(scenario: Scenario) -> State:
    return begin(scenario, random.Random(1)).update(patience=0.9, rounds=3)


def test_an_open_question_comes_first(state: State, scenario: Scenario) -> None:
    assert hint_for(state.update(rounds=0), scenario).kind is HintKind.ASK_OPENLY


def test_a_concern_is_named_only_after_the_customer_raised_it(state: State, scenario: Scenario) -> None:
    assert hint_for(state, scenario).concern is None
    first = state.concerns[0]
    raised = state.with_concern(first.model_copy(update={"status": ConcernStatus.OPEN, "raised_turn": 1, "last_turn": 1}))
    hint = hint_for(raised, scenario)
    assert hint.kind is HintKind.ADDRESS
    concern = next(item for item in scenario.customer.concerns if item.id == first.id)
    assert hint.concern == concern.label
    assert set(hint.evidence) == {scenario.product.find_evidence(item).name for item in concern.eased_by}


def test_facts_are_asked_for_until_there_is_enough_to_propose_a_step(state: State, scenario: Scenario) -> None:
    asked = set()
    for turn in range(len(FactTopic)):
        hint = hint_for(state, scenario)
        assert hint.kind is HintKind.ASK_FACT
        assert hint.topic is not None
        assert hint.topic not in asked
        asked.add(hint.topic)
        state = state.update(disclosed=(*state.disclosed, Disclosure(topic=hint.topic, turn=turn)))
    assert hint_for(state, scenario).kind is HintKind.PROPOSE_STEP


def test_a_step_that_stands_leads_to_the_close_and_a_yes_to_the_end(state: State, scenario: Scenario) -> None:
    agreed = state.update(step=StepStatus.AGREED)
    assert hint_for(agreed, scenario).kind is HintKind.CLOSE
    assert hint_for(agreed.update(committed_turn=9), scenario).kind is HintKind.WRAP_UP


def test_low_patience_comes_before_everything_but_a_yes(state: State, scenario: Scenario) -> None:
    assert hint_for(state.update(patience=0.1), scenario).kind is HintKind.EASE_OFF
