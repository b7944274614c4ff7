"""A scenario library: a folder of YAML files that people read and edit.

::

    products/<id>.<language>.yaml     core.scenarios.Product
    customers/<id>.<language>.yaml    core.scenarios.CustomerSide, for the product of that id
    portfolios.yaml                   a list of core.scenarios.Portfolio; may be absent
    tiers.yaml                        propensity and buyer style of the five tiers; absent: those of the shipped library
    cities.yaml                       decision factor → language → cities that favour it; may be absent

Every customer makes five scenarios, one for each tier, and so does every portfolio.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

from pydantic import BaseModel, Field, RootModel

from core.errors import InvalidInput, NotFound, Problem
from core.scenarios import (
    CustomerSide,
    DecisionFactor,
    Domain,
    Frozen,
    Language,
    Portfolio,
    Product,
    Scenario,
    Setting,
    Text,
    Tier,
    TierProfile,
    scenario_id,
)
from data.library_checks import Cities, Key, check_cities, check_customers, check_portfolios
from data.yaml_reader import Document, read_yaml

__all__ = ["PORTFOLIO_CATEGORY", "SHIPPED_LIBRARY", "Library", "load", "validate"]

M = TypeVar("M", bound=BaseModel)

SHIPPED_LIBRARY: Final = Path(__file__).with_name("library")

PORTFOLIO_CATEGORY: Final = "portfolio"
"""Category of every portfolio: the target's own would tell which product the customer came for."""


@dataclass(frozen=True)
class Library:
    """A library that has been read and found right. Products and customers are keyed by id and language."""

    products: Mapping[Key, Product]
    customers: Mapping[Key, CustomerSide]
    tiers: Mapping[tuple[Tier, Language], TierProfile]
    portfolios: tuple[Portfolio, ...] = ()
    cities: Mapping[DecisionFactor, Mapping[Language, tuple[str, ...]]] = field(default_factory=dict)

    def scenarios(self) -> tuple[Scenario, ...]:
        """Every customer and every portfolio at each of the five tiers; by base, language and falling propensity."""
        return tuple(self._scenarios())

    def scenario(self, wanted: str) -> Scenario:
        """The scenario with that id. Raises NotFound."""
        for scenario in self._scenarios():
            if scenario.id == wanted:
                return scenario
        raise NotFound("scenario", wanted)

    def _scenarios(self) -> Iterator[Scenario]:
        for (base, language), customer in sorted(self.customers.items()):
            product = self.products[base, language]
            yield from self._in_tiers(base, Setting.SINGLE, product.domain, product.category, product.name, (product,), customer)
        for portfolio in sorted(self.portfolios, key=lambda item: (item.id, item.language)):
            target = portfolio.target_id
            ids = (target, *(i for i in portfolio.product_ids if i != target))
            products = tuple(self.products[i, portfolio.language] for i in ids)
            own = {"goal": portfolio.goal, "prospect_note": portfolio.prospect_note}
            customer = self.customers[target, portfolio.language].model_copy(update=own)
            names = (PORTFOLIO_CATEGORY, portfolio.name)
            yield from self._in_tiers(portfolio.id, Setting.MULTI_PRODUCT, portfolio.domain, *names, products, customer)

    def _in_tiers(
        self,
        base: str,
        setting: Setting,
        domain: Domain,
        category: str,
        title: str,
        products: tuple[Product, ...],
        customer: CustomerSide,
    ) -> Iterator[Scenario]:
        for tier in Tier:
            yield Scenario(
                id=scenario_id(base, tier, customer.language),
                base=base,
                language=customer.language,
                setting=setting,
                domain=domain,
                category=category,
                title=title,
                products=products,
                customer=customer,
                tier=self.tiers[tier, customer.language],
            )


def load(path: Path = SHIPPED_LIBRARY) -> Library:
    """Read a library. Raises InvalidInput with every problem of every file, each with its file, line and field."""
    library, problems = _read(path)
    if problems or library is None:
        raise InvalidInput(*problems)
    return library


def validate(path: Path = SHIPPED_LIBRARY) -> tuple[Problem, ...]:
    """Everything that is wrong with a library; empty: it can be loaded."""
    return tuple(_read(path)[1])


class _TierEntry(Frozen):
    tier: Tier
    propensity: float = Field(ge=0.0, le=1.0)
    style: dict[Language, Text] = Field(min_length=1)


class _Cities(RootModel[dict[DecisionFactor, dict[Language, tuple[Text, ...]]]]):
    """The shape of ``cities.yaml``."""


