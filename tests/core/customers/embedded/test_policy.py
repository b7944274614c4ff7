"""How the customer takes what a salesperson does. Acts only: no words are read or compared here."""

from __future__ import annotations

from random import Random

import pytest

from core.customers.embedded.acts import CustomerAct, Decision, SellerAct, SellerMove, Understood
from core.customers.embedded.policy import begin, begin_session, decide, opening
from core.customers.embedded.state import ConcernStatus, State, StepStatus
from core.customers.embedded.tiers import TIERS
from core.scenarios import FactTopic, Language, Scenario, Tier
from tests.core.customers.embedded.acting import act, heard, library, play, random_seller, scenario

EN, ZH = Language.EN, Language.ZH
BASE = "fin-deposit-01"


def said(decision: Decision) -> set[CustomerAct]:
    return {move.act for move in decision.moves}


def start(tier: Tier, **changes: object) -> tuple[Scenario, State]:
    """A customer in mid-dialogue: greeted, all concerns quiet unless changed."""
    chosen = scenario(BASE, tier, EN)
    return chosen, begin(chosen, Random(1)).update(greeted=True, rounds=5, session_rounds=5, **changes)


def with_open(state: State, concern_id: str, **changes: object) -> State:
    concern = state.concern(concern_id).model_copy(
        update={"status": ConcernStatus.OPEN, "raised_turn": 1, "last_turn": state.turn} | changes
    )
    return state.with_concern(concern)


def eased(state: State) -> State:
    concerns = tuple(
        c.model_copy(update={"status": ConcernStatus.EASED, "raised_turn": 1, "eased_turn": 3}) for c in state.concerns
    )
    return state.update(concerns=concerns)


def react(state: State, chosen: Scenario, *acts: SellerAct, seed: int = 0, **about: int) -> tuple[State, Decision]:
    understood = heard(*acts)
    if about:
        understood = Understood(acts=understood.acts, question_count=about.get("questions", 0), length=about.get("length", 10))
    return decide(state.update(turn=state.turn + 2), understood, chosen, Random(seed))


def chance_of(wanted: CustomerAct, state: State, chosen: Scenario, *acts: SellerAct, tries: int = 60) -> float:
    return sum(wanted in said(react(state, chosen, *acts, seed=seed)[1]) for seed in range(tries)) / tries


# -- what was asked ---------------------------------------------------------------------------------------------------


def test_answers_come_in_the_order_of_the_questions() -> None:
    chosen, state = start(Tier.EASY)
    acts = (act(SellerMove.ASK_FACT, topic=FactTopic.TIME_HORIZON), act(SellerMove.ASK_SITUATION))
    _, decision = react(state, chosen, *acts)
    assert [m.act for m in decision.moves][:2] == [CustomerAct.DISCLOSE, CustomerAct.STATE_SITUATION]


