"""Scenarios in the store: kept in step with the library, found by query."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sqlalchemy import ColumnElement, update
from sqlmodel import Session, col, func, or_, select

from core.dialogues import utc_now
from core.errors import InvalidInput, NotFound, Problem
from core.scenarios import Domain, Language, Product, Scenario, Setting, Tier
from data.library import Library
from data.rows import Page, required_id
from data.scenario_query import ScenarioQuery, parse_query
from data.scenario_versions import content_hash, keep_version
from data.schema import lock_for_migration
from data.tables import PersonaRow, ProductRow, ScenarioRow, ScenarioVersionRow

__all__ = ["SHIPPED", "Facets", "LibraryChanges", "ScenarioQuery", "ScenarioRepository", "ScenarioSummary", "parse_query"]

SHIPPED = "shipped"
"""Source of the entries that come with the program."""


@dataclass(frozen=True)
class ScenarioSummary:
    """What a picker shows. Nothing in it is the customer's secret, apart from ``tier``, which a baseline page leaves out."""

    id: str
    base: str
    language: Language
    setting: Setting
    tier: Tier
    domain: Domain
    category: str
    category_name: str
    title: str
    withdrawn: bool


@dataclass(frozen=True)
class LibraryChanges:
    """Ids of scenarios, by what became of them. ``restored`` had been withdrawn."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    withdrawn: tuple[str, ...] = ()
    unchanged: int = 0

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.restored or self.withdrawn)


@dataclass(frozen=True)
class Facets:
    """How many scenarios there are of each value. ``category`` maps to the names that people read, by language."""

    language: dict[Language, int] = field(default_factory=dict)
    domain: dict[Domain, int] = field(default_factory=dict)
    setting: dict[Setting, int] = field(default_factory=dict)
    tier: dict[Tier, int] = field(default_factory=dict)
    category: dict[str, int] = field(default_factory=dict)
    category_names: dict[tuple[str, Language], str] = field(default_factory=dict)


class ScenarioRepository:
    """Works in the session that it is given, and never commits."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, scenario_id: str, *, on_offer: bool = False) -> Scenario:
        """The scenario as the library has it now; ``on_offer``: only if it is not withdrawn. Raises NotFound."""
        statement = (
            select(ScenarioVersionRow.body)
            .join(ScenarioRow, col(ScenarioRow.content_hash) == col(ScenarioVersionRow.content_hash))
            .where(ScenarioRow.id == scenario_id, *([col(ScenarioRow.withdrawn_at).is_(None)] if on_offer else []))
        )
        body = self._session.exec(statement).first()
        if body is None:
            raise NotFound("scenario", scenario_id)
        return Scenario.model_validate(body)

    def at_tier(self, tier: Tier) -> tuple[Scenario, ...]:
        """All scenarios of one tier that are not withdrawn, whole, by base and language."""
        statement = (
            select(ScenarioVersionRow.body)
            .join(ScenarioRow, col(ScenarioRow.content_hash) == col(ScenarioVersionRow.content_hash))
            .where(ScenarioRow.tier == tier.value, col(ScenarioRow.withdrawn_at).is_(None))
            .order_by(col(ScenarioRow.base), col(ScenarioRow.language))
        )
        return tuple(Scenario.model_validate(body) for body in self._session.exec(statement))

    def summaries(self, scenario_ids: Sequence[str]) -> dict[str, ScenarioSummary]:
        """Summaries of those of the scenarios that exist, withdrawn or not, by id."""
        rows = self._session.exec(select(ScenarioRow).where(col(ScenarioRow.id).in_(scenario_ids)))
        return {row.id: _summary(row) for row in rows}

    def revision(self) -> tuple[object, ...]:
        """Changes whenever the library in the store does: a cheap key for what is derived from it."""
        updated, withdrawn = col(ScenarioRow.updated_at), col(ScenarioRow.withdrawn_at)
        counts = select(func.count(), func.max(updated), func.count(withdrawn), func.max(withdrawn)).select_from(ScenarioRow)
        return tuple(self._session.exec(counts).one())

    def is_in_step(self, library: Library, *, source: str = SHIPPED) -> bool:
        """Whether :meth:`upsert` would find nothing to do. Only reads."""
        columns = select(ScenarioRow.id, ScenarioRow.content_hash)
        offered = columns.where(col(ScenarioRow.source) == source, col(ScenarioRow.withdrawn_at).is_(None))
        return dict(self._session.exec(offered).all()) == {s.id: content_hash(s) for s in library.scenarios()}

    def search(
        self,
        query: ScenarioQuery | str = "",
        *,
        text: str = "",
        limit: int | None = None,
        offset: int = 0,
        include_withdrawn: bool = False,
    ) -> Page[ScenarioSummary]:
        """Scenarios that fit the query and hold every word of ``text`` in title, category or id; sorted by id, easy tiers first.

        Raises InvalidInput for a malformed query, and for a category that the library does not have.
        """
        wanted = parse_query(query) if isinstance(query, str) else query
        self._check_categories(wanted.category)
        conditions = [*_conditions(wanted, text), *([] if include_withdrawn else [col(ScenarioRow.withdrawn_at).is_(None)])]
        total = self._session.exec(select(func.count()).select_from(ScenarioRow).where(*conditions)).one()
        in_order = (col(ScenarioRow.base), col(ScenarioRow.language), col(ScenarioRow.propensity).desc(), col(ScenarioRow.id))
        statement = select(ScenarioRow).where(*conditions).order_by(*in_order).offset(offset)
        rows = self._session.exec(statement if limit is None else statement.limit(limit))
        return Page(tuple(_summary(row) for row in rows), total)

    def facets(self, query: ScenarioQuery | str = "") -> Facets:
        """Counts of the values among scenarios that fit the query and are not withdrawn. Raises InvalidInput."""
        facets = Facets()
        for item in self.search(query).items:
            for name in ("language", "domain", "setting", "tier", "category"):
                counts = getattr(facets, name)
                counts[getattr(item, name)] = counts.get(getattr(item, name), 0) + 1
            facets.category_names[item.category, item.language] = item.category_name
        return facets

    def upsert(self, library: Library, *, source: str = SHIPPED, withdraw_missing: bool = True) -> LibraryChanges:
        """Bring the store in step with a library. Doing so again changes nothing.

        Dialogues keep the scenario that they were sold with. Entries of ``source`` that the library no longer has are marked
        as withdrawn. Raises InvalidInput if an entry of another source has one of the ids.
        """
        # Two programs that start on one empty store would otherwise both add everything.
        lock_for_migration(self._session.connection())
        scenarios = {scenario.id: scenario for scenario in library.scenarios()}
        rows = {row.id: row for row in self._session.exec(select(ScenarioRow))}
        self._refuse_foreign(scenarios, rows, source)
        hashes = {scenario_id: content_hash(scenario) for scenario_id, scenario in scenarios.items()}
        changed = [i for i in scenarios if i in rows and rows[i].content_hash != hashes[i]]
        restored = [i for i in scenarios if i in rows and rows[i].withdrawn_at is not None and i not in changed]
        added = [i for i in scenarios if i not in rows]
        touched = [scenarios[i] for i in (*added, *changed, *restored)]
        personas = self._upsert_products(touched)
        for scenario in touched:
            keep_version(self._session, scenario)
            row = ScenarioRow.model_validate(_scenario_values(scenario, hashes[scenario.id], personas, source))
            self._session.merge(row)
        gone = [i for i, row in rows.items() if withdraw_missing and row.source == source and i not in scenarios]
        gone = [i for i in gone if rows[i].withdrawn_at is None]
        self._session.exec(update(ScenarioRow).where(col(ScenarioRow.id).in_(gone)).values(withdrawn_at=utc_now()))
        self._session.flush()
        return LibraryChanges(
            added=tuple(sorted(added)),
            changed=tuple(sorted(changed)),
            restored=tuple(sorted(restored)),
            withdrawn=tuple(sorted(gone)),
            unchanged=len(scenarios) - len(touched),
        )

    # -- inside -------------------------------------------------------------------------------------------------------

    def _refuse_foreign(self, scenarios: Iterable[str], rows: dict[str, ScenarioRow], source: str) -> None:
        foreign = sorted({rows[i].base for i in scenarios if i in rows and rows[i].source != source})
        if foreign:
            mend = "give the entry an id of its own"
            raise InvalidInput(*(Problem(base, "another library has an entry with this id", mend) for base in foreign))

    def _upsert_products(self, scenarios: Iterable[Scenario]) -> dict[tuple[str, Language], int]:
        """Keep products and personas of the scenarios; return the ids of the target products' personas."""
        personas: dict[tuple[str, Language], int] = {}
        kept: set[tuple[str, Language]] = set()
        for scenario in scenarios:
            for product in scenario.products:
                if (product.id, product.language) not in kept:
                    kept.add((product.id, product.language))
                    self._upsert_product(product)
            key = (scenario.product.id, scenario.language)
            if key not in personas:
                personas[key] = self._upsert_persona(scenario)
        return personas

    def _upsert_product(self, product: Product) -> None:
        row = self._session.get(ProductRow, (product.id, product.language.value))
        digest = content_hash(product)
        if row is not None and row.content_hash == digest:
            return
        values = {name: getattr(product, name) for name in ("id", "category", "name")}
        values |= {"language": product.language.value, "domain": product.domain.value}
        values |= {"body": product.model_dump(mode="json"), "content_hash": digest}
        self._session.merge(ProductRow.model_validate(values))
        self._session.flush()

    def _upsert_persona(self, scenario: Scenario) -> int:
        key = {"product_id": scenario.product.id, "language": scenario.language.value}
        row = self._session.exec(select(PersonaRow).filter_by(**key)).first() or PersonaRow.model_validate(
            {**key, **scenario.customer.persona.model_dump()}
        )
        row.sqlmodel_update(scenario.customer.persona.model_dump())
        self._session.add(row)
        self._session.flush()
        return required_id(row.id)

    def _check_categories(self, categories: Sequence[str]) -> None:
        if not categories:
            return
        known = sorted(set(self._session.exec(select(ScenarioRow.category).distinct())))
        unknown = [category for category in categories if category not in known]
        if unknown:
            mend = f"use one of {', '.join(known)}" if known else "the store has no scenarios yet"
            raise InvalidInput(*(Problem(f"query term 'category:{c}'", f"{c!r} is not a category", mend) for c in unknown))


