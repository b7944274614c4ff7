"""Imports of scores: a CSV with one dialogue a row, for dialogues that are in the store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from sqlmodel import Session

from core.dialogues import Dialogue, utc_now
from core.errors import InvalidInput, Problem
from core.scoring import Dimension, DimensionScore, Intent, Scorecard, s_buy
from data.dialogues import DialogueRepository
from data.imports import ImportReport
from data.scores import ScoreRepository
from data.spreadsheets import read_csv
from data.store import Store

__all__ = ["import_scores"]

_REQUIRED: Final = ("dialogue_id", "model")
_BY_NUMBER: Final = {s_buy(intent): intent for intent in Intent}
_MEAN_TOLERANCE: Final = 0.06
"""How far a stated ``s_sell`` may be from the mean of its sub-dimensions: both may be rounded to one decimal."""
_STATED: Final = ("tier", "language", "propensity")


def import_scores(store: Store, path: Path, *, scorer: str = "imported") -> ImportReport:
    """Add a scorecard by ``scorer`` to each dialogue that the file names.

    Importing the same file again adds nothing. Raises InvalidInput with the problems of all rows, among them dialogues that the
    store does not have and statements that contradict it, and StoreError; either way nothing was changed.
    """
    problems: list[Problem] = []
    added = unchanged = 0
    now = utc_now()
    with store.session() as session:
        cards = ScoreRepository(session)
        for dialogue_id, card in _cards(session, path, scorer, now, problems):
            latest = cards.latest(dialogue_id).get(scorer)
            if latest is not None and latest.model_copy(update={"created_at": card.created_at}) == card:
                unchanged += 1
            elif not problems:
                cards.add(dialogue_id, card)
                added += 1
        if not problems and not added and not unchanged:
            problems.append(Problem(path.name, "it holds no scores", "write a row for each dialogue"))
        if problems:
            raise InvalidInput(*problems)
    return ImportReport(path.name, added, unchanged, what="score")


def _cards(session: Session, path: Path, scorer: str, now: datetime, problems: list[Problem]) -> Iterator[tuple[str, Scorecard]]:
    repository = DialogueRepository(session)
    first_seen: dict[str, str] = {}
    for place, row in read_csv(path, problems):
        missing = [name for name in _REQUIRED if name not in row]
        if missing:
            raise InvalidInput(*(Problem(f"{path.name}:1", f"column {name!r} is missing", "add it") for name in missing))
        dialogue_id = row["dialogue_id"].strip()
        if dialogue_id in first_seen:
            problems.append(Problem(place, f"dialogue {dialogue_id!r} was scored at {first_seen[dialogue_id]}", "remove one"))
            continue
        first_seen[dialogue_id] = place
        found = repository.find([dialogue_id])
        if not found:
            problems.append(Problem(place, f"the store has no dialogue {dialogue_id!r}", "import the dialogues first"))
            continue
        before = len(problems)
        _check_statements(row, found[0], place, problems)
        card = _card(row, place, scorer, now, problems)
        if len(problems) == before:
            yield dialogue_id, card


def _check_statements(row: Mapping[str, str], dialogue: Dialogue, place: str, problems: list[Problem]) -> None:
    """What the row says of the dialogue must be what the store knows."""
    known = {"model": dialogue.salesperson.name, **{name: getattr(dialogue, name) for name in _STATED}}
    for name, value in known.items():
        stated = row.get(name, "").strip()
        if not stated or value is None:
            continue
        if name == "propensity":
            number = _number(row, name, place, problems, highest=1.0)
            agrees = number is None or abs(number - float(value)) < 1e-6
        else:
            agrees = stated == str(getattr(value, "value", value))
        if not agrees:
            fault = f"{stated!r}, and the store says {getattr(value, 'value', value)!r}"
            problems.append(Problem(f"{place}: {name}", fault, "mend the row, or leave the cell empty"))


def _card(row: Mapping[str, str], place: str, scorer: str, now: datetime, problems: list[Problem]) -> Scorecard:
    buy = _number(row, "s_buy", place, problems)
    sell = _number(row, "s_sell", place, problems)
    values = {dimension: _number(row, dimension.value, place, problems) for dimension in Dimension}
    judged = tuple(DimensionScore(dimension=d, value=value) for d, value in values.items() if value is not None)
    intent = None if buy is None else _BY_NUMBER.get(buy)
    if buy is not None and intent is None:
        problems.append(Problem(f"{place}: s_buy", f"{buy:g} is no class of intent", "use 2, 4, 6, 8 or 10"))
    if judged and Dimension.OBJECTION_RESOLUTION.value in row and values[Dimension.OBJECTION_RESOLUTION] is None:
        judged = (*judged, DimensionScore(dimension=Dimension.OBJECTION_RESOLUTION, value=None))
    card = Scorecard(
        scorer=scorer, version="", intent=intent, dimensions=judged, stated_s_sell=None if judged else sell, created_at=now
    )
    if judged and sell is not None and card.s_sell is not None and abs(card.s_sell - sell) > _MEAN_TOLERANCE:
        fault = f"{sell:g}, and the mean of the sub-dimensions is {card.s_sell:.2f}"
        problems.append(Problem(f"{place}: s_sell", fault, "mend one, or leave s_sell empty"))
    if intent is None and card.s_sell is None and buy is None:
        problems.append(Problem(place, "it holds no score", "fill in s_buy, s_sell or the sub-dimensions, or remove the row"))
    return card


def _number(row: Mapping[str, str], name: str, place: str, problems: list[Problem], *, highest: float = 10.0) -> float | None:
    text = row.get(name, "").strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        problems.append(Problem(f"{place}: {name}", f"{text!r} is not a number", "write a number, or leave the cell empty"))
        return None
    if not 0.0 <= value <= highest:  # NaN compares with nothing.
        problems.append(Problem(f"{place}: {name}", f"{text} is outside 0 to {highest:g}", "mend it"))
        return None
    return value
