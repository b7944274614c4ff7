"""The tables. They stay inside ``data``: repositories take and return domain objects.

Conventions:

* Times are aware and in UTC (SQLite drops zones; the column type puts them back).
* Enumerations of the domain are kept as their values, in text columns, so that a new member needs no migration.
* Turns and scores are append-only: triggers refuse UPDATE (``data/migrations/append_only.py``). Deleting stays possible, for
  erasing a person. A table with such triggers must be guarded anew after a batch migration has rebuilt it.
* Unique constraints, not checks in code, stop doubles.

There is no ``from __future__ import annotations`` here: SQLModel reads the annotations when the classes are made.
"""

from typing import Any, ClassVar

from pydantic import AwareDatetime
from sqlalchemy import JSON, BigInteger, CheckConstraint, ForeignKeyConstraint, Index, MetaData, UniqueConstraint
from sqlmodel import Field, SQLModel

__all__ = [
    "AccountRoleRow",
    "AccountRow",
    "BaselineAssignmentRow",
    "BaselineRow",
    "DialogueRow",
    "DialogueSessionRow",
    "ModelFailureRow",
    "PersonaRow",
    "ProductRow",
    "RunRow",
    "ScenarioRow",
    "ScenarioVersionRow",
    "ScoreRow",
    "SignInLinkRow",
    "StoreTable",
    "TurnRow",
    "WebSessionRow",
    "metadata",
]

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

JsonColumn = JSON(none_as_null=True)
"""Plain JSON text, in PostgreSQL too: JSONB would sort the keys, and what was imported must come back as it was."""


class StoreTable(SQLModel):
    """Base of all tables; carries the metadata that the migrations are checked against."""

    metadata: ClassVar[MetaData] = metadata


# -- people -----------------------------------------------------------------------------------------------------------


class AccountRow(StoreTable, table=True):
    __tablename__ = "account"
    # The id of an erased account is never given to another person.
    __table_args__ = {"sqlite_autoincrement": True}

    id: int | None = Field(default=None, primary_key=True)
    name: str
    name_key: str = Field(unique=True, description="The name folded, so that names are unique whatever their case.")
    password_hash: str | None = None
    language: str | None = None
    created_at: AwareDatetime
    disabled_at: AwareDatetime | None = None


class AccountRoleRow(StoreTable, table=True):
    __tablename__ = "account_role"

    account_id: int = Field(primary_key=True, foreign_key="account.id", ondelete="CASCADE")
    role: str = Field(primary_key=True)


class SignInLinkRow(StoreTable, table=True):
    """A one-time sign-in link. Only a hash of its token is kept."""

    __tablename__ = "sign_in_link"

    id: int | None = Field(default=None, primary_key=True)
    account_id: int = Field(foreign_key="account.id", ondelete="CASCADE", index=True)
    token_hash: str = Field(unique=True)
    created_at: AwareDatetime
    expires_at: AwareDatetime
    used_at: AwareDatetime | None = None


class WebSessionRow(StoreTable, table=True):
    """A signed-in browser. Only a hash of its token is kept."""

    __tablename__ = "web_session"

    id: int | None = Field(default=None, primary_key=True)
    account_id: int = Field(foreign_key="account.id", ondelete="CASCADE", index=True)
    token_hash: str = Field(unique=True)
    created_at: AwareDatetime
    last_seen_at: AwareDatetime
    ended_at: AwareDatetime | None = None


# -- the scenario library ---------------------------------------------------------------------------------------------


class ProductRow(StoreTable, table=True):
    __tablename__ = "product"

    id: str = Field(primary_key=True)
    language: str = Field(primary_key=True)
    domain: str
    category: str
    name: str
    body: dict[str, Any] = Field(sa_type=JsonColumn)
    content_hash: str


class PersonaRow(StoreTable, table=True):
    """The person who buys a product of the library, in one language."""

    __tablename__ = "persona"
    __table_args__ = (
        UniqueConstraint("product_id", "language"),
        ForeignKeyConstraint(["product_id", "language"], ["product.id", "product.language"], ondelete="CASCADE"),
    )

    id: int | None = Field(default=None, primary_key=True)
    product_id: str
    language: str
    name: str
    age: int
    occupation: str
    city: str = Field(index=True)
    household: str
    manner: str


