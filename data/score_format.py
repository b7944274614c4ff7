"""Scorecards within a line of the ``salesfloor`` format."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from core.errors import Problem
from core.scoring import Dimension, Intent, Scorecard, s_buy
from data.faults import dotted, explained

__all__ = ["ScoreLine", "read_score", "write_score", "written_number", "written_time"]

_DETAILS = ("learned", "objections", "unlisted_offers", "inversions", "stated_s_sell", "probabilities", "reason", "provenance")
"""Fields that are written as they stand, where the scorer filled them in."""
_EMPTY = Scorecard(scorer="any", version="").model_dump(mode="json")
_EVIDENCE = ("quotes", "reason", "samples", "stated")
_BY_NUMBER = {s_buy(intent): intent for intent in Intent}


class ScoreLine(BaseModel):
    """The shape of a score. A sub-dimension that is null does not apply; one that is absent was not judged."""

    model_config = ConfigDict(extra="allow", frozen=True, str_strip_whitespace=True)

    scorer: str = Field(min_length=1)
    version: str = ""
    intent: Intent | None = None
    s_buy: float | None = None
    verbal_commitment: float | None = Field(default=None, ge=0.0, le=10.0)
    next_step: float | None = Field(default=None, ge=0.0, le=10.0)
    information_elicitation: float | None = Field(default=None, ge=0.0, le=10.0)
    objection_resolution: float | None = Field(default=None, ge=0.0, le=10.0)
    created_at: AwareDatetime | None = None
    details: dict[str, Any] = Field(default_factory=dict)


def written_time(time: datetime) -> str:
    """ISO 8601 in UTC with Z; fractions of a second only where there are any."""
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")


def written_number(value: float | None) -> float | int | None:
    """Whole numbers without a fraction: 6, not 6.0."""
    return int(value) if value is not None and value == int(value) else value


def write_score(card: Scorecard) -> dict[str, Any]:
    """The scorecard as a JSON object."""
    dumped = card.model_dump(mode="json")
    values = {score.dimension: score.value for score in card.dimensions}
    details: dict[str, Any] = {key: dumped[key] for key in _DETAILS if dumped[key] != _EMPTY[key]}
    evidence = {
        s["dimension"]: {key: value for key, value in s.items() if key in _EVIDENCE and value not in ("", [], None)}
        for s in dumped["dimensions"]
    }
    evidence = {dimension: found for dimension, found in evidence.items() if found}
    if evidence:
        details["evidence"] = evidence
    return {
        "scorer": card.scorer,
        "version": card.version,
        "s_buy": written_number(card.s_buy),
        "intent": None if card.intent is None else card.intent.value,
        **{d.value: written_number(values[d]) for d in Dimension if d in values},
        "created_at": written_time(card.created_at),
        **({"details": details} if details else {}),
    }


def read_score(line: ScoreLine, place: str, unknown_time: datetime, problems: list[Problem]) -> Scorecard:
    """The scorecard of a line; what is wrong with it is added to ``problems``. ``unknown_time`` stands for no ``created_at``."""
    intent = line.intent
    if line.s_buy is not None:
        numbered = _BY_NUMBER.get(line.s_buy)
        if numbered is None:
            problems.append(Problem(f"{place}.s_buy", f"{line.s_buy:g} is no class of intent", "use 2, 4, 6, 8 or 10"))
        elif intent is not None and numbered is not intent:
            fault = f"{line.s_buy:g} is class {numbered.value}, and intent says {intent.value}"
            problems.append(Problem(f"{place}.s_buy", fault, "mend one of the two"))
        intent = intent or numbered
    evidence = line.details.get("evidence", {})
    card = {
        "scorer": line.scorer,
        "version": line.version,
        "intent": intent,
        "dimensions": [
            {"dimension": d, "value": getattr(line, d.value), **(evidence.get(d.value, {}) if isinstance(evidence, dict) else {})}
            for d in _stated(line)
        ],
        "created_at": line.created_at or unknown_time,
        **{key: value for key, value in line.details.items() if key != "evidence"},
    }
    try:
        return Scorecard.model_validate(card)
    except ValidationError as error:
        problems += [Problem(f"{place}.details: {dotted(item['loc'])}", *explained(item)) for item in error.errors()]
        return Scorecard(scorer=line.scorer, version=line.version, intent=intent, dimensions=())


def _stated(line: ScoreLine) -> list[Dimension]:
    """The sub-dimensions that the line names."""
    return [dimension for dimension in Dimension if dimension.value in line.model_fields_set]
