"""Scenarios from the shipped library's files, and salespeople that act without words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random

import yaml

from core.customers.embedded.acts import CustomerAct, Decision, SellerAct, SellerMove, Understood
from core.customers.embedded.policy import begin, decide
from core.customers.embedded.state import State, StepStatus
from core.customers.embedded.wording import render
from core.scenarios import CustomerSide, FactTopic, Language, Product, Scenario, Setting, Tier, TierProfile, scenario_id

LIBRARY = Path(__file__).parents[4] / "data" / "library"
MAX_ROUNDS = 20


@cache
def library() -> tuple[Scenario, ...]:
    """Every scenario of the library, all tiers, both languages."""
    tiers = yaml.safe_load((LIBRARY / "tiers.yaml").read_text("utf-8"))
    scenarios = []
    for path in sorted((LIBRARY / "customers").glob("*.yaml")):
        sheet = LIBRARY / "products" / path.name
        if not sheet.exists():
            continue
        side = CustomerSide.model_validate(yaml.safe_load(path.read_text("utf-8")))
        product = Product.model_validate(yaml.safe_load(sheet.read_text("utf-8")))
        for tier in tiers:
            profile = TierProfile(tier=tier["tier"], propensity=tier["propensity"], style=tier["style"][side.language.value])
            scenarios.append(
                Scenario(
                    id=scenario_id(product.id, profile.tier, product.language),
                    base=product.id,
                    language=product.language,
                    setting=Setting.SINGLE,
                    domain=product.domain,
                    category=product.category,
                    title=product.name,
                    products=(product,),
                    customer=side,
                    tier=profile,
                )
            )
    return tuple(scenarios)


def scenario(base: str, tier: Tier, language: Language) -> Scenario:
    wanted = scenario_id(base, tier, language)
    return next(s for s in library() if s.id == wanted)


def act(move: SellerMove, **about: object) -> SellerAct:
    return SellerAct.model_validate({"move": move} | about)


def heard(*acts: SellerAct) -> Understood:
    questions = sum(a.move.value.startswith("ask_") for a in acts)
    return Understood(acts=acts, question_count=questions, length=12 * len(acts))


Seller = Callable[[State, Scenario, int, Random, Decision | None], Understood]


@dataclass
class Played:
    """A dialogue at the level of acts, with the customer's words."""

    state: State
    texts: list[str] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    sold: list[Understood] = field(default_factory=list)


def play(scenario: Scenario, seller: Seller, seed: int, rounds: int = MAX_ROUNDS) -> Played:
    state = begin(scenario, Random(f"{seed}|{scenario.id}|disposition"))
    played = Played(state)
    chance = Random(f"{seed}|seller")
    last: Decision | None = None
    for number in range(rounds):
        understood = seller(state, scenario, number, chance, last)
        rng = Random(f"{seed}|{scenario.id}|{2 * number + 1}")
        state, last = decide(state.update(turn=2 * number + 1), understood, scenario, rng)
        text, state = render(last, state, scenario, rng)
        played.state = state
        played.texts.append(text)
        played.decisions.append(last)
        played.sold.append(understood)
        if last.leaves:
            break
    return played


def consultative(state: State, scenario: Scenario, number: int, chance: Random, last: Decision | None) -> Understood:
    """Asks first, listens, answers each concern with the evidence that meets it, then proposes something specific."""
    if number == 0:
        return heard(act(SellerMove.GREET), act(SellerMove.ASK_NEED))
    if last is not None and state.committed_turn is not None:
        return heard(act(SellerMove.FAREWELL))
    if last is not None and any(m.act is CustomerAct.DECLINE_STEP for m in last.moves):
        return (
            heard(act(SellerMove.ACCEPT_NO), act(SellerMove.FAREWELL)) if state.refusals > 1 else heard(act(SellerMove.ACCEPT_NO))
        )
    if state.step is StepStatus.AGREED:
        return heard(act(SellerMove.CLOSE)) if not declined(last) else heard(act(SellerMove.FAREWELL))
    concerns = {c.id: c for c in scenario.customer.concerns}
    if state.pending:
        concern = concerns[state.pending[0].id]
        new = [i for i in concern.eased_by if i not in state.pending[0].evidence] or list(concern.eased_by)
        answer = act(SellerMove.ADDRESS_CONCERN, concern_id=concern.id, evidence_ids=tuple(new[:1]))
        return heard(act(SellerMove.EMPATHISE), answer)
    open_topics = [t for t in FactTopic if t not in state.told]
    if open_topics and number < 12:
        topic = min(open_topics, key=lambda t: (state.withheld.count(t), list(FactTopic).index(t)))
        if number == 1:
            return heard(act(SellerMove.ASK_SITUATION), act(SellerMove.ASK_FACT, topic=topic))
        return heard(act(SellerMove.ASK_FACT, topic=topic))
    if number % 2 == 0 and any(c.status == "quiet" for c in state.concerns):
        return heard(act(SellerMove.ASK_CONCERN))
    return heard(act(SellerMove.PROPOSE_STEP, specific=True))


