"""Understanding of the salesperson's turns in English and Chinese: dialogue acts from lexicons, product sheet and numbers."""

from __future__ import annotations

from collections.abc import Sequence

from core.customers.embedded.acts import Understood
from core.customers.embedded.understanding.reading import listener_for
from core.scenarios import Scenario

__all__ = ["understand"]


def understand(text: str, scenario: Scenario, earlier: Sequence[str], last_customer_text: str | None) -> Understood:
    """Read one salesperson turn.

    Args:
        text: what the salesperson said; anything beyond 4,000 characters is not read.
        scenario: the sale; its language decides how the turn is read, its products and customer what is recognised.
        earlier: the salesperson's earlier turns, oldest first.
        last_customer_text: what the customer said last, which is what a short answer refers to.

    Returns the acts in the order in which they were said, with verbatim quotes. The same arguments always give the same
    result. Never raises, whatever the text.
    """
    return listener_for(scenario).understand(text, earlier, last_customer_text)