class ScenarioVersionRow(StoreTable, table=True):
    """A scenario as it was sold at some time. Dialogues point here, so that a changed library leaves them as they were."""

    __tablename__ = "scenario_version"

    content_hash: str = Field(primary_key=True, description="SHA-256 of the canonical JSON of the scenario.")
    scenario_id: str = Field(index=True, description="Not a foreign key: a scenario may be sold without being in the library.")
    title: str
    body: dict[str, Any] = Field(sa_type=JsonColumn)
    created_at: AwareDatetime


class ScenarioRow(StoreTable, table=True):
    """An entry of the library as it stands now. Entries are withdrawn, never deleted."""

    __tablename__ = "scenario"
    __table_args__ = (
        Index(None, "language", "domain", "category"),
        Index(None, "base"),
        ForeignKeyConstraint(["product_id", "language"], ["product.id", "product.language"]),
    )

    id: str = Field(primary_key=True)
    base: str
    language: str
    setting: str
    tier: str
    propensity: float
    domain: str
    category: str
    category_name: str
    title: str
    search_text: str = Field(description="What the picker searches, folded: never anything of the customer's side.")
    product_id: str
    persona_id: int = Field(foreign_key="persona.id")
    content_hash: str = Field(foreign_key="scenario_version.content_hash")
    source: str = Field(description="Which library the entry came from: 'shipped', or the name of an imported one.")
    updated_at: AwareDatetime
    withdrawn_at: AwareDatetime | None = None


# -- dialogues --------------------------------------------------------------------------------------------------------


class RunRow(StoreTable, table=True):
    """A batch of dialogues made together, under settings that are kept with it."""

    __tablename__ = "run"

    id: int | None = Field(default=None, primary_key=True)
    name: str = Field(unique=True)
    kind: str
    settings: dict[str, Any] = Field(sa_type=JsonColumn)
    created_at: AwareDatetime
    finished_at: AwareDatetime | None = None


class DialogueRow(StoreTable, table=True):
    __tablename__ = "dialogue"
    __table_args__ = (
        CheckConstraint("propensity >= 0 AND propensity <= 1", name="propensity_in_range"),
        CheckConstraint("session >= 1", name="session_from_one"),
        Index(None, "account_id", "started_at"),
        Index(None, "mode", "started_at"),
        Index(None, "run_id", "started_at"),
        Index(None, "started_at"),
        Index(None, "language", "tier"),
        Index(None, "salesperson_name"),
    )

    id: str = Field(primary_key=True)
    scenario_id: str | None = Field(default=None, foreign_key="scenario.id", index=True)
    foreign_scenario_id: str | None = Field(default=None, description="Stated by an import, and unknown to this library.")
    scenario_hash: str | None = Field(default=None, foreign_key="scenario_version.content_hash", index=True)
    language: str
    domain: str | None = None
    tier: str | None = None
    setting: str
    propensity: float | None = None
    goal: str
    mode: str
    salesperson_kind: str
    salesperson_name: str
    customer_kind: str
    customer_name: str
    customer_settings: dict[str, Any] = Field(sa_type=JsonColumn)
    account_id: int | None = Field(default=None, foreign_key="account.id", ondelete="SET NULL")
    run_id: int | None = Field(default=None, foreign_key="run.id", ondelete="SET NULL")
    seed: int = Field(sa_type=BigInteger)
    opens: str
    max_rounds: int
    session: int
    parent_id: str | None = Field(default=None, foreign_key="dialogue.id", ondelete="SET NULL", index=True)
    foreign_parent_id: str | None = Field(default=None, description="Stated by an import that did not hold the parent.")
    branch_index: int | None = None
    started_at: AwareDatetime
    ended_at: AwareDatetime | None = None
    ended_by: str | None = None
    meta: dict[str, Any] = Field(sa_type=JsonColumn)


