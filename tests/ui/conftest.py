"""The real application on a free port, over a store of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from argon2 import PasswordHasher

from tests.support.running_server import RunningServer, make_services, start


@pytest.fixture(scope="session", autouse=True)
def _cheap_hashes() -> Iterator[None]:
    """Passwords of tests need not resist anybody."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("data.passwords._hasher", PasswordHasher(time_cost=1, memory_cost=64, parallelism=1))
        yield


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """One server for the tests of a module: give accounts names of their own."""
    yield from start(make_services(tmp_path_factory.mktemp("data")))
