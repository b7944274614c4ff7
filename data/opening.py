"""Opening a store as every command does: up to date, and in step with the shipped scenario library."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from core.errors import InvalidInput
from data.library import load
from data.scenarios import ScenarioRepository
from data.store import Store

__all__ = ["open_store"]

logger = logging.getLogger(__name__)


@contextmanager
def open_store(url: str, *, tell: Callable[[str], object] = logger.info) -> Iterator[Store]:
    """The store at ``url``: made or migrated if need be, with the shipped library in it; closed when the block ends.

    Where nothing has changed nothing is written. ``tell`` hears what was done. Raises StoreError.
    """
    store = Store(url)
    try:
        backup = store.migrate()
        if backup is not None:
            tell(f"The store was brought up to date; a copy of how it was before is {backup}")
        _keep_library(store, tell)
        yield store
    finally:
        store.close()


def _keep_library(store: Store, tell: Callable[[str], object]) -> None:
    library = load()
    with store.reading() as session:
        if ScenarioRepository(session).is_in_step(library):
            return
    try:
        with store.session() as session:
            changes = ScenarioRepository(session).upsert(library)
    except InvalidInput as error:
        # A library that was imported has taken an id which the shipped one uses since; no reason not to start.
        tell(f"The scenario library was not brought up to date: {error.problems[0]}")
        return
    counts = {"added": changes.added, "changed": changes.changed, "restored": changes.restored, "withdrawn": changes.withdrawn}
    tell("Scenario library: " + ", ".join(f"{len(ids)} {kind}" for kind, ids in counts.items() if ids))
