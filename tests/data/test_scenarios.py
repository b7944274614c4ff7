"""Scenarios in the store: in step with the library, and found by query."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from core.errors import InvalidInput, NotFound
from core.scenarios import Domain, Language, Setting, Tier
from data.library import PORTFOLIO_CATEGORY, Library
from data.scenario_query import ScenarioQuery, parse_query
from data.scenarios import ScenarioRepository
from data.store import Store
from tests.support.store_factory import a_scenario, shipped

DEPOSIT = ("fin-deposit-01", Language.EN)


def small(*, with_portfolios: bool = False) -> Library:
    """The financial half of the shipped library, in English."""
    library = shipped()
    keep = {key: item for key, item in library.customers.items() if key[0].startswith("fin-") and key[1] is Language.EN}
    portfolios = tuple(p for p in library.portfolios if p.id == "fin-portfolio-06" and p.language is Language.EN)
    return replace(library, customers=keep, portfolios=portfolios if with_portfolios else ())


def upsert(store: Store, library: Library, **how: object) -> object:
    with store.session() as session:
        return ScenarioRepository(session).upsert(library, **how)


@pytest.fixture
def filled(store: Store) -> Store:
    upsert(store, small(with_portfolios=True))
    return store


def ids(store: Store, query: str = "", **how: object) -> list[str]:
    with store.reading() as session:
        return [item.id for item in ScenarioRepository(session).search(query, **how).items]


# -- in step with the library -----------------------------------------------------------------------------------------


def test_the_whole_library_is_kept(sqlite_store: Store) -> None:
    changes = upsert(sqlite_store, shipped())
    wanted = shipped().scenarios()
    with sqlite_store.reading() as session:
        repository = ScenarioRepository(session)
        assert repository.is_in_step(shipped())
        assert repository.search().total == len(wanted)
        assert [repository.get(scenario.id) for scenario in wanted] == list(wanted)
    assert sorted(changes.added) == sorted(scenario.id for scenario in wanted)


def test_doing_it_again_changes_nothing(filled: Store) -> None:
    before = _rows(filled)
    changes = upsert(filled, small(with_portfolios=True))
    assert not changes
    assert changes.unchanged == len(ids(filled))
    assert _rows(filled) == before


def test_a_changed_entry_is_updated(filled: Store) -> None:
    library = small(with_portfolios=True)
    product = library.products[DEPOSIT].model_copy(update={"name": "Harbour Bank Three-Year Deposit"})
    persona = library.customers[DEPOSIT].persona.model_copy(update={"city": "Toledo"})
    changed = replace(
        library,
        products={**library.products, DEPOSIT: product},
        customers={**library.customers, DEPOSIT: library.customers[DEPOSIT].model_copy(update={"persona": persona})},
    )
    changes = upsert(filled, changed)
    bases = {i.split(".")[0] for i in changes.changed}
    assert bases == {"fin-deposit-01", "fin-portfolio-06"}, "the portfolio that holds the product changes with it"
    assert not changes.added
    with filled.reading() as session:
        assert ScenarioRepository(session).get("fin-deposit-01.easy.en").title == "Harbour Bank Three-Year Deposit"
        cities = session.connection().execute(text("SELECT city FROM persona WHERE product_id = 'fin-deposit-01'")).all()
    assert cities == [("Toledo",)]
    assert not upsert(filled, changed)


def test_what_is_gone_is_withdrawn_and_can_come_back(filled: Store) -> None:
    library = small(with_portfolios=True)
    without = replace(library, customers={key: item for key, item in library.customers.items() if key != DEPOSIT})
    gone = tuple(sorted(f"fin-deposit-01.{tier.value}.en" for tier in Tier))
    assert upsert(filled, without).withdrawn == gone
    assert not upsert(filled, without)
    assert ids(filled, "id:fin-deposit-01") == []
    assert len(ids(filled, "id:fin-deposit-01", include_withdrawn=True)) == 5
    with filled.reading() as session:
        repository = ScenarioRepository(session)
        assert repository.get(gone[0]).base == "fin-deposit-01"
        with pytest.raises(NotFound):
            repository.get(gone[0], on_offer=True)
        assert {item.withdrawn for item in repository.summaries(gone).values()} == {True}
    assert upsert(filled, library).restored == gone
    assert len(ids(filled, "id:fin-deposit-01")) == 5


def test_an_imported_library_stands_beside_the_shipped_one(filled: Store) -> None:
    chinese = replace(shipped(), customers={k: c for k, c in shipped().customers.items() if k[1] is Language.ZH}, portfolios=())
    assert upsert(filled, chinese, source="mine", withdraw_missing=False).added
    assert not upsert(filled, small(with_portfolios=True)), "the shipped library withdraws only what was its own"
    with pytest.raises(InvalidInput, match=r"fin-deposit-01: another library has an entry with this id"):
        upsert(filled, small(), source="mine", withdraw_missing=False)


def test_the_revision_tells_when_something_changed(filled: Store) -> None:
    def revision() -> tuple[object, ...]:
        with filled.reading() as session:
            return ScenarioRepository(session).revision()

    before = revision()
    upsert(filled, small(with_portfolios=True))
    assert revision() == before
    upsert(filled, small())
    assert revision() != before


def _rows(store: Store) -> list[object]:
    tables = ("scenario", "scenario_version", "product", "persona")
    with store.reading() as session:
        return [sorted(map(repr, session.connection().execute(text(f"SELECT * FROM {table}")))) for table in tables]


# -- found by query ---------------------------------------------------------------------------------------------------


def test_searching(filled: Store) -> None:
    assert len(ids(filled)) == 5 * (len(small().customers) + 1)
    assert ids(filled, "id:fin-deposit") == [f"fin-deposit-01.{tier.value}.en" for tier in Tier]
    assert ids(filled, "id:fin-deposit-01 tier:hard,easy") == ["fin-deposit-01.easy.en", "fin-deposit-01.hard.en"]
    assert ids(filled, "category:deposit language:en domain:financial setting:single tier:medium") == ["fin-deposit-01.medium.en"]
    assert ids(filled, "setting:multi_product tier:hard") == ["fin-portfolio-06.hard.en"]
    assert ids(filled, f"category:{PORTFOLIO_CATEGORY} tier:hard") == ["fin-portfolio-06.hard.en"]
    assert ids(filled, "language:zh") == []
    assert ids(filled, "id:fin_deposit") == [], "an underscore is no wildcard"
    assert ids(filled, "id:%") == []
    assert ids(filled, "id:\x00") == []
    assert ids(filled, text="\x00") == ids(filled)


def test_pages(filled: Store) -> None:
    with filled.reading() as session:
        page = ScenarioRepository(session).search("tier:hard", limit=2, offset=1)
    assert page.total == len(small().customers) + 1
    assert [item.id for item in page.items] == ids(filled, "tier:hard")[1:3]


@pytest.mark.parametrize("words", ["harbour", "FIXED deposit", "fin-deposit-01 savings", "ｄeposit harbour"])
def test_searching_for_words(filled: Store, words: str) -> None:
    assert "fin-deposit-01.hard.en" in ids(filled, "tier:hard", text=words)


@pytest.mark.parametrize("words", ["harbour unheard-of", "%", "Columbus", "Ellen"])
def test_words_that_find_nothing(filled: Store, words: str) -> None:
    """Neither wildcards nor the customer's side: what a picker finds must not tell who the customer is."""
    assert ids(filled, text=words) == []


