"""A store as every command opens it: up to date, with the shipped library, and quick when nothing has changed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import NotFound, StoreError
from data import opening
from data.opening import open_store
from data.runs import RunRepository
from data.scenarios import ScenarioRepository
from data.store import Store
from tests.support.store_factory import deposit_only, shipped


def test_an_empty_store_is_filled_once(url: str) -> None:
    told: list[str] = []
    with open_store(url, tell=told.append) as store, store.reading() as session:
        assert ScenarioRepository(session).search().total == len(shipped().scenarios())
    assert told == [f"Scenario library: {len(shipped().scenarios())} added"]
    with open_store(url, tell=told.append):
        pass
    assert len(told) == 1


def test_nothing_is_written_when_nothing_has_changed(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_store(url):
        pass

    def refuse(_: Store) -> None:
        raise AssertionError("a write transaction was begun")

    monkeypatch.setattr(Store, "session", refuse)
    with open_store(url):
        pass


def test_a_changed_library_is_brought_in(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    library = deposit_only()
    monkeypatch.setattr(opening, "load", lambda: library)
    with open_store(url):
        pass
    customers = {key: side.model_copy(update={"goal": "Another goal"}) for key, side in library.customers.items()}
    monkeypatch.setattr(opening, "load", lambda: replace(library, customers=customers))
    told: list[str] = []
    with open_store(url, tell=told.append) as store, store.reading() as session:
        assert ScenarioRepository(session).get("fin-deposit-01.hard.en").goal == "Another goal"
    assert told == ["Scenario library: 10 changed"]


def test_an_imported_library_in_the_way_does_not_keep_the_store_shut(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(url)
    store.migrate()
    with store.session() as session:
        ScenarioRepository(session).upsert(deposit_only(), source="ours")
    store.close()
    told: list[str] = []
    with open_store(url, tell=told.append) as opened, opened.reading() as session:
        assert ScenarioRepository(session).search().total == 10
    assert len(told) == 1
    assert "fin-deposit-01" in told[0]
    assert "was not brought up to date" in told[0]


def test_several_processes_may_open_a_new_store_at_once(url: str) -> None:
    def use(_: int) -> int:
        with open_store(url) as store, store.reading() as session:
            return ScenarioRepository(session).search().total

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(use, range(4))) == {len(shipped().scenarios())}


def test_a_store_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="file is in the way"), open_store(f"sqlite:///{tmp_path / 'file' / 'store.sqlite'}"):
        pass


def test_check_writable(store: Store) -> None:
    store.check_writable()
    assert store.path is None or store.path.exists()


def test_a_run_is_found_by_its_name(store: Store) -> None:
    with store.reading() as session, pytest.raises(NotFound, match="run 'first'"):
        RunRepository(session).id_of("first")