def declined(last: Decision | None) -> bool:
    return last is not None and any(m.act is CustomerAct.DECLINE_CLOSE for m in last.moves)


def passive(state: State, scenario: Scenario, number: int, chance: Random, last: Decision | None) -> Understood:
    """Recites the sheet, answers at random, asks nothing of substance, leaves the next step vague."""
    if number == 0:
        return heard(act(SellerMove.GREET))
    if number >= 10:
        return heard(act(SellerMove.FAREWELL))
    if number == 8:
        return heard(act(SellerMove.PROPOSE_STEP, specific=False))
    evidence = chance.choice(scenario.product.evidence).id
    if state.pending and chance.random() < 0.5:
        concern = state.pending[0].id
        return heard(
            act(SellerMove.ADDRESS_CONCERN, concern_id=concern, evidence_ids=(evidence,) if chance.random() < 0.5 else ())
        )
    inform = act(SellerMove.INFORM, evidence_ids=(evidence,))
    return heard(inform, act(SellerMove.ASK_OTHER)) if chance.random() < 0.3 else heard(inform)


def pushy(state: State, scenario: Scenario, number: int, chance: Random, last: Decision | None) -> Understood:
    """Praises, presses, offers what is not on the sheet, and asks for the purchase all the time."""
    if number == 0:
        return heard(act(SellerMove.GREET), act(SellerMove.PRAISE))
    evidence = chance.choice(scenario.product.evidence).id
    turns = (
        heard(act(SellerMove.INFORM, evidence_ids=(evidence,)), act(SellerMove.CLOSE)),
        heard(act(SellerMove.PRESSURE, detail="urgency"), act(SellerMove.CLOSE)),
        heard(act(SellerMove.UNLISTED_OFFER, detail="discount", quote="half price"), act(SellerMove.PROPOSE_STEP, specific=True)),
        heard(act(SellerMove.PRAISE), act(SellerMove.CLOSE)),
        heard(act(SellerMove.REPEAT), act(SellerMove.PRESSURE, detail="scarcity")),
    )
    return chance.choice(turns)


SELLERS: dict[str, Seller] = {"consultative": consultative, "passive": passive, "pushy": pushy}


def random_turn(scenario: Scenario, chance: Random) -> Understood:
    """Anything that a salesperson might do, one to four acts."""
    concerns = scenario.customer.concerns
    evidence = scenario.product.evidence
    acts = []
    for _ in range(chance.choice((1, 1, 2, 2, 3, 4))):
        move = chance.choice(list(SellerMove))
        match move:
            case SellerMove.ASK_FACT:
                acts.append(act(move, topic=chance.choice(list(FactTopic))))
            case SellerMove.INFORM:
                acts.append(act(move, evidence_ids=tuple(e.id for e in chance.sample(evidence, chance.choice((0, 1, 2))))))
            case SellerMove.ADDRESS_CONCERN:
                concern = chance.choice(concerns)
                acts.append(act(move, concern_id=concern.id, evidence_ids=concern.eased_by[: chance.choice((0, 1, 2))]))
            case SellerMove.PROPOSE_STEP:
                acts.append(act(move, specific=chance.random() < 0.5))
            case SellerMove.UNLISTED_OFFER | SellerMove.FALSE_CLAIM:
                acts.append(act(move, detail="half price", quote="I'll give you half price"))
            case SellerMove.INSULT | SellerMove.INSTRUCT | SellerMove.FAREWELL if chance.random() < 0.8:
                acts.append(act(SellerMove.ASK_OTHER))
            case _:
                acts.append(act(move))
    return Understood(acts=tuple(acts), question_count=chance.randrange(6), length=chance.choice((8, 30, 90, 150, 400)))


def random_seller(state: State, scenario: Scenario, number: int, chance: Random, last: Decision | None) -> Understood:
    return random_turn(scenario, chance)
