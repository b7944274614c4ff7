"""The two scripts: complete for whom they are for, and silent about what the other side must not know."""

import re

import pytest

from core.factors import factor_description, factor_name
from core.scenarios import DecisionFactor, Language, Scenario, Setting, Tier
from core.scripts import customer_script, salesperson_script
from tests.support.scenarios import all_bases, make_scenario

EVERY_SIDE = [(language, base) for language in Language for base in all_bases(language)]


def secrets_of(scenario: Scenario) -> list[str]:
    """Everything of the customer's side that the salesperson must not read."""
    side = scenario.customer
    secrets = [
        *side.motivations,
        *side.pain_points,
        side.need,
        side.situation,
        side.next_step,
        side.commitment,
        *side.opening_lines,
    ]
    secrets += [text for concern in side.concerns for text in (concern.worry, concern.question, concern.pushback, concern.eased)]
    secrets += [text for fact in side.facts for text in (fact.statement, fact.summary)]
    return [*secrets, scenario.tier.style, side.persona.name, side.persona.manner]


@pytest.mark.parametrize(("language", "base"), EVERY_SIDE)
def test_the_salesperson_learns_nothing_of_the_customers_side(language: Language, base: str) -> None:
    scripts = {salesperson_script(make_scenario(language, tier, base=base)) for tier in Tier}
    assert len(scripts) == 1, "the tier shows"
    (script,) = scripts
    scenario = make_scenario(language, base=base)
    given = f"{scenario.goal} {scenario.customer.prospect_note} {scenario.product.model_dump_json()}"
    leaked = [secret for secret in secrets_of(scenario) if secret in script and secret not in given]
    assert not leaked
    assert not re.search(r"propensity|adversarial|very_hard|购买意愿|Readiness to buy", script)


@pytest.mark.parametrize(("language", "base"), EVERY_SIDE)
def test_the_salesperson_gets_the_whole_sheet(language: Language, base: str) -> None:
    scenario = make_scenario(language, base=base)
    script, product = salesperson_script(scenario), scenario.product
    for text in (scenario.goal, scenario.customer.prospect_note, product.name, product.summary, product.price.headline):
        assert text in script
    for text in [*(item.text for item in product.evidence), *product.selling_points, *product.price.details]:
        assert text in script
    for offer in product.price.allowed_offers:
        assert offer in script


@pytest.mark.parametrize(
    ("language", "nothing"), [(Language.EN, "Nothing. The price stands"), (Language.ZH, "没有。价格以上面为准")]
)
def test_that_nothing_else_may_be_offered_is_said_plainly(language: Language, nothing: str) -> None:
    scenario = make_scenario(language)
    price = scenario.product.price.model_copy(update={"allowed_offers": ()})
    bare = scenario.model_copy(update={"products": (scenario.product.model_copy(update={"price": price}),)})
    assert nothing in salesperson_script(bare)
    price = price.model_copy(update={"allowed_offers": ("A free mug",)})
    given = scenario.model_copy(update={"products": (scenario.product.model_copy(update={"price": price}),)})
    assert nothing not in salesperson_script(given)
    assert "A free mug" in salesperson_script(given)


@pytest.mark.parametrize(("language", "base"), EVERY_SIDE)
def test_the_customer_gets_the_whole_side(language: Language, base: str) -> None:
    scenario = make_scenario(language, base=base)
    script, side = customer_script(scenario), scenario.customer
    persona = side.persona
    for text in (persona.name, str(persona.age), persona.occupation, persona.city, persona.household, persona.manner):
        assert text in script
    for text in (*side.motivations, *side.pain_points, side.need, side.situation, side.next_step, side.commitment):
        assert text in script
    for text in [*(concern.worry for concern in side.concerns), *(fact.statement for fact in side.facts)]:
        assert text in script
    names = [factor_name(factor, language) for factor in side.ranked_factors]
    places = [script.index(f"{rank}. {name}") for rank, name in enumerate(names, 1)]
    assert places == sorted(places)


@pytest.mark.parametrize("language", list(Language))
@pytest.mark.parametrize("tier", list(Tier))
def test_the_tier_changes_propensity_and_style_only(language: Language, tier: Tier) -> None:
    scenario, other = make_scenario(language, tier), make_scenario(language, Tier.MEDIUM)
    script = customer_script(scenario)
    assert scenario.tier.style in script
    start = {Language.EN: "Readiness to buy at the start: ", Language.ZH: "一开始的购买意愿："}[language]

    def neutral(told: Scenario) -> str:
        given = f"{start}{told.propensity:.2g}"
        assert given in customer_script(told)
        return customer_script(told).replace(given, start).replace(told.tier.style, "")

    assert neutral(scenario) == neutral(other)


@pytest.mark.parametrize("language", list(Language))
def test_a_portfolio_shows_every_sheet_to_the_seller_and_none_to_the_customer(language: Language) -> None:
    others = [base for base in all_bases(language) if base != make_scenario(language).base][:2]
    scenario = make_scenario(language, further_products=tuple(others), setting=Setting.MULTI_PRODUCT)
    script = salesperson_script(scenario)
    for product in scenario.products:
        assert f"## {product.name}" in script
        assert product.specifications[0].text in script
    assert str(len(scenario.products)) in script
    assert all(item.text not in customer_script(scenario) for product in scenario.products for item in product.evidence)


@pytest.mark.parametrize("language", list(Language))
@pytest.mark.parametrize("setting", list(Setting))
def test_scripts_are_tidy(language: Language, setting: Setting) -> None:
    scenario = make_scenario(language, setting=setting)
    for script in (salesperson_script(scenario), customer_script(scenario)):
        assert "\n\n\n" not in script
        assert script == script.strip()
        assert not re.search(r"[ \t]$|\{|\}|None|Undefined", script, re.MULTILINE)
        if language is Language.ZH:
            assert not re.search(r"[a-z]{4,} [a-z]{4,}", script)


def test_every_factor_has_a_name_and_a_line_in_both_languages() -> None:
    for language in Language:
        names = {factor_name(factor, language) for factor in DecisionFactor}
        assert len(names) == len(DecisionFactor) == 10
        assert all(factor_description(factor, language) for factor in DecisionFactor)
