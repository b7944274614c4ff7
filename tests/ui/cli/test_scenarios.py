from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from data.library import SHIPPED_LIBRARY
from tests.support.store_factory import shipped
from tests.ui.cli.conftest import Cli


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A library of one product in one language, under an id of its own."""
    folder = tmp_path / "Our products"
    for kind in ("products", "customers"):
        (folder / kind).mkdir(parents=True)
        text = (SHIPPED_LIBRARY / kind / "fin-deposit-01.en.yaml").read_text(encoding="utf-8")
        (folder / kind / "fin-ours-01.en.yaml").write_text(text.replace("fin-deposit-01", "fin-ours-01"), encoding="utf-8")
    return folder


def test_a_fresh_store_lists_the_shipped_library(tmp_path: Path, cli: Cli) -> None:
    listed = cli("scenarios", "list", "--store", f"sqlite:///{tmp_path / 'new' / 'store.sqlite'}", on_store=False)
    assert listed.status == 0
    assert {line.split()[0] for line in listed.lines} == {scenario.id for scenario in shipped().scenarios()}
    assert "added" in listed.err  # a remark, not a result


def test_one_id_a_line_then_the_title(cli: Cli) -> None:
    listed = cli("scenarios", "list", "id:fin-deposit-01.hard")
    titles = {scenario.id: scenario.title for scenario in shipped().scenarios()}
    found = [line.split(maxsplit=1) for line in listed.lines]
    assert [scenario_id for scenario_id, _ in found] == ["fin-deposit-01.hard.en", "fin-deposit-01.hard.zh"]
    assert all(titles[scenario_id] == title for scenario_id, title in found)
    assert listed.err == ""


def test_a_query_in_one_string_or_in_several(cli: Cli) -> None:
    one = cli("scenarios", "list", "language:zh tier:hard domain:consumer")
    several = cli("scenarios", "list", "language:zh", "tier:hard", "domain:consumer")
    assert one.out == several.out
    assert one.lines
    assert all(".hard.zh" in line and line.startswith("con-") for line in one.lines)


def test_nothing_that_fits_is_no_failure(cli: Cli) -> None:
    listed = cli("scenarios", "list", "id:nothing")
    assert (listed.status, listed.out) == (0, "")
    assert listed.complaints == ["No scenario fits."]


def test_every_wrong_term_is_named(cli: Cli) -> None:
    refused = cli("scenarios", "list", "tier:tough", "colour:blue", "category:nonsense")
    assert (refused.status, refused.out) == (1, "")
    assert "'tier:tough'" in refused.err
    assert "'colour:blue'" in refused.err
    assert all(line.startswith("salesfloor: query term") for line in refused.complaints)


def test_the_shipped_library_is_valid(cli: Cli) -> None:
    assert cli("scenarios", "validate", on_store=False).status == 0


def test_a_library_is_added_once(library: Path, cli: Cli) -> None:
    assert cli("scenarios", "validate", str(library), on_store=False).status == 0
    added = cli("scenarios", "import", str(library))
    assert (added.status, added.lines) == (0, ["Our products: 5 added, 0 unchanged"])
    assert len(cli("scenarios", "list", "id:fin-ours-01").lines) == 5
    again = cli("scenarios", "import", str(library))
    assert again.lines == ["Our products: nothing new; all 5 scenarios are in the store already"]


def test_what_a_library_no_longer_has_stays_until_it_is_told(library: Path, cli: Cli) -> None:
    cli("scenarios", "import", str(library))
    for kind in ("products", "customers"):
        old = library / kind / "fin-ours-01.en.yaml"
        text = old.read_text(encoding="utf-8").replace("fin-ours-01", "fin-ours-02")
        old.unlink()
        (library / kind / "fin-ours-02.en.yaml").write_text(text, encoding="utf-8")
    assert cli("scenarios", "import", str(library)).lines == ["Our products: 5 added, 0 unchanged"]
    assert len(cli("scenarios", "list", "id:fin-ours").lines) == 10
    assert cli("scenarios", "import", str(library), "--withdraw-missing").lines == ["Our products: 5 withdrawn, 5 unchanged"]
    assert len(cli("scenarios", "list", "id:fin-ours").lines) == 5


def test_an_id_of_another_library_is_refused(tmp_path: Path, cli: Cli) -> None:
    copy = tmp_path / "copy"
    for kind in ("products", "customers"):
        (copy / kind).mkdir(parents=True)
        shutil.copy(SHIPPED_LIBRARY / kind / "fin-deposit-01.en.yaml", copy / kind)
    refused = cli("scenarios", "import", str(copy))
    assert refused.status == 1
    assert refused.complaints == [
        "salesfloor: fin-deposit-01: another library has an entry with this id; give the entry an id of its own"
    ]


def test_the_name_of_the_shipped_library_is_taken(library: Path, cli: Cli) -> None:
    refused = cli("scenarios", "import", str(library), "--name", "shipped")
    assert refused.status == 1
    assert "--name" in refused.err


def test_every_fault_is_named_by_file_line_and_field(library: Path, cli: Cli) -> None:
    product = library / "products" / "fin-ours-01.en.yaml"
    product.write_text(product.read_text(encoding="utf-8").replace("domain: financial", "domain: lunar"), encoding="utf-8")
    customer = library / "customers" / "fin-ours-01.en.yaml"
    customer.write_bytes(customer.read_bytes() + b"# caf\xe9\n")
    for arguments in (["validate", str(library)], ["import", str(library)]):
        refused = cli("scenarios", *arguments)
        assert (refused.status, refused.out) == (1, "")
        assert any("products/fin-ours-01.en.yaml:" in line and "domain" in line for line in refused.complaints)
        assert any("customers/fin-ours-01.en.yaml:" in line and "UTF-8" in line for line in refused.complaints)
        assert all(line.startswith(f"salesfloor: {library}") for line in refused.complaints)
    assert cli("scenarios", "list", "id:fin-ours").out == ""


def test_a_folder_that_is_not_there_is_named(tmp_path: Path, cli: Cli) -> None:
    refused = cli("scenarios", "validate", str(tmp_path / "gone"), on_store=False)
    assert refused.status == 1
    assert str(tmp_path / "gone") in refused.err


def test_a_file_is_no_library(library: Path, cli: Cli) -> None:
    file = library / "products" / "fin-ours-01.en.yaml"
    refused = cli("scenarios", "validate", str(file), on_store=False)
    assert refused.status == 1
    assert str(file) in refused.err
