"""The ``salesfloor`` format: one dialogue as one JSON object. Writing and reading are each other's inverse.

Keys that every line has: ``id, scenario_id, language, domain, tier, setting, propensity, goal, salesperson, customer, turns,
ended_by, started_at, scores, meta``. Only ``id``, ``language``, ``goal`` and ``turns`` are required on reading. Further keys
are written where they say more than their default: ``mode, seed, opens, max_rounds, session, ended_at, parent_id,
branch_index, customer_settings``; on a turn ``created_at, model, settings, usage, flags``; on a score ``version, created_at,
details``. A turn without ``created_at`` was said when the dialogue began, as far as anybody knows. What a customer program
knew (``state``) is never written, and nor are account numbers, which mean nothing in another store.

Unknown keys are kept in ``meta``: those of the dialogue under their own names, those further in under ``unknown``, by place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from core.dialogues import MAX_ROUNDS, Dialogue, EndReason, Mode, Participant, Role, Turn, TurnFlag, Usage
from core.errors import InvalidInput, Problem
from core.scenarios import Domain, Language, Opener, Setting, Tier
from core.scoring import Scorecard
from data.faults import dotted, explained
from data.score_format import ScoreLine, read_score, write_score, written_number, written_time

__all__ = ["SalesfloorDialogue", "read_dialogue", "to_line", "write_dialogue"]

_UNKNOWN = "unknown"

Name = Annotated[str, StringConstraints(min_length=1, max_length=200, strip_whitespace=True)]


@dataclass(frozen=True)
class SalesfloorDialogue:
    """A dialogue and its scores, as they were read."""

    dialogue: Dialogue
    scores: tuple[Scorecard, ...] = ()


def to_line(value: Mapping[str, Any]) -> str:
    """One line of JSON Lines, without its newline. Raises ValueError for NaN and infinities."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def write_dialogue(dialogue: Dialogue, scores: tuple[Scorecard, ...] = ()) -> dict[str, Any]:
    """The dialogue as a JSON object, always with the same keys in the same order."""
    last_session = max((turn.session for turn in dialogue.turns), default=1)
    further = {
        "mode": None if dialogue.mode is Mode.IMPORTED else dialogue.mode.value,
        "seed": dialogue.seed or None,
        "opens": None if dialogue.opens is Opener.SALESPERSON else dialogue.opens.value,
        "max_rounds": None if dialogue.max_rounds == MAX_ROUNDS else dialogue.max_rounds,
        "session": None if dialogue.session == last_session else dialogue.session,
        "ended_at": None if dialogue.ended_at is None else written_time(dialogue.ended_at),
        "parent_id": dialogue.parent_id,
        "branch_index": dialogue.branch_index,
        "customer_settings": dict(dialogue.customer_settings) or None,
    }
    return {
        "id": dialogue.id,
        "scenario_id": dialogue.scenario_id or (dialogue.scenario.id if dialogue.scenario else None),
        "language": dialogue.language.value,
        "domain": None if dialogue.domain is None else dialogue.domain.value,
        "tier": None if dialogue.tier is None else dialogue.tier.value,
        "setting": dialogue.setting.value,
        "propensity": written_number(dialogue.propensity),
        "goal": dialogue.goal,
        "salesperson": {"kind": dialogue.salesperson.kind, "name": dialogue.salesperson.name},
        "customer": {"kind": dialogue.customer.kind, "name": dialogue.customer.name},
        "turns": [_write_turn(turn, dialogue.started_at) for turn in dialogue.turns],
        "ended_by": None if dialogue.ended_by is None else dialogue.ended_by.value,
        "started_at": written_time(dialogue.started_at),
        **{key: value for key, value in further.items() if value is not None},
        "scores": [write_score(card) for card in scores],
        "meta": dict(dialogue.meta),
    }


def read_dialogue(record: Any, place: str, *, unknown_time: datetime) -> SalesfloorDialogue:
    """Read a JSON object. ``unknown_time`` stands where the beginning of the dialogue is not stated.

    Raises InvalidInput with every problem, each beginning with ``place``.
    """
    try:
        line = _DialogueLine.model_validate(record)
    except ValidationError as error:
        raise InvalidInput(*(_problem(place, item["loc"], *explained(item)) for item in error.errors())) from error
    problems: list[Problem] = []
    meta = _meta_of(line, place, problems)
    started_at = line.started_at or unknown_time
    scores = tuple(read_score(score, f"{place}: scores[{n}]", started_at, problems) for n, score in enumerate(line.scores))
    sessions = [turn.session for turn in line.turns]
    last_session = max(sessions, default=1)
    if sessions != sorted(sessions):
        problems.append(_problem(place, ("turns",), "a later turn belongs to an earlier session", "put the turns in order"))
    if line.session is not None and line.session < last_session:
        problems.append(_problem(place, ("session",), f"turns go on to session {last_session}", "remove it, or raise it"))
    if problems:
        raise InvalidInput(*problems)
    dialogue = Dialogue(
        id=line.id,
        scenario_id=line.scenario_id,
        language=line.language,
        domain=line.domain,
        tier=line.tier,
        setting=line.setting or Setting.SINGLE,
        propensity=line.propensity,
        goal=line.goal,
        mode=line.mode or Mode.IMPORTED,
        salesperson=_participant(line.salesperson),
        customer=_participant(line.customer),
        customer_settings=line.customer_settings or {},
        seed=line.seed or 0,
        opens=line.opens or Opener.SALESPERSON,
        max_rounds=line.max_rounds or MAX_ROUNDS,
        session=line.session or last_session,
        turns=tuple(_read_turn(turn, index, started_at) for index, turn in enumerate(line.turns)),
        parent_id=line.parent_id,
        branch_index=line.branch_index,
        started_at=started_at,
        ended_at=line.ended_at,
        ended_by=line.ended_by,
        meta=meta,
    )
    return SalesfloorDialogue(dialogue, scores)