def _conditions(query: ScenarioQuery, text: str) -> list[ColumnElement[bool]]:
    chosen = {name: getattr(query, name) for name in ("language", "tier", "domain", "category", "setting")}
    conditions: list[ColumnElement[bool]] = [
        getattr(ScenarioRow, name).in_([str(value) for value in values]) for name, values in chosen.items() if values
    ]
    if query.id_prefix:
        conditions.append(or_(*(col(ScenarioRow.id).startswith(prefix, autoescape=True) for prefix in query.id_prefix)))
    conditions += [col(ScenarioRow.search_text).contains(word, autoescape=True) for word in _folded(text).split()]
    return conditions


def _scenario_values(
    scenario: Scenario, digest: str, personas: dict[tuple[str, Language], int], source: str
) -> dict[str, object]:
    same = ("id", "base", "propensity", "category", "title")
    names = dict.fromkeys(product.category_name for product in scenario.products)
    category_name = scenario.product.category_name if scenario.setting is Setting.SINGLE else scenario.title
    words = (scenario.id, scenario.title, scenario.category, *names, *(product.name for product in scenario.products))
    return {
        **{name: getattr(scenario, name) for name in same},
        "language": scenario.language.value,
        "setting": scenario.setting.value,
        "tier": scenario.tier.tier.value,
        "domain": scenario.domain.value,
        "category_name": category_name,
        "search_text": _folded(" ".join(words)),
        "product_id": scenario.product.id,
        "persona_id": personas[scenario.product.id, scenario.language],
        "content_hash": digest,
        "source": source,
        "updated_at": utc_now(),
        "withdrawn_at": None,
    }


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().replace("\x00", " ")


def _summary(row: ScenarioRow) -> ScenarioSummary:
    return ScenarioSummary(
        id=row.id,
        base=row.base,
        language=Language(row.language),
        setting=Setting(row.setting),
        tier=Tier(row.tier),
        domain=Domain(row.domain),
        category=row.category,
        category_name=row.category_name,
        title=row.title,
        withdrawn=row.withdrawn_at is not None,
    )
