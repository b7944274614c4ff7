"""Scenarios built straight from the shipped library's files."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
import yaml

from core.scenarios import CustomerSide, Language, Product, Scenario, Setting, Tier, TierProfile, scenario_id

LIBRARY = Path(__file__).parents[5] / "data" / "library"


@cache
def load_product(base: str, language: Language) -> Product:
    path = LIBRARY / "products" / f"{base}.{language.value}.yaml"
    return Product.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))


@cache
def build(base: str, language: Language, peers: tuple[str, ...] = ()) -> Scenario:
    path = LIBRARY / "customers" / f"{base}.{language.value}.yaml"
    customer = CustomerSide.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    product = load_product(base, language)
    return Scenario(
        id=scenario_id(base, Tier.MEDIUM, language),
        base=base,
        language=language,
        setting=Setting.MULTI_PRODUCT if peers else Setting.SINGLE,
        domain=product.domain,
        category=product.category,
        title=product.short_name,
        products=(product, *(load_product(peer, language) for peer in peers)),
        customer=customer,
        tier=TierProfile(tier=Tier.MEDIUM, propensity=0.5, style="checks"),
    )


class Builder:
    """What tests need of the library."""

    def scenario(self, base: str, language: Language, peers: tuple[str, ...] = ()) -> Scenario:
        return build(base, language, peers)

    def bases(self, language: Language) -> list[str]:
        """Ids of the products that have a customer."""
        return sorted(path.name.split(".")[0] for path in LIBRARY.glob(f"customers/*.{language.value}.yaml"))

    def peers(self, base: str, language: Language, count: int) -> tuple[str, ...]:
        """Other products of the same domain."""
        names = sorted(path.name.split(".")[0] for path in LIBRARY.glob(f"products/{base[:3]}-*.{language.value}.yaml"))
        return tuple(name for name in names if name != base)[:count]


@pytest.fixture(scope="session")
def library() -> Builder:
    return Builder()