@pytest.mark.parametrize("tier", list(Tier))
def test_no_fact_is_told_unless_it_was_asked_for(tier: Tier) -> None:
    for chosen in (s for s in library() if s.tier.tier is tier):
        for seed in range(2):
            played = play(chosen, random_seller, seed)
            asked = [(n, a.topic) for n, turn in enumerate(played.sold) for a in turn.all(SellerMove.ASK_FACT)]
            for told in played.state.disclosed:
                assert ((told.turn - 1) // 2, told.topic) in asked


def test_guarded_customers_withhold_until_they_trust() -> None:
    ask = act(SellerMove.ASK_FACT, topic=FactTopic.BUDGET)
    for tier in (Tier.HARD, Tier.VERY_HARD, Tier.ADVERSARIAL):
        chosen, state = start(tier)
        assert CustomerAct.WITHHOLD in said(react(state, chosen, ask)[1])
        assert CustomerAct.DISCLOSE in said(react(state.update(trust=0.6), chosen, ask)[1])
    for tier in (Tier.EASY, Tier.MEDIUM):
        chosen, state = start(tier)
        assert CustomerAct.DISCLOSE in said(react(state, chosen, ask)[1])


def test_a_better_motivated_second_ask_gets_an_answer() -> None:
    chosen, state = start(Tier.HARD)
    ask = act(SellerMove.ASK_FACT, topic=FactTopic.DECISION_AUTHORITY)
    state, first = react(state, chosen, ask)
    _, second = react(state, chosen, act(SellerMove.EMPATHISE), ask)
    assert CustomerAct.WITHHOLD in said(first)
    assert CustomerAct.DISCLOSE in said(second)


def test_a_fact_is_told_once() -> None:
    chosen, state = start(Tier.EASY)
    ask = act(SellerMove.ASK_FACT, topic=FactTopic.BUDGET)
    state, _ = react(state, chosen, ask)
    state, again = react(state, chosen, ask)
    assert CustomerAct.REMIND in said(again)
    assert len(state.disclosed) == 1


def test_asked_what_holds_them_back_they_say_it_and_then_nothing_is_left() -> None:
    chosen, state = start(Tier.VERY_HARD)
    _, decision = react(state, chosen, act(SellerMove.ASK_CONCERN))
    assert said(decision) & {CustomerAct.ASK, CustomerAct.OBJECT}
    _, decision = react(eased(state), chosen, act(SellerMove.ASK_CONCERN))
    assert CustomerAct.NO_CONCERN in said(decision)


# -- evidence ---------------------------------------------------------------------------------------------------------


def test_specific_evidence_eases_and_words_do_not() -> None:
    chosen, state = start(Tier.MEDIUM)
    state = with_open(state, "safety")
    answered, decision = react(state, chosen, act(SellerMove.ADDRESS_CONCERN, concern_id="safety", evidence_ids=("insurance",)))
    assert CustomerAct.SOFTEN in said(decision)
    assert answered.concern("safety").status is ConcernStatus.EASED
    assert answered.interest > state.interest
    dodged, decision = react(state, chosen, act(SellerMove.ADDRESS_CONCERN, concern_id="safety"))
    assert CustomerAct.PUSH_BACK in said(decision)
    assert dodged.interest < state.interest
    assert dodged.patience < answered.patience


def test_evidence_beside_the_point_does_not_ease() -> None:
    chosen, state = start(Tier.MEDIUM)
    state = with_open(state, "safety")
    after, decision = react(state, chosen, act(SellerMove.ADDRESS_CONCERN, concern_id="safety", evidence_ids=("app",)))
    assert CustomerAct.PUSH_BACK in said(decision)
    assert after.concern("safety").is_pending


def test_hard_customers_want_more_than_the_bare_fact() -> None:
    chosen, state = start(Tier.HARD)
    state = with_open(state, "safety")
    answer = act(SellerMove.ADDRESS_CONCERN, concern_id="safety", evidence_ids=("insurance",))
    _, bare = react(state, chosen, answer)
    _, heard_out = react(state, chosen, act(SellerMove.EMPATHISE), answer)
    assert CustomerAct.CONCEDE_PART in said(bare)
    assert CustomerAct.SOFTEN in said(heard_out)


def test_dodging_twice_hardens_a_concern() -> None:
    chosen, state = start(Tier.MEDIUM)
    state = with_open(state, "safety")
    for _ in range(2):
        state, _ = react(state, chosen, act(SellerMove.ADDRESS_CONCERN, concern_id="safety"))
    assert state.concern("safety").status is ConcernStatus.HARDENED
    answer = act(SellerMove.ADDRESS_CONCERN, concern_id="safety", evidence_ids=("insurance",))
    assert react(state, chosen, answer)[0].concern("safety").is_pending


def test_weightier_concerns_move_interest_more() -> None:
    chosen, state = start(Tier.MEDIUM)
    top, low = state.concerns[0], state.concerns[-1]
    gains = []
    for concern in (top, low):
        sheet = next(c for c in chosen.customer.concerns if c.id == concern.id)
        answer = act(SellerMove.ADDRESS_CONCERN, concern_id=concern.id, evidence_ids=sheet.eased_by[:1])
        after, _ = react(with_open(state, concern.id).update(evidence_heard=sheet.eased_by), chosen, answer)
        gains.append(after.interest - state.interest)
    assert top.weight > low.weight
    assert gains[0] > gains[1] > 0


def test_praise_and_repetition_cost_patience_and_convince_nobody() -> None:
    chosen, state = start(Tier.HARD)
    for move, reaction in ((SellerMove.PRAISE, CustomerAct.DOUBT_PRAISE), (SellerMove.REPEAT, CustomerAct.NOTICE_REPEAT)):
        after, _ = react(state, chosen, act(move))
        assert after.interest <= state.interest
        assert after.patience < state.patience - 0.05
        assert chance_of(reaction, state, chosen, act(move)) > 0.8


# -- pressure and worse -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tier", list(Tier))
def test_pressure_costs_trust_interest_and_patience(tier: Tier) -> None:
    chosen, state = start(tier, interest=0.6, trust=0.6, patience=0.9)
    after, decision = react(state, chosen, act(SellerMove.PRESSURE, detail="urgency"))
    assert CustomerAct.REJECT_PRESSURE in said(decision)
    assert after.interest < state.interest
    assert after.trust < state.trust
    assert after.patience < state.patience


def test_unlisted_offers_are_questioned_and_false_claims_challenged() -> None:
    chosen, state = start(Tier.MEDIUM)
    after, offer = react(state, chosen, act(SellerMove.UNLISTED_OFFER, detail="gift", quote="a free kettle"))
    assert CustomerAct.QUESTION_OFFER in said(offer)
    assert after.offences[0].quote == "a free kettle"
    assert after.offences[0].turn == after.turn - 1
    after, claim = react(state, chosen, act(SellerMove.FALSE_CLAIM, quote="5% a year"))
    assert CustomerAct.CHALLENGE_CLAIM in said(claim)
    assert after.trust < state.trust - 0.1


@pytest.mark.parametrize("tier", list(Tier))
@pytest.mark.parametrize("language", list(Language))
def test_orders_to_the_simulator_puzzle_a_customer_and_are_never_obeyed(tier: Tier, language: Language) -> None:
    chosen = scenario(BASE, tier, language)
    state = begin(chosen, Random(1))
    for number in range(6):
        order = (
            act(SellerMove.INSTRUCT, quote="Say that you buy"),
            act(SellerMove.CLOSE),
            act(SellerMove.PROPOSE_STEP, specific=True),
        )
        before = state
        state, decision = decide(state.update(turn=2 * number + 1), heard(*order), chosen, Random(number))
        assert said(decision) & {CustomerAct.PUZZLED, CustomerAct.OFFENDED}
        assert not said(decision) & {CustomerAct.COMMIT, CustomerAct.AGREE_STEP, CustomerAct.DISCLOSE}
        assert not state.is_won
        assert state.patience < before.patience
        if decision.leaves:
            break
    assert decision.leaves


def test_an_insult_ends_it_for_hard_customers_and_a_second_one_for_all() -> None:
    chosen, state = start(Tier.HARD)
    after, decision = react(state, chosen, act(SellerMove.INSULT))
    assert decision.leaves
    assert after.ending is CustomerAct.LEAVE_ANGRY
    chosen, state = start(Tier.EASY)
    state, decision = react(state, chosen, act(SellerMove.INSULT))
    assert not decision.leaves
    assert said(decision) == {CustomerAct.OFFENDED}
    assert react(state, chosen, act(SellerMove.INSULT))[1].leaves


def test_speeches_and_cross_examinations_cost_patience() -> None:
    chosen, state = start(Tier.HARD)
    inform = act(SellerMove.INFORM, evidence_ids=("rate",))
    short, _ = react(state, chosen, inform, length=30)
    speech, _ = react(state, chosen, inform, length=300)
    many, _ = react(state, chosen, inform, questions=6)
    assert speech.patience < short.patience - 0.05
    assert many.patience < short.patience


def test_who_was_pressed_after_agreeing_may_take_it_back() -> None:
    chosen, state = start(Tier.HARD, interest=0.55, step=StepStatus.AGREED, step_turn=5)
    after, decision = react(state, chosen, act(SellerMove.PRESSURE))
    assert after.step is StepStatus.WITHDRAWN
    assert CustomerAct.DECLINE_STEP in said(decision)


# -- agreeing ---------------------------------------------------------------------------------------------------------


def test_a_won_customer_agrees_to_a_specific_step_and_asks_about_a_vague_one() -> None:
    chosen, state = start(Tier.HARD, interest=0.85, trust=0.7)
    state = eased(state)
    after, decision = react(state, chosen, act(SellerMove.PROPOSE_STEP, specific=True))
    assert said(decision) == {CustomerAct.AGREE_STEP}
    assert after.step is StepStatus.AGREED
    after, decision = react(state, chosen, act(SellerMove.PROPOSE_STEP))
    assert CustomerAct.ASK_STEP in said(decision)
    assert after.step is StepStatus.ASKED
    assert CustomerAct.AGREE_STEP in said(react(after, chosen, act(SellerMove.PROPOSE_STEP, specific=True))[1])


def test_a_main_concern_stands_in_the_way() -> None:
    chosen, state = start(Tier.HARD, interest=0.85, trust=0.7)
    _, decision = react(state, chosen, act(SellerMove.PROPOSE_STEP, specific=True))
    assert CustomerAct.DEFER_STEP in said(decision)
    assert said(decision) & {CustomerAct.OBJECT, CustomerAct.ASK}


def test_a_customer_with_little_interest_declines() -> None:
    chosen, state = start(Tier.HARD, interest=0.2)
    after, decision = react(state, chosen, act(SellerMove.PROPOSE_STEP, specific=True))
    assert CustomerAct.DECLINE_STEP in said(decision)
    assert after.refusals == 1


def test_asked_to_buy_too_early_they_decline_and_cool_down() -> None:
    for tier in Tier:
        chosen = scenario(BASE, tier, EN)
        state = begin(chosen, Random(1)).update(greeted=True, session_rounds=1, turn=1)
        after, decision = react(state, chosen, act(SellerMove.CLOSE))
        assert CustomerAct.COMMIT not in said(decision)
        assert CustomerAct.DECLINE_CLOSE in said(decision)
        assert after.trust < state.trust


def test_hard_customers_commit_only_once_a_step_stands() -> None:
    chosen, state = start(Tier.HARD, interest=0.95, trust=0.8)
    state = eased(state)
    assert CustomerAct.DECLINE_CLOSE in said(react(state, chosen, act(SellerMove.CLOSE))[1])
    agreed, _ = react(state, chosen, act(SellerMove.PROPOSE_STEP, specific=True))
    bought, decision = react(agreed, chosen, act(SellerMove.CLOSE))
    assert CustomerAct.COMMIT in said(decision)
    assert bought.committed_turn == bought.turn


def test_nothing_is_agreed_in_the_breath_of_pressure() -> None:
    chosen, state = start(Tier.EASY, interest=0.95, trust=0.9)
    after, _ = react(eased(state), chosen, act(SellerMove.PRESSURE), act(SellerMove.CLOSE))
    assert after.committed_turn is None


def test_after_the_purchase_a_farewell_ends_it_won() -> None:
    chosen, state = start(Tier.EASY, interest=0.95, trust=0.8, step=StepStatus.AGREED, step_turn=5, committed_turn=7)
    after, decision = react(eased(state), chosen, act(SellerMove.FAREWELL))
    assert said(decision) == {CustomerAct.LEAVE_WON}
    assert decision.leaves
    assert after.ending is CustomerAct.LEAVE_WON


def test_an_agreed_customer_does_not_listen_for_ever() -> None:
    chosen, state = start(Tier.EASY, interest=0.8, trust=0.8, step=StepStatus.AGREED, step_turn=5)
    state = eased(state)
    state, first = react(state, chosen, act(SellerMove.PRAISE))
    _, second = react(state, chosen, act(SellerMove.PRAISE))
    assert said(first) == {CustomerAct.CONFIRM_STEP}
    assert said(second) == {CustomerAct.LEAVE_WON}


# -- leaving, moods, initiative ---------------------------------------------------------------------------------------


def test_spent_patience_ends_it_politely_coldly_or_angrily() -> None:
    drain = act(SellerMove.UNCLEAR)
    chosen, state = start(Tier.EASY, patience=0.01)
    assert react(state, chosen, drain)[0].ending is CustomerAct.LEAVE_POLITE
    chosen, state = start(Tier.VERY_HARD, patience=0.01)
    assert react(state, chosen, drain)[0].ending is CustomerAct.LEAVE_COLD
    chosen, state = start(Tier.ADVERSARIAL, patience=0.15)
    state, _ = react(state.update(patience=0.6), chosen, act(SellerMove.FALSE_CLAIM))
    after, decision = react(state.update(patience=0.05), chosen, act(SellerMove.PRESSURE))
    assert decision.leaves
    assert after.ending is CustomerAct.LEAVE_ANGRY


def test_a_customer_who_runs_out_of_patience_says_so_once() -> None:
    chosen, state = start(Tier.HARD, patience=0.17)
    ask = act(SellerMove.ASK_SITUATION)
    state, decision = react(state, chosen, ask)
    assert CustomerAct.IMPATIENT in said(decision)
    assert CustomerAct.IMPATIENT not in said(react(state, chosen, ask)[1])


def test_moods_warm_up_and_cool_down() -> None:
    chosen = scenario(BASE, Tier.HARD, EN)
    cold = begin(chosen, Random(1))
    assert cold.mood in ("neutral", "cool")
    _, decision = react(eased(cold).update(greeted=True, interest=0.8, trust=0.7), chosen, act(SellerMove.EMPATHISE))
    assert decision.mood == "warm"
    _, decision = react(cold.update(greeted=True, interest=0.2, trust=0.2), chosen, act(SellerMove.PRESSURE))
    assert decision.mood in ("cool", "hostile")


def test_tiers_differ_visibly() -> None:
    """Initiative, tone and the way a first concern is put."""
    raising = {CustomerAct.ASK, CustomerAct.OBJECT}
    share, asked, moods = {}, {}, {}
    for tier in Tier:
        chosen, state = start(tier)
        decisions = [react(state, chosen, act(SellerMove.ASK_SITUATION), seed=seed)[1] for seed in range(200)]
        raised = [d for d in decisions if said(d) & raising]
        share[tier] = len(raised) / 200
        asked[tier] = sum(CustomerAct.ASK in said(d) for d in raised) / max(1, len(raised))
        moods[tier] = decisions[0].mood
    assert share[Tier.EASY] > share[Tier.VERY_HARD] < share[Tier.ADVERSARIAL]
    assert asked[Tier.EASY] > asked[Tier.MEDIUM] > asked[Tier.HARD] > asked[Tier.ADVERSARIAL]
    assert moods[Tier.EASY] == "warm"
    assert moods[Tier.ADVERSARIAL] in ("cool", "hostile")


def test_the_table_falls_from_easy_to_adversarial() -> None:
    rows = [TIERS[tier] for tier in Tier]
    assert [r.trust for r in rows] == sorted((r.trust for r in rows), reverse=True)
    assert [r.patience for r in rows] == sorted((r.patience for r in rows), reverse=True)
    assert [r.receptivity for r in rows] == sorted((r.receptivity for r in rows), reverse=True)
    assert [r.proof for r in rows] == sorted(r.proof for r in rows)
    assert [r.temper for r in rows] == sorted((r.temper for r in rows), reverse=True)


# -- openings, sessions, portfolios -----------------------------------------------------------------------------------


def test_the_customer_may_open_and_does_not_greet_twice() -> None:
    chosen = scenario(BASE, Tier.EASY, EN)
    state, decision = opening(begin(chosen, Random(1)), chosen)
    assert said(decision) == {CustomerAct.OPEN}
    _, decision = react(state, chosen, act(SellerMove.GREET), act(SellerMove.ASK_NEED))
    assert CustomerAct.OPEN not in said(decision)
    assert CustomerAct.STATE_NEED in said(decision)


def test_a_follow_up_session_remembers_and_can_be_less_receptive() -> None:
    chosen, state = start(Tier.HARD)
    state, _ = react(state.update(trust=0.6), chosen, act(SellerMove.ASK_FACT, topic=FactTopic.BUDGET))
    soured = state.update(ending=CustomerAct.LEAVE_COLD, patience=0.0)
    later = begin_session(soured, chosen, Random(1), 2)
    fresh = begin_session(state.update(ending=CustomerAct.LEAVE_POLITE), chosen, Random(1), 2)
    assert later.told == state.told
    assert later.session == 2
    assert 0.0 < later.patience < fresh.patience
    assert later.susceptibility < fresh.susceptibility
    assert later.interest < fresh.interest
    _, decision = react(later, chosen, act(SellerMove.GREET))
    assert CustomerAct.GREET in said(decision)
    assert CustomerAct.OPEN not in said(decision)


def test_another_product_is_heard_once_and_then_does_not_fit() -> None:
    chosen, state = start(Tier.MEDIUM)
    other = act(SellerMove.INFORM, product_id="fin-fund-03", evidence_ids=("index",))
    state, first = react(state, chosen, other)
    assert CustomerAct.ACKNOWLEDGE in said(first)
    _, second = react(state, chosen, other)
    assert CustomerAct.MISFIT in said(second)
    won = eased(state).update(interest=0.9, trust=0.8)
    after, offer = react(won, chosen, act(SellerMove.CLOSE, product_id="fin-fund-03"))
    assert CustomerAct.MISFIT in said(offer)
    assert after.committed_turn is None
