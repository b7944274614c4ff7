"""The library on disk: what is right loads, and every fault is shown where it is."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from core.errors import InvalidInput
from core.scenarios import DecisionFactor, Language, Setting, Tier
from data.library import PORTFOLIO_CATEGORY, SHIPPED_LIBRARY, load, validate
from data.yaml_reader import MAX_FILE_BYTES, read_yaml
from tests.support.store_factory import shipped

PRODUCT = "products/fin-deposit-01.en.yaml"
CUSTOMER = "customers/fin-deposit-01.en.yaml"


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A small library of one product and its customer."""
    root = tmp_path / "library"
    for name in (PRODUCT, CUSTOMER, "tiers.yaml"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SHIPPED_LIBRARY / name, root / name)
    return root


def edit(path: Path, old: str, new: str) -> None:
    before = path.read_text("utf-8")
    assert old in before
    path.write_text(before.replace(old, new, 1), "utf-8")


def problems_of(root: Path) -> list[str]:
    return [str(problem) for problem in validate(root)]


# -- what is shipped --------------------------------------------------------------------------------------------------


def test_the_shipped_library_is_right() -> None:
    assert problems_of(SHIPPED_LIBRARY) == []


def test_every_customer_and_portfolio_is_sold_at_every_tier() -> None:
    library = shipped()
    scenarios = library.scenarios()
    assert len(scenarios) == 5 * (len(library.customers) + len(library.portfolios))
    assert len({scenario.id for scenario in scenarios}) == len(scenarios)
    assert [s.tier.tier for s in scenarios[:5]] == list(Tier)
    assert all(s.setting is (Setting.MULTI_PRODUCT if "portfolio" in s.base else Setting.SINGLE) for s in scenarios)


def test_portfolios_of_six_and_fifteen_in_both_languages_and_domains() -> None:
    scenarios = [s for s in shipped().scenarios() if s.setting is Setting.MULTI_PRODUCT and s.tier.tier is Tier.HARD]
    sizes = sorted((s.domain.value, s.language.value, len(s.products)) for s in scenarios)
    assert sizes == [(d, language, n) for d in ("consumer", "financial") for language in ("en", "zh") for n in (6, 15)]
    for scenario in scenarios:
        assert scenario.product.id == scenario.customer.product_id
        assert scenario.category == PORTFOLIO_CATEGORY
        assert len({product.id for product in scenario.products}) == len(scenario.products)


def test_the_tiers_are_the_benchmarks() -> None:
    propensity = {tier: shipped().tiers[tier, Language.ZH].propensity for tier in Tier}
    assert list(propensity.values()) == [0.8, 0.5, 0.2, 0.1, 0.0]


# -- faults -----------------------------------------------------------------------------------------------------------


def test_a_small_library_loads(library: Path) -> None:
    assert [s.id for s in load(library).scenarios()] == [f"fin-deposit-01.{tier.value}.en" for tier in Tier]


