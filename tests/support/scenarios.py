"""Scenarios for tests, made of the shipped library's files."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from core.scenarios import CustomerSide, Language, Product, Scenario, Setting, Tier, TierProfile, scenario_id

LIBRARY = Path(__file__).parents[2] / "data" / "library"

BASES = {Language.EN: "fin-deposit-01", Language.ZH: "fin-pension-07"}


@cache
def _read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def make_scenario(
    language: Language = Language.EN,
    tier: Tier = Tier.HARD,
    *,
    base: str | None = None,
    setting: Setting = Setting.SINGLE,
    further_products: tuple[str, ...] = (),
) -> Scenario:
    """A scenario of the library's product ``base`` (one for each language by default)."""
    base = base or BASES[language]
    products = [
        Product.model_validate(_read(LIBRARY / "products" / f"{name}.{language.value}.yaml"))
        for name in (base, *further_products)
    ]
    profile = next(entry for entry in _read(LIBRARY / "tiers.yaml") if entry["tier"] == tier.value)
    return Scenario(
        id=scenario_id(base, tier, language),
        base=base,
        language=language,
        setting=setting,
        domain=products[0].domain,
        category=products[0].category,
        title=products[0].name,
        products=tuple(products),
        customer=CustomerSide.model_validate(_read(LIBRARY / "customers" / f"{base}.{language.value}.yaml")),
        tier=TierProfile(tier=tier, propensity=profile["propensity"], style=profile["style"][language.value]),
    )


def all_bases(language: Language) -> list[str]:
    """Every product of the library that has a customer in that language."""
    suffix = f".{language.value}.yaml"
    return sorted(path.name.removesuffix(suffix) for path in (LIBRARY / "customers").glob(f"*{suffix}"))