def _read(path: Path) -> tuple[Library | None, list[Problem]]:
    if not path.is_dir():
        return None, [Problem(str(path), "there is no such folder", "name the folder that holds products/ and customers/")]
    reader = _Reader(path)
    products = reader.entries("products", Product, lambda item: item.id)
    customers = reader.entries("customers", CustomerSide, lambda item: item.product_id)
    tiers = reader.tiers()
    portfolios = reader.portfolios()
    cities = reader.cities()
    check_customers(customers, products, reader.unread("products"))
    check_portfolios(portfolios, products, customers, reader.unread("products") | reader.unread("customers"))
    check_cities(cities, customers)
    if not customers and not reader.problems():
        reader.blame(Problem(str(path), "it holds no customers", "put customer files into customers/"))
    needed = {key[1] for key in customers} - {language for _, language in tiers}
    for language in sorted(needed):
        reader.blame(Problem("tiers.yaml", f"the tiers have no style in {language.value!r}", "write it for all five"))
    problems = reader.problems()
    if problems:
        return None, problems
    return Library(
        products={key: item for key, (item, _) in products.items()},
        customers={key: item for key, (item, _) in customers.items()},
        tiers=tiers,
        portfolios=tuple(item for item, _, _ in portfolios),
        cities=cities[0],
    ), []


class _Reader:
    """Reads the files of one library and gathers their problems."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._documents: list[Document] = []
        self._problems: list[Problem] = []
        self._unread: dict[str, set[str]] = {}

    def unread(self, folder: str) -> set[str]:
        """``<id>.<language>`` of the folder's files that could not be read: whatever refers to them may be right."""
        return self._unread.get(folder, set())

    def problems(self) -> list[Problem]:
        return [*self._problems, *(problem for document in self._documents for problem in document.problems)]

    def blame(self, problem: Problem) -> None:
        self._problems.append(problem)

    def entries(self, folder: str, model: type[M], id_of: Callable[[M], str]) -> dict[Key, tuple[M, Document]]:
        """The entries of a folder of ``<id>.<language>.yaml`` files."""
        found: dict[Key, tuple[M, Document]] = {}
        if not (self._path / folder).is_dir():
            self.blame(Problem(folder, "there is no such folder", f"make the folder {folder}/ in {self._path}"))
            return found
        for file in sorted((self._path / folder).iterdir()):
            if file.name.startswith("."):
                continue
            if file.suffix != ".yaml":
                self.blame(Problem(f"{folder}/{file.name}", "it is not read", "name it <id>.<language>.yaml, or remove it"))
                continue
            document = self._open(f"{folder}/{file.name}")
            entry = None if document.problems else document.parse(model)
            if entry is None:
                self._unread.setdefault(folder, set()).add(file.stem)
                continue
            key = (id_of(entry), Language(entry.model_dump()["language"]))
            if file.name != f"{key[0]}.{key[1].value}.yaml":
                document.blame((), f"it holds {key[0]!r} in {key[1].value!r}", f"name it {key[0]}.{key[1].value}.yaml")
            found[key] = (entry, document)
        return found

    def tiers(self) -> dict[tuple[Tier, Language], TierProfile]:
        if not (self._path / "tiers.yaml").exists() and self._path != SHIPPED_LIBRARY:
            return dict(load().tiers)
        document = self._open("tiers.yaml")
        profiles: dict[tuple[Tier, Language], TierProfile] = {}
        for number, entry in self._list(document, _TierEntry):
            for language, style in entry.style.items():
                if (entry.tier, language) in profiles:
                    document.blame((number, "tier"), f"{entry.tier.value!r} is there already", "keep one of the two")
                profiles[entry.tier, language] = TierProfile(tier=entry.tier, propensity=entry.propensity, style=style)
        if not document.problems:
            for language in {language for _, language in profiles}:
                missing = [tier.value for tier in Tier if (tier, language) not in profiles]
                if missing:
                    document.blame((), f"{', '.join(missing)} has no style in {language.value!r}", "describe all five tiers")
        return profiles

    def portfolios(self) -> list[tuple[Portfolio, Document, int]]:
        if not (self._path / "portfolios.yaml").exists():
            return []
        document = self._open("portfolios.yaml")
        return [(entry, document, number) for number, entry in self._list(document, Portfolio)]

    def cities(self) -> tuple[Cities, Document | None]:
        if not (self._path / "cities.yaml").exists():
            return {}, None
        document = self._open("cities.yaml")
        if document.problems:
            return {}, document
        parsed = document.parse(_Cities)
        if parsed is None:
            return {}, document
        missing = [factor.value for factor in DecisionFactor if factor not in parsed.root]
        if missing:
            document.blame((), f"no cities are listed for {', '.join(missing)}", "list some for each decision factor")
        return parsed.root, document

    def _open(self, name: str) -> Document:
        document = read_yaml(self._path / name, name)
        self._documents.append(document)
        return document

    def _list(self, document: Document, model: type[M]) -> Iterator[tuple[int, M]]:
        """The valid entries of a file that holds a list, with their places in it."""
        if document.problems:
            return
        if not isinstance(document.value, list):
            document.blame((), "it should be a list", "begin each entry with '- '")
            return
        for number in range(len(document.value)):
            entry = document.parse(model, (number,))
            if entry is not None:
                yield number, entry
