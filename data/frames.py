"""The one place where what is stored becomes a DataFrame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import pandas as pd
from sqlmodel import Session

from core.dialogues import Dialogue
from core.scoring import DEFAULT_WEIGHT, Dimension, combine
from data.dialogue_lists import DialogueFilter
from data.dialogues import DialogueRepository
from data.scores import ScoreRepository

__all__ = ["SCORE_COLUMNS", "TURN_COLUMNS", "scores_frame", "turns_frame"]

_DIALOGUE_COLUMNS: Final = {
    "scenario_id": "string",
    "language": "string",
    "domain": "string",
    "tier": "string",
    "setting": "string",
    "propensity": "Float64",
}

TURN_COLUMNS: Final = {
    "dialogue_id": "string",
    "session": "Int64",
    "turn": "Int64",
    "role": "string",
    "text": "string",
    "salesperson_kind": "string",
    "salesperson": "string",
    "customer": "string",
    **_DIALOGUE_COLUMNS,
    "mode": "string",
    "ended_by": "string",
    "created_at": "datetime64[us, UTC]",
    "model": "string",
    "prompt_tokens": "Int64",
    "completion_tokens": "Int64",
    "first_token_ms": "Float64",
    "latency_ms": "Float64",
    "flags": "string",
}
"""Columns of :func:`turns_frame` and their types."""

SCORE_COLUMNS: Final = {
    "dialogue_id": "string",
    "model": "string",
    **{key: kind for key, kind in _DIALOGUE_COLUMNS.items() if key in ("tier", "language", "propensity")},
    "s_buy": "Float64",
    "s_sell": "Float64",
    **{dimension.value: "Float64" for dimension in Dimension},
    "intent": "string",
    "final": "Float64",
    "weight": "Float64",
    "scorer": "string",
    "salesperson_kind": "string",
    "customer": "string",
    **{key: kind for key, kind in _DIALOGUE_COLUMNS.items() if key in ("scenario_id", "domain", "setting")},
}
"""Columns of :func:`scores_frame` and their types: first those that every table of scores has, then what else is known."""


def turns_frame(session: Session, wanted: DialogueFilter | None = None) -> pd.DataFrame:
    """One row for each turn, by dialogue (oldest first) and place; ``turn`` counts from 1 through all sessions."""
    dialogues = DialogueRepository(session).iterate(wanted or DialogueFilter())
    return _frame((row for dialogue in dialogues for row in _turns(dialogue)), TURN_COLUMNS)


def scores_frame(
    session: Session,
    wanted: DialogueFilter | None = None,
    *,
    intent_scorer: str | None = None,
    judge: str | None = None,
    weight: float = DEFAULT_WEIGHT,
) -> pd.DataFrame:
    """One row for each dialogue that has been scored, oldest first; ``model`` is the salesperson's.

    Args:
        wanted: which dialogues.
        intent_scorer, judge: whose scores count; see :func:`core.scoring.combine` for what None means.
        weight: alpha of the final score.
    """
    dialogues = DialogueRepository(session).iterate(wanted or DialogueFilter())
    return _frame(_scores(session, dialogues, intent_scorer, judge, weight), SCORE_COLUMNS)


def _frame(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, str]) -> pd.DataFrame:
    """A frame of these columns and types, however few rows there are."""
    return pd.DataFrame.from_records(list(rows), columns=list(columns)).astype(dict(columns))


def _about(dialogue: Dialogue) -> dict[str, Any]:
    values = {name: getattr(dialogue, name) for name in _DIALOGUE_COLUMNS}
    return {
        **{name: getattr(value, "value", value) for name, value in values.items()},
        "salesperson_kind": dialogue.salesperson.kind,
        "customer": dialogue.customer.name,
    }


def _turns(dialogue: Dialogue) -> Iterator[dict[str, Any]]:
    about = {
        **_about(dialogue),
        "dialogue_id": dialogue.id,
        "salesperson": dialogue.salesperson.name,
        "mode": dialogue.mode.value,
        "ended_by": None if dialogue.ended_by is None else dialogue.ended_by.value,
    }
    for turn in dialogue.turns:
        usage = {} if turn.usage is None else turn.usage.model_dump(exclude={"attempts"})
        yield {
            **about,
            **usage,
            "session": turn.session,
            "turn": turn.index + 1,
            "role": turn.role.value,
            "text": turn.text,
            "created_at": turn.created_at,
            "model": turn.model,
            "flags": " ".join(flag.value for flag in turn.flags) or None,
        }


def _scores(
    session: Session, dialogues: Iterable[Dialogue], intent_scorer: str | None, judge: str | None, weight: float
) -> Iterator[dict[str, Any]]:
    repository = ScoreRepository(session)
    for dialogue in dialogues:
        card = combine(repository.history(dialogue.id), intent_scorer, judge)
        if card is None:
            continue
        yield {
            **_about(dialogue),
            "dialogue_id": dialogue.id,
            "model": dialogue.salesperson.name,
            "s_buy": card.s_buy,
            "s_sell": card.s_sell,
            **{score.dimension.value: score.value for score in card.dimensions},
            "intent": None if card.intent is None else card.intent.value,
            "final": card.final(weight),
            "weight": weight,
            "scorer": card.scorer,
        }
