"""Lists of dialogues, without their turns: filters, pages of summaries, and families of branches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from sqlalchemy.orm import QueryableAttribute, defer
from sqlmodel import Session, col, func, or_, select

from core.dialogues import DialogueSummary, EndReason, Mode, Role
from core.errors import NotFound
from core.practice import TIER_DRAWN
from core.scenarios import Domain, Language, Setting, Tier
from core.scoring import Dimension, Intent, final_score, s_buy, s_sell
from data.rows import Page
from data.tables import DialogueRow, ScenarioVersionRow, ScoreRow, TurnRow

__all__ = ["DialogueFilter", "family_of", "ids_of", "page_of", "summaries_of", "tiers_drawn"]

_SAME = ("account_id", "run_id", "mode", "language", "domain", "tier", "setting", "salesperson_name", "customer_name")
"""Fields of the filter that must equal the column of their name."""


@dataclass(frozen=True)
class DialogueFilter:
    """What a dialogue must have to be listed. None: anything will do."""

    account_id: int | None = None
    run_id: int | None = None
    mode: Mode | None = None
    language: Language | None = None
    domain: Domain | None = None
    tier: Tier | None = None
    setting: Setting | None = None
    scenario_id: str | None = None
    salesperson_name: str | None = None
    customer_name: str | None = None
    ended: bool | None = None
    started_after: datetime | None = None

    def conditions(self) -> list[Any]:
        """The filter as SQL conditions, all of which must hold."""
        given = {name: getattr(self, name) for name in _SAME}
        conditions: list[Any] = [getattr(DialogueRow, name) == value for name, value in given.items() if value is not None]
        if self.scenario_id is not None:
            conditions.append(
                or_(DialogueRow.scenario_id == self.scenario_id, DialogueRow.foreign_scenario_id == self.scenario_id)
            )
        if self.ended is not None:
            ended = col(DialogueRow.ended_by).is_not(None)
            conditions.append(ended if self.ended else ~ended)
        if self.started_after is not None:
            conditions.append(col(DialogueRow.started_at) > self.started_after)
        return conditions


def page_of(session: Session, wanted: DialogueFilter, *, limit: int, offset: int) -> Page[DialogueSummary]:
    """One page, newest first. Raises ValueError for a negative limit or offset."""
    if limit < 0 or offset < 0:
        raise ValueError(f"limit {limit} and offset {offset} must not be negative")
    conditions = wanted.conditions()
    total = session.exec(select(func.count()).select_from(DialogueRow).where(*conditions)).one()
    newest_first = (col(DialogueRow.started_at).desc(), col(DialogueRow.id).desc())
    rows = session.exec(select(DialogueRow).where(*conditions).order_by(*newest_first).limit(limit).offset(offset)).all()
    return Page(tuple(summaries_of(session, rows)), total)


def ids_of(session: Session, wanted: DialogueFilter) -> list[str]:
    """Ids of all dialogues that the filter lets through, oldest first."""
    oldest_first = (col(DialogueRow.started_at), col(DialogueRow.id))
    return list(session.exec(select(DialogueRow.id).where(*wanted.conditions()).order_by(*oldest_first)))


def family_of(session: Session, dialogue_id: str) -> tuple[DialogueSummary, ...]:
    """The dialogue, its ancestors and everything that branched from any of them, oldest first. Raises NotFound."""
    parent_of = select(DialogueRow.id, DialogueRow.parent_id)
    up = parent_of.where(DialogueRow.id == dialogue_id).cte("up", recursive=True)
    up = up.union(parent_of.join(up, onclause=col(DialogueRow.id) == up.c.parent_id))
    root_id = session.exec(select(up.c.id).where(up.c.parent_id.is_(None))).first()
    if root_id is None:
        raise NotFound("dialogue", dialogue_id)
    down = select(DialogueRow.id).where(DialogueRow.id == root_id).cte("down", recursive=True)
    down = down.union(select(DialogueRow.id).join(down, onclause=col(DialogueRow.parent_id) == down.c.id))
    oldest_first = (col(DialogueRow.started_at), col(DialogueRow.id))
    rows = session.exec(select(DialogueRow).where(col(DialogueRow.id).in_(select(down.c.id))).order_by(*oldest_first)).all()
    return tuple(summaries_of(session, rows))


def tiers_drawn(session: Session, ids: Sequence[str]) -> set[str]:
    """Those of the dialogues whose salesperson left the tier to chance."""
    metas = session.exec(select(DialogueRow.id, DialogueRow.meta).where(col(DialogueRow.id).in_(ids)))
    return {dialogue_id for dialogue_id, meta in metas if meta.get(TIER_DRAWN)}


def summaries_of(session: Session, rows: Sequence[DialogueRow]) -> list[DialogueSummary]:
    """Summaries of the rows, in their order, with three more queries however many there are."""
    ids = [row.id for row in rows]
    sold = (col(TurnRow.dialogue_id).in_(ids), col(TurnRow.role) == Role.SALESPERSON.value)
    counting = select(TurnRow.dialogue_id, func.count()).where(*sold).group_by(col(TurnRow.dialogue_id))
    rounds = dict(session.exec(counting).all())
    hashes = {row.scenario_hash for row in rows if row.scenario_hash is not None}
    naming = select(ScenarioVersionRow.content_hash, ScenarioVersionRow.title)
    titles = dict(session.exec(naming.where(col(ScenarioVersionRow.content_hash).in_(hashes))).all())
    outcomes = _outcomes(session, ids)
    return [
        _summary(row, titles.get(row.scenario_hash or ""), rounds.get(row.id, 0), *outcomes.get(row.id, (None, None)))
        for row in rows
    ]


def _outcomes(session: Session, ids: Sequence[str]) -> dict[str, tuple[str | None, float | None]]:
    """Intent and final score by the latest scorecard of each dialogue, whoever made it."""
    last = select(func.max(ScoreRow.id)).where(col(ScoreRow.dialogue_id).in_(ids)).group_by(col(ScoreRow.dialogue_id))
    body = cast("QueryableAttribute[Any]", ScoreRow.body)
    cards = session.exec(select(ScoreRow).where(col(ScoreRow.id).in_(last)).options(defer(body)))
    outcomes: dict[str, tuple[str | None, float | None]] = {}
    for card in cards:
        sell = s_sell({dimension: getattr(card, dimension.value) for dimension in Dimension})
        final = None if card.intent is None or sell is None else final_score(s_buy(Intent(card.intent)), sell)
        outcomes[card.dialogue_id] = (card.intent, final)
    return outcomes


def _summary(row: DialogueRow, title: str | None, rounds: int, intent: str | None, final: float | None) -> DialogueSummary:
    scenario_id = row.scenario_id or row.foreign_scenario_id
    return DialogueSummary(
        id=row.id,
        title=title or scenario_id or row.id,
        scenario_id=scenario_id,
        language=Language(row.language),
        tier=None if row.tier is None else Tier(row.tier),
        mode=Mode(row.mode),
        customer=row.customer_name,
        rounds=rounds,
        started_at=row.started_at,
        ended_at=row.ended_at,
        ended_by=None if row.ended_by is None else EndReason(row.ended_by),
        parent_id=row.parent_id or row.foreign_parent_id,
        branch_index=row.branch_index,
        intent=intent,
        final=final,
    )