def test_a_category_that_is_not_there(filled: Store) -> None:
    with pytest.raises(InvalidInput, match=r"'category:boats': 'boats' is not a category; use one of .*deposit"):
        ids(filled, "category:boats")


def test_facets(filled: Store) -> None:
    with filled.reading() as session:
        facets = ScenarioRepository(session).facets("tier:hard")
    count = len(small().customers) + 1
    assert facets.language == {Language.EN: count}
    assert facets.domain == {Domain.FINANCIAL: count}
    assert facets.setting == {Setting.SINGLE: count - 1, Setting.MULTI_PRODUCT: 1}
    assert facets.tier == {Tier.HARD: count}
    assert facets.category["deposit"] == 1
    assert facets.category_names["deposit", Language.EN] == a_scenario().product.category_name


def test_an_unknown_scenario(filled: Store) -> None:
    with filled.reading() as session, pytest.raises(NotFound, match=r"no scenario 'fin-nothing-01\.hard\.en'"):
        ScenarioRepository(session).get("fin-nothing-01.hard.en")


def test_one_tier_for_the_catalogue(filled: Store) -> None:
    with filled.reading() as session:
        offered = ScenarioRepository(session).at_tier(Tier.MEDIUM)
    assert [scenario.id for scenario in offered] == ids(filled, "tier:medium")


# -- the language itself ----------------------------------------------------------------------------------------------


def test_the_empty_query_wants_everything() -> None:
    assert parse_query("  ") == ScenarioQuery()


def test_all_terms_hold() -> None:
    query = parse_query(
        "language:en tier:hard,very_hard  domain:financial category:deposit setting:single id:fin- id:fin-deposit"
    )
    assert query == ScenarioQuery(
        language=(Language.EN,),
        tier=(Tier.HARD, Tier.VERY_HARD),
        domain=(Domain.FINANCIAL,),
        category=("deposit",),
        setting=(Setting.SINGLE,),
        id_prefix=("fin-deposit",),
    )
    assert parse_query("tier:hard,easy tier:easy,medium").tier == (Tier.EASY,)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("tier:heavy", "query term 'tier:heavy': 'heavy' is not a tier; use one of easy, medium, hard, very_hard, adversarial"),
        ("tiers:hard", "'tiers' is not a key; write KEY:VALUE with a key of language, tier, domain, category, setting, id"),
        ("deposit", "'deposit' is not a key"),
        ("tier:", "its value is missing; write tier:VALUE"),
        ("language:fr", "'fr' is not a language; use one of en, zh"),
        ("tier:easy tier:hard", "no scenario can have two values at once; for either of them write tier:easy,hard"),
    ],
)
def test_terms_that_are_wrong(query: str, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_query(query)
    assert message in str(caught.value)


def test_every_wrong_term_is_named() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_query("tier:heavy colour:red setting:double")
    assert len(caught.value.problems) == 3


@given(st.text(max_size=40))
def test_no_query_breaks_the_parser(text_of_query: str) -> None:
    with suppress(InvalidInput):
        parse_query(text_of_query)


def test_prefixes_that_exclude_each_other_find_nothing(filled: Store) -> None:
    assert ids(filled, "id:fin-deposit id:fin-wealth") == []
