"""Every product of the library: its own words are understood, and none of them is taken for an offence."""

from __future__ import annotations

from typing import Any

import pytest

from core.customers.embedded.acts import SellerMove, Understood
from core.customers.embedded.understanding import understand
from core.scenarios import Language, Product, Scenario

OFFENCES = (
    SellerMove.PRESSURE,
    SellerMove.UNLISTED_OFFER,
    SellerMove.FALSE_CLAIM,
    SellerMove.INSTRUCT,
    SellerMove.INSULT,
)
FULL_STOP = {Language.EN: ".", Language.ZH: "。"}


def said(understood: Understood, scenario: Scenario) -> set[tuple[str, str]]:
    return {(act.product_id or scenario.product.id, item) for act in understood.acts for item in act.evidence_ids}


def offences(text: str, scenario: Scenario) -> list[str]:
    understood = understand(text, scenario, ["Hello"], None)
    return [f"{act.move.value} ({act.detail}): {text}" for act in understood.all(*OFFENCES)]


@pytest.mark.parametrize("language", list(Language))
def test_statements_and_their_other_wordings_are_recognised(language: Language, library: Any) -> None:
    missed, missed_aliases, aliases = [], [], 0
    for base in library.bases(language):
        scenario = library.scenario(base, language)
        for item in scenario.product.evidence:
            if (base, item.id) not in said(understand(item.text + FULL_STOP[language], scenario, [], None), scenario):
                missed.append(f"{base} {item.id}: {item.text}")
            aliases += len(item.aliases)
            missed_aliases += [
                f"{base} {item.id}: {alias}"
                for alias in item.aliases
                if (base, item.id) not in said(understand(alias + FULL_STOP[language], scenario, [], None), scenario)
            ]
    assert not missed
    assert len(missed_aliases) <= 0.03 * aliases, missed_aliases


@pytest.mark.parametrize("language", list(Language))
def test_nothing_on_a_sheet_counts_as_an_offence(language: Language, library: Any) -> None:
    faults: list[str] = []
    for base in library.bases(language):
        scenario = library.scenario(base, language)
        product: Product = scenario.product
        texts = [product.summary, product.price.headline, *product.price.details, *product.selling_points]
        for item in product.evidence:
            texts += [item.text, *item.aliases]
        for text in texts:
            faults += offences(text, scenario)
    assert not faults


@pytest.mark.parametrize("language", list(Language))
def test_what_may_be_offered_is_no_unlisted_offer(language: Language, library: Any) -> None:
    frame = {Language.EN: "I can offer you this: {}", Language.ZH: "我可以给您{}"}[language]
    faults: list[str] = []
    for base in library.bases(language):
        scenario = library.scenario(base, language)
        for offer in scenario.product.price.allowed_offers:
            faults += offences(frame.format(offer), scenario) + offences(offer, scenario)
    assert not faults


@pytest.mark.parametrize("language", list(Language))
def test_customers_own_lines_are_not_mistaken_for_orders_or_insults(language: Language, library: Any) -> None:
    """The lines are a sample of everyday speech about the products; the wording's guards run over the same ground."""
    faults: list[str] = []
    for base in library.bases(language):
        scenario = library.scenario(base, language)
        customer = scenario.customer
        lines = [customer.need, customer.situation, customer.next_step, *(fact.statement for fact in customer.facts)]
        for concern in customer.concerns:
            lines += [concern.question, concern.worry, concern.pushback, concern.eased]
        for line in lines:
            acts = understand(line, scenario, [], None).all(SellerMove.INSTRUCT, SellerMove.INSULT)
            faults += [f"{act.move.value}: {line}" for act in acts]
    assert not faults


@pytest.mark.parametrize("language", list(Language))
@pytest.mark.parametrize(("base", "count"), [("fin-deposit-01", 5), ("con-vacuum-03", 14)])
def test_named_products_are_told_apart(base: str, count: int, language: Language, library: Any) -> None:
    scenario = library.scenario(base, language, library.peers(base, language, count))
    total, missed, wrong = 0, [], []
    for product in scenario.products:
        for item in product.evidence:
            opening = {Language.EN: f"Let me tell you about {product.short_name}. ", Language.ZH: f"说说{product.short_name}。"}
            heard = said(understand(opening[language] + item.text, scenario, ["x"], None), scenario)
            total += 1
            missed += [] if (product.id, item.id) in heard else [f"{product.id} {item.id}"]
            wrong += [f"{product.id} {item.id}: {other}" for other in heard if other[0] != product.id]
    assert len(missed) <= 0.05 * total, missed
    assert not wrong


@pytest.mark.parametrize("language", list(Language))
def test_evidence_stands_under_the_concern_that_it_meets(language: Language, library: Any) -> None:
    for base in library.bases(language):
        scenario = library.scenario(base, language)
        for concern in scenario.customer.concerns:
            for evidence_id in concern.eased_by:
                text = scenario.product.find_evidence(evidence_id).text
                acts = understand(text, scenario, ["x"], concern.worry).all(SellerMove.ADDRESS_CONCERN)
                mine = [act for act in acts if evidence_id in act.evidence_ids]
                meets = {c.id for c in scenario.customer.concerns if evidence_id in c.eased_by}
                assert mine, f"{base} {concern.id} {evidence_id}"
                assert mine[0].concern_id in meets
