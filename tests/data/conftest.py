from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from data.store import Store
from tests.support.store_factory import POSTGRES, fresh_postgres, sqlite_url

BACK_ENDS = [
    "sqlite",
    pytest.param("postgres", marks=pytest.mark.skipif(POSTGRES is None, reason="SALESFLOOR_TEST_POSTGRES is not set")),
]


@pytest.fixture(params=BACK_ENDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a store that does not exist yet, on each kind of database."""
    if request.param == "sqlite":
        yield sqlite_url(tmp_path / "data")
    else:
        with fresh_postgres() as postgres_url:
            yield postgres_url


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    opened = Store(url)
    opened.migrate()
    yield opened
    opened.close()


@pytest.fixture
def sqlite_store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(sqlite_url(tmp_path / "data"))
    opened.migrate()
    yield opened
    opened.close()
