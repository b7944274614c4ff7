"""What the embedded customer knows and feels: frozen, and kept whole in the turn that it produced."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import Field, ValidationError

from core.customers.embedded.acts import CustomerAct, SellerMove
from core.errors import InvalidInput, Problem
from core.scenarios import FactTopic, Frozen

__all__ = [
    "OFFENCE_WEIGHTS",
    "STATE_VERSION",
    "ConcernState",
    "ConcernStatus",
    "Disclosure",
    "Line",
    "Offence",
    "State",
    "StepStatus",
]

STATE_VERSION = 1
"""Changes when an older state can no longer be read."""

Share = Annotated[float, Field(ge=0.0, le=1.0)]


class ConcernStatus(StrEnum):
    QUIET = "quiet"
    """Not brought up."""
    OPEN = "open"
    HARDENED = "hardened"
    """Met with words only, again and again: it now takes more to ease it."""
    EASED = "eased"


class StepStatus(StrEnum):
    NONE = "none"
    PROPOSED = "proposed"
    """A next step was proposed and not accepted."""
    ASKED = "asked"
    """A vague step was proposed, and the customer asked when and how."""
    AGREED = "agreed"
    WITHDRAWN = "withdrawn"


class ConcernState(Frozen):
    """One reservation. Turn indices are those of the dialogue."""

    id: str
    weight: float = Field(ge=0.0, le=1.0, description="1 when its decision factor ranks first, less further down.")
    status: ConcernStatus = ConcernStatus.QUIET
    progress: float = Field(default=0.0, ge=0.0)
    evidence: tuple[str, ...] = ()
    empathised: bool = False
    asked_about: bool = False
    dodged: int = Field(default=0, ge=0, description="How often it was answered without anything that meets it.")
    raised_turn: int | None = None
    hardened_turn: int | None = None
    eased_turn: int | None = None
    last_turn: int | None = Field(default=None, description="The customer's last turn that spoke of it.")

    @property
    def is_pending(self) -> bool:
        """Brought up, and not eased."""
        return self.status in (ConcernStatus.OPEN, ConcernStatus.HARDENED)


class Disclosure(Frozen):
    topic: FactTopic
    turn: int


class Offence(Frozen):
    """Something the salesperson did that a customer holds against them; ``turn`` is theirs."""

    move: SellerMove
    turn: int
    quote: str = ""
    detail: str = ""


OFFENCE_WEIGHTS: dict[SellerMove, float] = {
    SellerMove.INSULT: 3.0,
    SellerMove.FALSE_CLAIM: 1.5,
    SellerMove.PRESSURE: 1.0,
    SellerMove.INSTRUCT: 1.0,
    SellerMove.UNLISTED_OFFER: 0.5,
    SellerMove.REPEAT: 0.3,
    SellerMove.PRAISE: 0.15,
}
"""How much each kind of offence counts against :attr:`TierParameters.temper`."""


class Line(Frozen):
    """A piece of a customer turn, verbatim, with the act that it performed and the phrases that it used up."""

    turn: int
    act: CustomerAct
    text: str
    keys: tuple[str, ...] = ()
    topic: FactTopic | None = None
    concern_id: str | None = None


class State(Frozen):
    """Everything that the customer carries from turn to turn."""

    version: int = STATE_VERSION
    session: int = Field(default=1, ge=1)
    turn: int = Field(default=0, ge=0, description="Index of the customer turn being made, or made last.")
    rounds: int = Field(default=0, ge=0, description="Rounds of all sessions.")
    session_rounds: int = Field(default=0, ge=0)
    interest: Share
    trust: Share
    patience: Share
    susceptibility: float = Field(default=1.0, ge=0.0, description="Factor on every gain in interest; about 1.")
    concerns: tuple[ConcernState, ...]
    disclosed: tuple[Disclosure, ...] = ()
    withheld: tuple[FactTopic, ...] = Field(default=(), description="One entry for every refusal.")
    evidence_heard: tuple[str, ...] = ()
    other_products: int = Field(default=0, ge=0, description="Turns that spoke of a product other than the target.")
    greeted: bool = False
    empathy_heard: int = 0
    warned: bool = Field(default=False, description="Whether the customer has said that their patience runs out.")
    step: StepStatus = StepStatus.NONE
    step_turn: int | None = None
    committed_turn: int | None = None
    idle_after_step: int = Field(default=0, description="Rounds since the agreement that led nowhere.")
    refusals: int = Field(default=0, description="Steps and closes declined in this session.")
    offences: tuple[Offence, ...] = ()
    mood: str = "neutral"
    ending: CustomerAct | None = Field(default=None, description="How the customer left the last session, if they did.")
    lines: tuple[Line, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As stored in ``Turn.state``."""
        return self.model_dump(mode="json", exclude_defaults=True) | {"version": self.version}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Read what :meth:`to_json` wrote. Raises InvalidInput if another version, or another customer, wrote it."""
        if stored.get("version") != STATE_VERSION:
            fault = f"version {stored.get('version')!r} was written by another customer program"
            raise InvalidInput(Problem("turn state", fault, f"this one reads version {STATE_VERSION}"))
        try:
            return cls.model_validate(stored)
        except ValidationError as error:
            places = ", ".join(".".join(map(str, item["loc"])) for item in error.errors())
            raise InvalidInput(Problem("turn state", f"cannot be read: {places}", "branch from an earlier turn")) from error

    def concern(self, concern_id: str) -> ConcernState:
        """Raises KeyError."""
        for item in self.concerns:
            if item.id == concern_id:
                return item
        raise KeyError(concern_id)

    def with_concern(self, concern: ConcernState) -> Self:
        """The same state with that concern in place of its older self."""
        return self.model_copy(update={"concerns": tuple(concern if c.id == concern.id else c for c in self.concerns)})

    def update(self, **changes: Any) -> Self:
        """A copy with changed fields; shares are kept within [0, 1]."""
        for name in ("interest", "trust", "patience"):
            if name in changes:
                changes[name] = min(1.0, max(0.0, changes[name]))
        return self.model_copy(update=changes)

    @property
    def pending(self) -> tuple[ConcernState, ...]:
        """Concerns brought up and not eased, the one spoken of last first."""
        return tuple(sorted((c for c in self.concerns if c.is_pending), key=lambda c: (-(c.last_turn or 0), -c.weight)))

    @property
    def told(self) -> frozenset[FactTopic]:
        return frozenset(item.topic for item in self.disclosed)

    @property
    def used(self) -> frozenset[str]:
        """Keys of all phrases spoken so far."""
        return frozenset(key for line in self.lines for key in line.keys)

    def has_said(self, act: CustomerAct) -> bool:
        return any(line.act is act for line in self.lines)

    @property
    def offence_weight(self) -> float:
        return sum(OFFENCE_WEIGHTS[offence.move] for offence in self.offences)

    @property
    def is_won(self) -> bool:
        """A next step stands, or the purchase was agreed to."""
        return self.step is StepStatus.AGREED or self.committed_turn is not None