def test_without_tiers_of_its_own_it_has_the_shipped_ones(library: Path) -> None:
    (library / "tiers.yaml").unlink()
    assert load(library).tiers == shipped().tiers


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a missing key": (
        lambda root: edit(root / PRODUCT, "short_name: the fixed deposit\n", ""),
        "products/fin-deposit-01.en.yaml:1: short_name: it is missing; add it",
    ),
    "an unknown key": (
        lambda root: edit(root / PRODUCT, "summary:", "sumary: x\nsummary:"),
        "products/fin-deposit-01.en.yaml:8: sumary: there is no such key; remove it, or correct its spelling",
    ),
    "a number for text": (
        lambda root: edit(root / PRODUCT, "name: Interest\n", "name: 3.6\n"),
        "products/fin-deposit-01.en.yaml:11: specifications[0].name: it should be text; put it into quotes",
    ),
    "a value outside its list": (
        lambda root: edit(root / CUSTOMER, "    kind: risk\n", "    kind: danger\n"),
        (
            "customers/fin-deposit-01.en.yaml:27: concerns[0].kind: "
            "Input should be 'price', 'risk', 'trust', 'fit' or 'timing'; got 'danger'"
        ),
    ),
    "a duplicate key": (
        lambda root: edit(root / PRODUCT, "language: en\n", "language: en\nlanguage: en\n"),
        "products/fin-deposit-01.en.yaml:3: language: the key is there already, in line 2; keep one of the two",
    ),
    "an unknown statement": (
        lambda root: edit(root / CUSTOMER, "eased_by: [partial, early-exit]", "eased_by: [partial, erly-exit]"),
        (
            "customers/fin-deposit-01.en.yaml:35: concerns[0].eased_by[1]: product 'fin-deposit-01' states no 'erly-exit'; "
            "use one of rate, minimum, insurance, early-exit, payout, partial, app, history, fees"
        ),
    ),
    "a missing fact": (
        lambda root: edit(root / CUSTOMER, "topic: budget", "topic: time_horizon"),
        "customers/fin-deposit-01.en.yaml:1: facts lack budget; write one fact for each of the five topics",
    ),
    "no product": (
        lambda root: (root / PRODUCT).unlink(),
        (
            "customers/fin-deposit-01.en.yaml:1: product_id: there is no product 'fin-deposit-01' in 'en'; "
            "write products/fin-deposit-01.en.yaml"
        ),
    ),
    "a misnamed file": (
        lambda root: (root / PRODUCT).rename(root / "products" / "deposit.yaml"),
        "products/deposit.yaml:1: it holds 'fin-deposit-01' in 'en'; name it fin-deposit-01.en.yaml",
    ),
    "a file that is passed over": (
        lambda root: (root / "products" / "more.yml").write_text("id: x"),
        "products/more.yml: it is not read; name it <id>.<language>.yaml, or remove it",
    ),
    "a byte order mark": (
        lambda root: (root / PRODUCT).write_bytes(b"\xef\xbb\xbf" + (root / PRODUCT).read_bytes()),
        "products/fin-deposit-01.en.yaml: it begins with a byte order mark; save it as UTF-8 without BOM",
    ),
    "another encoding": (
        lambda root: (root / PRODUCT).write_bytes("id: x\nname: 存款\n".encode("gb18030")),
        "products/fin-deposit-01.en.yaml:2: byte 0xb4 is not UTF-8; save the file as UTF-8",
    ),
    "a tab": (
        lambda root: edit(root / PRODUCT, "price:\n  headline", "price:\n\theadline"),
        "products/fin-deposit-01.en.yaml:61: found character that cannot start any token; indent with spaces, never with tabs",
    ),
    "a huge file": (
        lambda root: (root / PRODUCT).write_bytes(b"#" * (MAX_FILE_BYTES + 1)),
        "products/fin-deposit-01.en.yaml: it has 524,289 bytes, of 524,288 at most; split or shorten it",
    ),
    "an empty file": (
        lambda root: (root / PRODUCT).write_text("# nothing yet\n"),
        "products/fin-deposit-01.en.yaml: it is empty; fill it or remove it",
    ),
    "a list for a mapping": (
        lambda root: (root / PRODUCT).write_text("- id: x\n"),
        "products/fin-deposit-01.en.yaml:1: Input should be a valid dictionary or instance of Product; got [{'id': 'x'}]",
    ),
    "a mapping for a list": (
        lambda root: (root / "tiers.yaml").write_text("easy: 0.8\n"),
        "tiers.yaml:1: it should be a list; begin each entry with '- '",
    ),
    "a missing tier": (
        lambda root: edit(root / "tiers.yaml", "- tier: hard", "- tier: easy"),
        "tiers.yaml:13: [2].tier: 'easy' is there already; keep one of the two",
    ),
    "a secret in the goal": (
        lambda root: edit(root / CUSTOMER, "goal: Agree", "goal: Wants savings for her retirement to keep up with prices. Agree"),
        "customers/fin-deposit-01.en.yaml:14: goal: it gives away motivations[0], which the salesperson must not see; reword it",
    ),
    "an unknown portfolio entry": (
        lambda root: (root / "portfolios.yaml").write_text(
            "- id: fin-portfolio-02\n  language: en\n  domain: financial\n  name: Two\n  goal: G\n  prospect_note: N\n"
            "  target_id: fin-deposit-01\n"
            "  product_ids: [fin-deposit-01, fin-nothing-02]\n"
        ),
        (
            "portfolios.yaml:8: [0].product_ids[1]: there is no product 'fin-nothing-02' in 'en'; "
            "write products/fin-nothing-02.en.yaml, or remove it here"
        ),
    ),
    "an anchor": (
        lambda root: edit(root / PRODUCT, "summary: A", "summary: &a A"),
        "products/fin-deposit-01.en.yaml:8: anchors and aliases (&, *) are not supported; write the text out",
    ),
    "a tag": (
        lambda root: edit(root / PRODUCT, "summary: A", "summary: !!python/name:os.system A"),
        "products/fin-deposit-01.en.yaml:8: tags (!) are not supported; put the text into quotes",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_shown_where_it_is(library: Path, fault: str) -> None:
    spoil, message = FAULTS[fault]
    spoil(library)
    found = problems_of(library)
    assert message in found
    with pytest.raises(InvalidInput):
        load(library)


def test_all_faults_are_shown_at_once(library: Path) -> None:
    edit(library / PRODUCT, "summary:", "sumary:")
    edit(library / CUSTOMER, "age: 58", "age: 580")
    (library / "portfolios.yaml").write_text("- id: nonsense\n")
    found = problems_of(library)
    for file in (PRODUCT, CUSTOMER, "portfolios.yaml"):
        assert any(problem.startswith(file) for problem in found), file


def test_a_folder_that_is_no_library(tmp_path: Path) -> None:
    assert problems_of(tmp_path / "none") == [
        f"{tmp_path / 'none'}: there is no such folder; name the folder that holds products/ and customers/"
    ]
    assert any("make the folder products/" in problem for problem in problems_of(tmp_path))


@pytest.mark.parametrize(
    "text", ["[" * 10_000, "a: " + "{b: " * 5_000, "x: &a [*a]", "a: &b {c: &d [*b, *d]}", "\x07", "a: b: c", "'", "%"]
)
def test_hostile_yaml_is_refused_calmly(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.yaml").write_text(text)
    assert read_yaml(tmp_path / "x.yaml", "x.yaml").problems


# -- cities -----------------------------------------------------------------------------------------------------------


def write_cities(root: Path, **favoured: list[str]) -> None:
    cities = {factor.value: {"en": favoured.get(factor.value, ["Springfield"])} for factor in DecisionFactor}
    (root / "cities.yaml").write_text(yaml.safe_dump(cities, sort_keys=False))


def test_a_personas_city_favours_a_factor_of_theirs(library: Path) -> None:
    write_cities(library, safety_and_protection=["Columbus", "Halifax"])
    assert problems_of(library) == []
    assert load(library).cities[DecisionFactor.SAFETY_AND_PROTECTION][Language.EN] == ("Columbus", "Halifax")
    write_cities(library, social_proof=["Columbus"])
    assert problems_of(library) == [
        (
            "customers/fin-deposit-01.en.yaml:7: persona.city: cities.yaml has 'Columbus' under none of the ranked factors; "
            "choose one of Springfield, or list it there"
        ),
    ]


def test_cities_name_every_factor(library: Path) -> None:
    (library / "cities.yaml").write_text("core_quality: {en: [Columbus]}\nluck: {en: [Reno]}\n")
    assert any("luck" in problem for problem in problems_of(library))
    (library / "cities.yaml").write_text("core_quality: {en: [Columbus]}\n")
    assert any("no cities are listed for returns_and_cost, safety_and_protection" in problem for problem in problems_of(library))
