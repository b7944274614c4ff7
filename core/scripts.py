"""The two scripts of a scenario: what the salesperson knows, and what the customer knows.

They are rendered from ``core/prompts/*.jinja``. The salesperson's script is shown to people and given to models that sell; it
holds nothing of the customer but the prospect note. The customer's script is given to chat models in the customer's role.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from core.factors import factor_description, factor_name
from core.scenarios import FactTopic, Language, Scenario, Setting

__all__ = ["SCRIPTS_VERSION", "customer_script", "salesperson_script"]

SCRIPTS_VERSION = "1"
"""Goes up when the wording of a template changes: dialogues under different scripts are not comparable as they stand."""

_PROMPTS = Path(__file__).parent / "prompts"

_TOPICS = {
    Language.EN: {
        FactTopic.BUDGET: "budget",
        FactTopic.TIME_HORIZON: "time frame",
        FactTopic.RISK_TOLERANCE: "attitude to risk",
        FactTopic.COMPETING_OPTIONS: "other options",
        FactTopic.DECISION_AUTHORITY: "who decides",
    },
    Language.ZH: {
        FactTopic.BUDGET: "预算",
        FactTopic.TIME_HORIZON: "时间打算",
        FactTopic.RISK_TOLERANCE: "对风险的态度",
        FactTopic.COMPETING_OPTIONS: "其他选择",
        FactTopic.DECISION_AUTHORITY: "谁来拿主意",
    },
}


def salesperson_script(scenario: Scenario) -> str:
    """What the seller knows, as Markdown: goal, prospect note, and of every product the sheet, the price and the allowed offers.

    Never the customer's motivations, pain points, concerns or facts, nor the propensity, tier or buyer style.
    """
    # The template gets no scenario: what it is not given, it cannot print by mistake.
    return _template("salesperson", scenario.language).render(
        goal=scenario.customer.goal,
        prospect_note=scenario.customer.prospect_note,
        products=scenario.sheets,
        long_horizon=scenario.setting is Setting.LONG_HORIZON,
    )


def customer_script(scenario: Scenario) -> str:
    """What the customer knows, as Markdown: who they are, what they want and fear, how ready they are to buy, how to speak."""
    language = scenario.language
    return _template("customer", language).render(
        customer=scenario.customer,
        factors=[
            (factor_name(factor, language), factor_description(factor, language)) for factor in scenario.customer.ranked_factors
        ],
        facts=[(_TOPICS[language][fact.topic], fact.statement) for fact in scenario.customer.facts],
        product_name=scenario.product.short_name,
        category_name=scenario.product.category_name,
        propensity=f"{scenario.tier.propensity:.2g}",
        style=scenario.tier.style,
        several_products=len(scenario.products) > 1,
        long_horizon=scenario.setting is Setting.LONG_HORIZON,
    )


def _template(kind: str, language: Language) -> Template:
    return _environment().get_template(f"{kind}.{language.value}.jinja")


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_PROMPTS),
        undefined=StrictUndefined,
        # Plain text for people and models, never a page: a page renders it through its own Markdown.
        autoescape=False,  # noqa: S701
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )
