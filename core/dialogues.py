"""Dialogues: turns in order, each by the salesperson or the customer, in one or more sessions."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Literal, Self

from pydantic import AwareDatetime, Field, field_validator

from core.scenarios import Domain, Frozen, Language, Opener, Scenario, Setting, Tier

__all__ = [
    "MAX_ROUNDS",
    "Dialogue",
    "DialogueSummary",
    "EndReason",
    "Failure",
    "Mode",
    "NewTurn",
    "Participant",
    "Role",
    "Turn",
    "TurnFlag",
    "Usage",
    "new_dialogue_id",
    "storable",
    "utc_now",
]

MAX_ROUNDS = 20
"""Rounds in a session by default; most dialogues have one session. A round is one salesperson turn and the customer's reply."""


def utc_now() -> datetime:
    return datetime.now(UTC)


def new_dialogue_id() -> str:
    """An opaque random id: it tells its reader nothing and cannot be guessed (100 bits)."""
    return "d-" + secrets.token_hex(13)[:25]


def storable(text: str) -> str:
    """Replace what no database keeps as text: NUL, and halves of surrogate pairs, which browsers and models can emit."""
    return re.sub("[\0\ud800-\udfff]", "\ufffd", text)


class Role(StrEnum):
    """The only two speakers the domain knows. API roles exist only at the edge of a back end."""

    SALESPERSON = "salesperson"
    CUSTOMER = "customer"


class EndReason(StrEnum):
    CUSTOMER = "customer"
    """The customer left, won or lost."""
    SALESPERSON = "salesperson"
    """The salesperson finished."""
    ROUNDS = "rounds"
    """The last round was played."""
    FAILED = "failed"
    """A model could not go on. Such a dialogue can be resumed."""


class Mode(StrEnum):
    """What a dialogue was sold for."""

    PRACTICE = "practice"
    BASELINE = "baseline"
    """A human's dialogue for the human-baseline group: no hints, no branches, no scorecard."""
    ROLLOUT = "rollout"
    IMPORTED = "imported"


class TurnFlag(StrEnum):
    ROLE_INVERSION = "role_inversion"
    """A customer turn that acts as the seller."""
    SCRIPT_LEAK = "script_leak"
    """A customer turn that recites its instructions, propensity or persona sheet."""
    INTERRUPTED = "interrupted"
    """The reply was stopped before its end, by the salesperson."""


class Participant(Frozen):
    kind: Literal["human", "model"]
    name: str


class Usage(Frozen):
    """Cost of one turn. Times in milliseconds, measured at the engine; token counts as the endpoint reported them."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    first_token_ms: float | None = None
    latency_ms: float | None = None
    attempts: int = 1


class NewTurn(Frozen):
    """A turn about to be appended; the store gives it its index and session."""

    role: Role
    text: str = Field(min_length=1)
    client_message_id: str | None = None
    model: str | None = None
    settings: Mapping[str, Any] = Field(default_factory=dict)
    usage: Usage | None = None
    flags: tuple[TurnFlag, ...] = ()
    state: Mapping[str, Any] | None = Field(
        default=None, description="What a customer program knew after this turn; never sent to a page while selling."
    )
    created_at: AwareDatetime = Field(default_factory=utc_now)

    @field_validator("text", mode="before")
    @classmethod
    def _is_unicode(cls, text: object) -> object:
        return storable(text) if isinstance(text, str) else text


class Turn(NewTurn):
    index: int = Field(ge=0)
    session: int = Field(ge=1)


class Failure(Frozen):
    """A model call that failed, recorded once and never as a turn."""

    kind: str
    model: str
    detail: str
    retryable: bool
    created_at: AwareDatetime = Field(default_factory=utc_now)


class Dialogue(Frozen):
    """One conversation with everything needed to go on with it.

    ``propensity`` and ``tier`` repeat the scenario's, because an imported dialogue has no scenario of ours.
    """

    id: str = Field(default_factory=new_dialogue_id)
    scenario: Scenario | None = None
    scenario_id: str | None = None
    language: Language
    domain: Domain | None = None
    tier: Tier | None = None
    setting: Setting = Setting.SINGLE
    propensity: float | None = Field(default=None, ge=0.0, le=1.0)
    goal: str
    mode: Mode
    salesperson: Participant
    customer: Participant
    customer_settings: Mapping[str, Any] = Field(default_factory=dict)
    account_id: int | None = None
    seed: int = 0
    opens: Opener = Opener.SALESPERSON
    max_rounds: int = Field(default=MAX_ROUNDS, ge=1, description="Rounds in each session.")
    session: int = Field(default=1, ge=1, description="Number of the current session.")
    turns: tuple[Turn, ...] = ()
    parent_id: str | None = Field(default=None, description="The dialogue this one branched from.")
    branch_index: int | None = Field(default=None, description="Index of the first turn that differs from the parent.")
    started_at: AwareDatetime = Field(default_factory=utc_now)
    ended_at: AwareDatetime | None = None
    ended_by: EndReason | None = None
    failure: Failure | None = Field(default=None, description="The last model failure, while no reply has followed it.")
    meta: Mapping[str, Any] = Field(default_factory=dict)

    @classmethod
    def of(cls, scenario: Scenario, *, mode: Mode, salesperson: Participant, customer: Participant, **more: Any) -> Self:
        """A dialogue that sells ``scenario``, without turns yet. ``more`` are further fields: ``seed``, ``account_id`` …"""
        return cls(
            scenario=scenario,
            scenario_id=scenario.id,
            language=scenario.language,
            domain=scenario.domain,
            tier=scenario.tier.tier,
            setting=scenario.setting,
            propensity=scenario.propensity,
            goal=scenario.goal,
            opens=scenario.customer.opens,
            mode=mode,
            salesperson=salesperson,
            customer=customer,
            **more,
        )

    @property
    def session_turns(self) -> tuple[Turn, ...]:
        """The turns of the current session."""
        return tuple(turn for turn in self.turns if turn.session == self.session)

    @property
    def rounds(self) -> int:
        """Rounds begun in the current session: its salesperson turns. The last one may still be open."""
        return sum(turn.role is Role.SALESPERSON for turn in self.session_turns)

    @property
    def is_over(self) -> bool:
        return self.ended_by is not None

    @property
    def awaits(self) -> Role | None:
        """Whose turn it is, or None when the dialogue is over."""
        if self.is_over:
            return None
        turns = self.session_turns
        if not turns:
            return Role.CUSTOMER if self.opens is Opener.CUSTOMER else Role.SALESPERSON
        return Role.CUSTOMER if turns[-1].role is Role.SALESPERSON else Role.SALESPERSON

    @property
    def customer_state(self) -> Mapping[str, Any] | None:
        """State of a customer program after its last turn, or None."""
        return next((turn.state for turn in reversed(self.turns) if turn.state is not None), None)


class DialogueSummary(Frozen):
    """One line of a list of dialogues. ``final`` is the final score of the latest scorecard at the default weight."""

    id: str
    title: str
    scenario_id: str | None
    language: Language
    tier: Tier | None
    mode: Mode
    customer: str
    rounds: int
    started_at: AwareDatetime
    ended_at: AwareDatetime | None = None
    ended_by: EndReason | None = None
    parent_id: str | None = None
    branch_index: int | None = None
    intent: str | None = None
    final: float | None = None
