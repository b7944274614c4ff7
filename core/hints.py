"""A hint for a salesperson who practises: one thing worth doing next, said without giving the customer's sheet away."""

from __future__ import annotations

from enum import StrEnum

from core.scenarios import FactTopic, Frozen

__all__ = ["Hint", "HintKind"]


class HintKind(StrEnum):
    ASK_OPENLY = "ask_openly"
    """Nothing is known yet: ask an open question."""
    ADDRESS = "address"
    """A concern that the customer raised is still open; ``evidence`` names what the product sheet says to it."""
    EASE_OFF = "ease_off"
    """The customer's patience runs low."""
    ASK_FACT = "ask_fact"
    """``topic`` was not learned yet."""
    PROPOSE_STEP = "propose_step"
    CLOSE = "close"
    WRAP_UP = "wrap_up"
    """The customer has said yes."""


class Hint(Frozen):
    kind: HintKind
    topic: FactTopic | None = None
    concern: str | None = None
    evidence: tuple[str, ...] = ()