class DialogueSessionRow(StoreTable, table=True):
    __tablename__ = "dialogue_session"

    dialogue_id: str = Field(primary_key=True, foreign_key="dialogue.id", ondelete="CASCADE")
    number: int = Field(primary_key=True)
    started_at: AwareDatetime
    ended_at: AwareDatetime | None = None
    ended_by: str | None = None


class TurnRow(StoreTable, table=True):
    """Append-only. ``attempts`` is NULL where no usage was recorded."""

    __tablename__ = "turn"
    __table_args__ = (
        UniqueConstraint("dialogue_id", "client_message_id"),
        ForeignKeyConstraint(
            ["dialogue_id", "session"], ["dialogue_session.dialogue_id", "dialogue_session.number"], ondelete="CASCADE"
        ),
        CheckConstraint("role IN ('salesperson', 'customer')", name="role_known"),
        CheckConstraint('"index" >= 0', name="index_from_zero"),
        CheckConstraint("length(text) > 0", name="text_not_empty"),
    )

    dialogue_id: str = Field(primary_key=True)
    index: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    session: int
    role: str
    text: str
    client_message_id: str | None = None
    model: str | None = None
    settings: dict[str, Any] = Field(sa_type=JsonColumn)
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    first_token_ms: float | None = None
    latency_ms: float | None = None
    attempts: int | None = None
    flags: list[str] = Field(sa_type=JsonColumn)
    state: dict[str, Any] | None = Field(default=None, sa_type=JsonColumn)
    created_at: AwareDatetime


class ModelFailureRow(StoreTable, table=True):
    """A model call that failed. It is the dialogue's current failure while no turn and no session has followed it."""

    __tablename__ = "model_failure"

    id: int | None = Field(default=None, primary_key=True)
    dialogue_id: str = Field(foreign_key="dialogue.id", ondelete="CASCADE", index=True)
    session: int
    turn_count: int = Field(description="Turns the dialogue had when the call failed.")
    kind: str
    model: str
    detail: str
    retryable: bool
    created_at: AwareDatetime


class ScoreRow(StoreTable, table=True):
    """One scorer's view of one dialogue. Append-only: of each scorer the last one counts."""

    __tablename__ = "score"
    __table_args__ = (
        Index(None, "dialogue_id", "scorer", "created_at"),
        Index(None, "scorer", "version"),
        *(
            CheckConstraint(f"{dimension} >= 0 AND {dimension} <= 10", name=f"{dimension}_in_range")
            for dimension in ("verbal_commitment", "next_step", "information_elicitation", "objection_resolution")
        ),
    )

    id: int | None = Field(default=None, primary_key=True)
    dialogue_id: str = Field(foreign_key="dialogue.id", ondelete="CASCADE")
    scorer: str
    version: str
    intent: str | None = None
    verbal_commitment: float | None = None
    next_step: float | None = None
    information_elicitation: float | None = None
    objection_resolution: float | None = None
    body: dict[str, Any] = Field(sa_type=JsonColumn, description="The whole Scorecard.")
    created_at: AwareDatetime


# -- the human baseline -----------------------------------------------------------------------------------------------


class BaselineRow(StoreTable, table=True):
    """A named collection of dialogues sold by people under one list of assignments."""

    __tablename__ = "baseline"

    id: int | None = Field(default=None, primary_key=True)
    name: str = Field(unique=True)
    created_at: AwareDatetime
    closed_at: AwareDatetime | None = None


class BaselineAssignmentRow(StoreTable, table=True):
    """One scenario for one person to sell. ``position`` is its place in that person's order, from 1."""

    __tablename__ = "baseline_assignment"
    __table_args__ = (
        UniqueConstraint("baseline_id", "account_id", "scenario_id"),
        UniqueConstraint("baseline_id", "account_id", "position"),
        CheckConstraint("position >= 1", name="position_from_one"),
    )

    id: int | None = Field(default=None, primary_key=True)
    baseline_id: int = Field(foreign_key="baseline.id", ondelete="CASCADE")
    account_id: int = Field(foreign_key="account.id", ondelete="CASCADE", index=True)
    scenario_id: str = Field(foreign_key="scenario.id")
    position: int
    dialogue_id: str | None = Field(default=None, foreign_key="dialogue.id", ondelete="SET NULL", unique=True)
