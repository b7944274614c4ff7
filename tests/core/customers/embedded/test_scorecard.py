"""The scorecard says what the state says."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.customers.embedded.acts import CustomerAct, SellerMove
from core.customers.embedded.policy import begin
from core.customers.embedded.scorecard import FACT_POINTS, embedded_scorecard, intent_of, score_state
from core.customers.embedded.state import ConcernStatus, Offence, State, StepStatus
from core.dialogues import Dialogue, Mode, Participant
from core.errors import InvalidInput
from core.scenarios import FactTopic, Language, Scenario, Tier
from core.scoring import Dimension, Intent, Scorecard
from tests.core.customers.embedded.acting import consultative, library, passive, play, random_seller, scenario


def value(card: Scorecard, dimension: Dimension) -> float | None:
    return next(score.value for score in card.dimensions if score.dimension is dimension)


def fresh(tier: Tier = Tier.MEDIUM, **changes: object) -> tuple[Scenario, State]:
    chosen = scenario("fin-deposit-01", tier, Language.EN)
    return chosen, begin(chosen, Random(1)).update(**changes)


def test_the_points_for_facts_add_up_to_ten() -> None:
    assert sum(FACT_POINTS.values()) == 10.0
    assert FACT_POINTS.keys() == set(FactTopic)


@pytest.mark.parametrize(
    ("changes", "intent"),
    [
        ({"committed_turn": 9, "ending": CustomerAct.LEAVE_WON}, Intent.A),
        ({"step": StepStatus.AGREED, "ending": CustomerAct.LEAVE_WON}, Intent.B),
        ({"interest": 0.9, "mood": "warm"}, Intent.B),
        ({"interest": 0.5, "mood": "neutral", "ending": CustomerAct.LEAVE_POLITE}, Intent.C),
        ({"interest": 0.1, "mood": "cool"}, Intent.X),
        ({"ending": CustomerAct.LEAVE_COLD}, Intent.X),
        ({"ending": CustomerAct.LEAVE_ANGRY}, Intent.F),
        ({"step": StepStatus.WITHDRAWN, "interest": 0.4, "mood": "neutral"}, Intent.C),
    ],
)
def test_intent(changes: dict[str, object], intent: Intent) -> None:
    chosen, state = fresh(**changes)
    assert intent_of(state, chosen) is intent


def test_a_perfect_sale_is_a_ten() -> None:
    chosen = scenario("fin-deposit-01", Tier.EASY, Language.EN)
    card = score_state(play(chosen, consultative, 1).state, chosen)
    assert card.final() == 10.0
    assert all(fact.summary and fact.turn_index is not None for fact in card.learned)
    assert card.objections
    assert all(objection.eased for objection in card.objections)
    assert card.unlisted_offers == ()


def test_nothing_asked_is_nothing_learned() -> None:
    chosen = scenario("fin-deposit-01", Tier.MEDIUM, Language.EN)
    card = score_state(play(chosen, passive, 1).state, chosen)
    assert value(card, Dimension.INFORMATION_ELICITATION) == 0.0
    assert [fact.summary for fact in card.learned] == [None] * 5


def test_no_objection_is_not_applicable_and_says_so() -> None:
    chosen, state = fresh()
    card = score_state(state, chosen)
    score = next(s for s in card.dimensions if s.dimension is Dimension.OBJECTION_RESOLUTION)
    assert score.value is None
    assert score.reason
    assert card.s_sell is not None


def test_an_objection_counts_by_its_weight() -> None:
    chosen, state = fresh()
    top, low = state.concerns[0], state.concerns[-1]
    open_one = {"status": ConcernStatus.OPEN, "raised_turn": 1}
    eased_one = {"status": ConcernStatus.EASED, "raised_turn": 1, "eased_turn": 3}
    well = state.with_concern(top.model_copy(update=eased_one)).with_concern(low.model_copy(update=open_one))
    badly = state.with_concern(top.model_copy(update=open_one)).with_concern(low.model_copy(update=eased_one))
    good = value(score_state(well, chosen), Dimension.OBJECTION_RESOLUTION)
    bad = value(score_state(badly, chosen), Dimension.OBJECTION_RESOLUTION)
    assert good is not None
    assert bad is not None
    assert 0 < bad < 5 < good < 10


def test_unlisted_offers_are_quoted() -> None:
    offence = Offence(move=SellerMove.UNLISTED_OFFER, turn=4, quote="half price, just for you", detail="discount")
    chosen, state = fresh(offences=(offence,))
    (offer,) = score_state(state, chosen).unlisted_offers
    assert (offer.turn_index, offer.quote, offer.what) == (4, "half price, just for you", "discount")


def test_reasons_are_in_the_language_of_the_dialogue() -> None:
    for language in Language:
        chosen = scenario("fin-deposit-01", Tier.HARD, language)
        card = score_state(play(chosen, consultative, 1).state, chosen)
        for score in card.dimensions:
            assert score.reason
            assert any("一" <= character <= "鿿" for character in score.reason) == (language is Language.ZH)


@settings(max_examples=60, deadline=None)
@given(index=st.integers(0, 10_000), seed=st.integers(0, 2**31))
def test_any_dialogue_can_be_scored(index: int, seed: int) -> None:
    scenarios = library()
    chosen = scenarios[index % len(scenarios)]
    played = play(chosen, random_seller, seed)
    card = score_state(played.state, chosen)
    assert card.intent is not None
    assert {score.dimension for score in card.dimensions} == set(Dimension)
    for score in card.dimensions:
        assert "{" not in score.reason
        assert all(any(quote in text for text in played.texts) for quote in score.quotes)
    assert {fact.topic for fact in card.learned} == set(FactTopic)
    for objection in card.objections:
        assert objection.raised_turn % 2 == 1
        assert objection.eased == (objection.eased_turn is not None)


def test_a_dialogue_without_this_customer_cannot_be_scored() -> None:
    person = Participant(kind="human", name="sam")
    dialogue = Dialogue(language=Language.EN, goal="sell", mode=Mode.IMPORTED, salesperson=person, customer=person)
    with pytest.raises(InvalidInput, match="embedded customer"):
        embedded_scorecard(dialogue)
