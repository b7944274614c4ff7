"""Puts the parts together: store, customers, engine, practice."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from core.customers.embedded import NAME as EMBEDDED
from core.customers.embedded import embedded_hint, embedded_scorecard
from core.customers.registry import Customers
from core.dialogues import Dialogue
from core.engine import DialogueEngine
from core.errors import InvalidInput
from core.hints import Hint
from core.models import require_model
from core.practice import Practice
from core.scoring import Scorecard
from core.settings import Settings
from data.opening import open_store
from data.practice_store import SqlPracticeStore, SqlScenarios
from ui.services import Services

__all__ = ["open_services", "own_scorecard"]

logger = logging.getLogger(__name__)

Tell = Callable[[str], object]


@contextmanager
def open_services(settings: Settings, *, tell: Tell = logger.info) -> Iterator[Services]:
    """Everything that the pages need, on an opened store.

    ``services.close()`` belongs to the event loop that used them, and comes before the end of the block.
    Raises StoreError; InvalidInput if the configured customer is no model that there is.
    """
    if settings.customer != EMBEDDED:
        require_model(settings.customer, settings)
    with open_store(settings.store_url, tell=tell) as store:
        customers = Customers(settings, progress=logger.info)
        practice_store = SqlPracticeStore(store)
        engine = DialogueEngine(practice_store, customers)
        practice = Practice(
            engine,
            practice_store,
            SqlScenarios(store),
            customer=settings.customer,
            score=own_scorecard,
            hint=own_hint,
            max_rounds=settings.max_rounds,
        )
        yield Services(settings=settings, store=store, engine=engine, practice=practice, customers=customers)


def own_scorecard(dialogue: Dialogue) -> Scorecard | None:
    """The scorecard that the embedded customer's state gives; None for other customers, and where it never spoke."""
    if dialogue.customer.name != EMBEDDED or dialogue.scenario is None or dialogue.customer_state is None:
        return None
    try:
        return embedded_scorecard(dialogue)
    except InvalidInput:
        # The state of another version. The dialogue stays readable, and counts as not scored yet.
        logger.warning("dialogue %s cannot be scored", dialogue.id, exc_info=True)
        return None


def own_hint(dialogue: Dialogue) -> Hint | None:
    """A hint from the embedded customer's state; None for other customers."""
    return embedded_hint(dialogue) if dialogue.customer.name == EMBEDDED else None