# -- the shape of a line ----------------------------------------------------------------------------------------------


class _Line(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True, str_strip_whitespace=True)


class _ParticipantLine(_Line):
    kind: Literal["human", "model"] = "model"
    name: str = "unknown"


class _UsageLine(_Line):
    prompt_tokens: int | None = Field(default=None, ge=0, lt=2**31)
    completion_tokens: int | None = Field(default=None, ge=0, lt=2**31)
    first_token_ms: float | None = Field(default=None, allow_inf_nan=False)
    latency_ms: float | None = Field(default=None, allow_inf_nan=False)
    attempts: int = Field(default=1, ge=0, lt=2**31)


class _TurnLine(_Line):
    role: Role
    text: str = Field(min_length=1)
    session: int = Field(default=1, ge=1, le=1000)
    created_at: AwareDatetime | None = None
    model: str | None = None
    settings: dict[str, Any] | None = None
    usage: _UsageLine | None = None
    flags: tuple[TurnFlag, ...] = ()


class _DialogueLine(_Line):
    id: Name
    scenario_id: Name | None = None
    language: Language
    domain: Domain | None = None
    tier: Tier | None = None
    setting: Setting | None = None
    propensity: float | None = Field(default=None, ge=0.0, le=1.0)
    goal: str
    salesperson: _ParticipantLine | None = None
    customer: _ParticipantLine | None = None
    turns: tuple[_TurnLine, ...]
    ended_by: EndReason | None = None
    started_at: AwareDatetime | None = None
    mode: Mode | None = None
    seed: int | None = Field(default=None, ge=-(2**63), lt=2**63)
    opens: Opener | None = None
    max_rounds: int | None = Field(default=None, ge=1, le=10_000)
    session: int | None = Field(default=None, ge=1, le=1000)
    ended_at: AwareDatetime | None = None
    parent_id: Name | None = None
    branch_index: int | None = Field(default=None, ge=0, lt=2**31)
    customer_settings: dict[str, Any] | None = None
    scores: tuple[ScoreLine, ...] = ()
    meta: dict[str, Any] = Field(default_factory=dict)


# -- inside -----------------------------------------------------------------------------------------------------------


def _write_turn(turn: Turn, started_at: datetime) -> dict[str, Any]:
    further = {
        "created_at": None if turn.created_at == started_at else written_time(turn.created_at),
        "model": turn.model,
        "settings": dict(turn.settings) or None,
        "usage": None if turn.usage is None else turn.usage.model_dump(exclude_none=True),
        "flags": [flag.value for flag in turn.flags] or None,
    }
    return {
        "role": turn.role.value,
        "text": turn.text,
        "session": turn.session,
        **{key: value for key, value in further.items() if value is not None},
    }


def _read_turn(line: _TurnLine, index: int, started_at: datetime) -> Turn:
    return Turn(
        role=line.role,
        text=line.text,
        model=line.model,
        settings=line.settings or {},
        usage=None if line.usage is None else Usage.model_validate(line.usage.model_dump(include=set(Usage.model_fields))),
        flags=line.flags,
        created_at=line.created_at or started_at,
        index=index,
        session=line.session,
    )


def _participant(line: _ParticipantLine | None) -> Participant:
    known = line or _ParticipantLine()
    return Participant(kind=known.kind, name=known.name)


def _meta_of(line: _DialogueLine, place: str, problems: list[Problem]) -> dict[str, Any]:
    """``meta`` with the unknown keys that the line has."""
    meta = dict(line.meta)
    for key, value in (line.model_extra or {}).items():
        if key in meta and meta[key] != value:
            problems.append(_problem(place, (key,), "meta has another value under this key", "rename one of the two"))
        meta[key] = value
    inner: dict[str, Any] = {}
    parts: list[tuple[str, BaseModel | None]] = [("salesperson", line.salesperson), ("customer", line.customer)]
    for number, turn in enumerate(line.turns):
        parts += [(f"turns[{number}]", turn), (f"turns[{number}].usage", turn.usage)]
    parts += [(f"scores[{number}]", score) for number, score in enumerate(line.scores)]
    for prefix, part in parts:
        if part is not None:
            inner |= {f"{prefix}.{key}": value for key, value in (part.model_extra or {}).items()}
    if inner:
        before = meta.get(_UNKNOWN, {})
        if not isinstance(before, dict):
            problems.append(_problem(place, ("meta", _UNKNOWN), "this key is used for unknown keys", "rename it"))
        else:
            meta[_UNKNOWN] = {**before, **inner}
    return meta


def _problem(place: str, path: tuple[str | int, ...], fault: str, mend: str = "") -> Problem:
    return Problem(f"{place}: {dotted(path)}" if path else place, fault, mend)
