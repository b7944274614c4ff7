"""The embedded customer: an agenda-based user simulator that needs no model.

A practice partner, not the benchmark's simulator. The idea of the agenda is that of Schatzmann and colleagues (2007); how the
parts fit together stands in :mod:`core.customers.embedded.acts`.
"""

from core.customers.embedded.customer import NAME, VERSION, EmbeddedCustomer
from core.customers.embedded.hints import embedded_hint
from core.customers.embedded.scorecard import embedded_scorecard

__all__ = ["NAME", "VERSION", "EmbeddedCustomer", "embedded_hint", "embedded_scorecard"]
