"""The real application on a free port, over a store of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.running_server import RunningServer, make_services, start


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """One server for the tests of a module: give accounts names of their own."""
    yield from start(make_services(tmp_path_factory.mktemp("data")))
