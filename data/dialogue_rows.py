"""Dialogues and turns as rows, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

from core.dialogues import Dialogue, Failure, Participant, Turn, Usage, storable
from core.scenarios import Scenario
from data.tables import DialogueRow, ModelFailureRow, TurnRow

__all__ = ["as_stored", "dialogue_values", "failure_values", "session_values", "to_dialogue", "to_failure", "turn_values"]

_COLUMNS = (
    "id",
    "language",
    "domain",
    "tier",
    "setting",
    "propensity",
    "goal",
    "mode",
    "account_id",
    "seed",
    "opens",
    "max_rounds",
    "session",
    "branch_index",
    "started_at",
    "ended_at",
    "ended_by",
)
"""Columns that are called as the dialogue's fields and hold their values."""

_TURN_COLUMNS = ("index", "session", "role", "client_message_id", "model", "created_at")
_USAGE_COLUMNS = ("prompt_tokens", "completion_tokens", "first_token_ms", "latency_ms", "attempts")
_FAILURE_COLUMNS = ("kind", "model", "detail", "retryable", "created_at")


def dialogue_values(dialogue: Dialogue) -> dict[str, Any]:
    """The dialogue's own columns. References to scenarios, runs and parents are the repository's to fill."""
    return {
        **{name: _plain(getattr(dialogue, name)) for name in _COLUMNS},
        "salesperson_kind": dialogue.salesperson.kind,
        "salesperson_name": dialogue.salesperson.name,
        "customer_kind": dialogue.customer.kind,
        "customer_name": dialogue.customer.name,
        "customer_settings": dict(dialogue.customer_settings),
        "meta": dict(dialogue.meta),
    }


def _plain(value: Any) -> Any:
    """An enumeration's value: drivers differ in what they make of a member."""
    return value.value if isinstance(value, Enum) else value


def turn_values(dialogue_id: str, turn: Turn) -> dict[str, Any]:
    usage: Mapping[str, Any] = {} if turn.usage is None else turn.usage.model_dump()
    return {
        "dialogue_id": dialogue_id,
        **{name: _plain(getattr(turn, name)) for name in _TURN_COLUMNS},
        "text": storable(turn.text),
        "settings": dict(turn.settings),
        **{name: usage.get(name) for name in _USAGE_COLUMNS},
        "flags": [flag.value for flag in turn.flags],
        "state": None if turn.state is None else dict(turn.state),
    }


def as_stored(turn: Turn) -> Turn:
    """The turn as it is read back: JSON has no tuples, and knows keys that are texts only."""
    plain = json.loads(json.dumps({"settings": dict(turn.settings), "state": None if turn.state is None else dict(turn.state)}))
    return turn.model_copy(update=plain)


def session_values(dialogue: Dialogue) -> list[dict[str, Any]]:
    """One row for each session that the dialogue or one of its turns is in."""
    last = max([dialogue.session, *(turn.session for turn in dialogue.turns)])
    starts = {turn.session: turn.created_at for turn in reversed(dialogue.turns)}
    rows = [
        {
            "dialogue_id": dialogue.id,
            "number": n,
            "started_at": starts.get(n, dialogue.started_at),
            "ended_at": None,
            "ended_by": None,
        }
        for n in range(1, last + 1)
    ]
    rows[0]["started_at"] = dialogue.started_at
    rows[dialogue.session - 1].update(ended_at=dialogue.ended_at, ended_by=dialogue.ended_by)
    return rows


def failure_values(dialogue_id: str, failure: Failure, *, session: int, turn_count: int) -> dict[str, Any]:
    values = {name: getattr(failure, name) for name in _FAILURE_COLUMNS}
    return {
        **values,
        "detail": storable(failure.detail),
        "dialogue_id": dialogue_id,
        "session": session,
        "turn_count": turn_count,
    }


def to_turn(row: TurnRow) -> Turn:
    usage = None if row.attempts is None else Usage(**{name: getattr(row, name) for name in _USAGE_COLUMNS})
    return Turn.model_validate(
        {
            **{name: getattr(row, name) for name in _TURN_COLUMNS},
            "text": row.text,
            "settings": row.settings,
            "usage": usage,
            "flags": row.flags,
            "state": row.state,
        }
    )


def to_failure(row: ModelFailureRow) -> Failure:
    return Failure.model_validate({name: getattr(row, name) for name in _FAILURE_COLUMNS})


def to_dialogue(
    row: DialogueRow, turns: Iterable[TurnRow], scenario: Scenario | None, failure: ModelFailureRow | None
) -> Dialogue:
    """Build the dialogue. ``failure`` counts only if no turn and no session has followed it."""
    placed = tuple(to_turn(turn) for turn in turns)
    current = failure is not None and (failure.session, failure.turn_count) == (row.session, len(placed))
    return Dialogue.model_validate(
        {
            **{name: getattr(row, name) for name in _COLUMNS},
            "scenario": scenario,
            "scenario_id": row.scenario_id or row.foreign_scenario_id,
            "salesperson": Participant.model_validate({"kind": row.salesperson_kind, "name": row.salesperson_name}),
            "customer": Participant.model_validate({"kind": row.customer_kind, "name": row.customer_name}),
            "customer_settings": row.customer_settings,
            "parent_id": row.parent_id or row.foreign_parent_id,
            "turns": placed,
            "failure": to_failure(failure) if current and failure is not None else None,
            "meta": row.meta,
        }
    )
