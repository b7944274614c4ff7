"""What the customer says, over the whole library and whatever the salesperson does."""

from __future__ import annotations

import re
from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.customers.embedded.acts import CustomerAct, Decision, Move
from core.customers.embedded.phrases import MOODS
from core.customers.embedded.policy import begin
from core.customers.embedded.wording import render, sentences
from core.customers.guards import inspect_reply
from core.scenarios import FactTopic, Language, Scenario, Tier
from tests.core.customers.embedded.acting import SELLERS, Played, library, play, random_seller, scenario
from tests.core.customers.embedded.test_phrases import SELLER_TALK

ABOUT_CONCERN = {
    CustomerAct.ASK,
    CustomerAct.OBJECT,
    CustomerAct.INSIST,
    CustomerAct.PUSH_BACK,
    CustomerAct.CONCEDE_PART,
    CustomerAct.SOFTEN,
}
ABOUT_TOPIC = {CustomerAct.DISCLOSE, CustomerAct.WITHHOLD, CustomerAct.REMIND}


def move(act: CustomerAct, scenario: Scenario) -> Move:
    return Move(
        act=act,
        topic=FactTopic.BUDGET if act in ABOUT_TOPIC else None,
        concern_id=scenario.customer.concerns[0].id if act in ABOUT_CONCERN else None,
        evidence_id=scenario.product.evidence[0].id if act is CustomerAct.ACKNOWLEDGE else None,
    )


def check(played: Played, language: Language) -> None:
    lines = [line.text for line in played.state.lines]
    assert [text for text, count in Counter(lines).items() if count > 1] == []
    said = Counter(sentence for text in played.texts for sentence in sentences(text))
    repeated = [s for s, count in said.items() if count > 1 and len(s) > (6 if language is Language.ZH else 15)]
    assert repeated == []
    for text in played.texts:
        assert not re.search(r"[{}]|  |\n", text), text
        assert text == text.strip()
        assert text[-1] in ".?!。？！…", text
        assert not SELLER_TALK.search(text), text
        assert inspect_reply(text, language) == (), text
        if language is Language.EN:
            assert not text[0].islower(), text


@settings(max_examples=150, deadline=None)
@given(index=st.integers(0, 10_000), seed=st.integers(0, 2**31))
def test_nothing_is_said_twice_whatever_happens(index: int, seed: int) -> None:
    scenarios = library()
    chosen = scenarios[index % len(scenarios)]
    check(play(chosen, random_seller, seed), chosen.language)


@pytest.mark.parametrize("name", SELLERS)
@pytest.mark.parametrize("tier", list(Tier))
def test_nothing_is_said_twice_to_real_salespeople(name: str, tier: Tier) -> None:
    for chosen in library():
        if chosen.tier.tier is tier:
            check(play(chosen, SELLERS[name], 5), chosen.language)


@pytest.mark.parametrize("language", list(Language))
@pytest.mark.parametrize("act", list(CustomerAct))
@pytest.mark.parametrize("mood", MOODS)
def test_an_act_outlasts_any_dialogue(language: Language, act: CustomerAct, mood: str) -> None:
    """Sixty times the same act: three sessions of twenty rounds without a line said twice."""
    chosen = scenario("fin-deposit-01", Tier.HARD, language)
    state = begin(chosen, Random(1))
    texts = []
    for turn in range(60):
        decision = Decision(moves=(move(act, chosen),), mood=mood)
        text, state = render(decision, state.update(turn=turn), chosen, Random(turn))
        texts.append(text)
    assert len(set(texts)) == 60
    assert not any("{" in text for text in texts)


def test_a_concern_is_raised_in_its_own_words_once_and_then_named() -> None:
    chosen = scenario("fin-deposit-01", Tier.HARD, Language.EN)
    concern = chosen.customer.concerns[0]
    state = begin(chosen, Random(1))
    texts = []
    for turn in range(8):
        moves = (Move(act=CustomerAct.OBJECT, concern_id=concern.id),)
        text, state = render(Decision(moves=moves, mood="neutral"), state.update(turn=turn), chosen, Random(turn))
        texts.append(text)
    assert texts[0] == concern.worry
    assert sum(concern.worry in text for text in texts) == 1
    assert any(concern.label in text for text in texts[1:])


def test_a_number_is_echoed_only_if_it_was_said() -> None:
    chosen = scenario("fin-deposit-01", Tier.EASY, Language.EN)
    moves = (Move(act=CustomerAct.ACKNOWLEDGE, evidence_id="rate"),)
    for seed in range(40):
        decision = Decision(moves=moves, mood="warm")
        silent, _ = render(decision, begin(chosen, Random(1)), chosen, Random(seed), heard="The rate is fixed.")
        assert not re.search(r"\d", silent)
    spoken = [
        render(Decision(moves=moves, mood="warm"), begin(chosen, Random(1)), chosen, Random(seed), heard="It pays 3.60% a year.")[
            0
        ]
        for seed in range(40)
    ]
    assert any("3.60%" in text for text in spoken)


def test_the_mood_is_heard() -> None:
    chosen = scenario("fin-deposit-01", Tier.MEDIUM, Language.EN)
    words = {
        mood: {
            render(
                Decision(moves=(Move(act=CustomerAct.REJECT_PRESSURE),), mood=mood), begin(chosen, Random(1)), chosen, Random(s)
            )[0]
            for s in range(60)
        }
        for mood in MOODS
    }
    assert not words["warm"] & words["hostile"]
    assert not words["warm"] & words["cool"]


@pytest.mark.parametrize(("base", "polite"), [("fin-pension-07", "您"), ("fin-credit-card-08", "你")])
def test_the_customer_keeps_their_own_way_of_address(base: str, polite: str) -> None:
    chosen = scenario(base, Tier.MEDIUM, Language.ZH)
    decision = Decision(moves=(Move(act=CustomerAct.REJECT_PRESSURE),), mood="neutral")
    texts = "".join(render(decision, begin(chosen, Random(1)), chosen, Random(seed))[0] for seed in range(40))
    assert polite in texts
    assert ({"您", "你"} - {polite}).pop() not in texts
