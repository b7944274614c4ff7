"""Scores in the store. They are appended; of each scorer the last one counts."""

from __future__ import annotations

from collections.abc import Sequence

from sqlmodel import Session, col, select

from core.errors import NotFound
from core.scoring import Dimension, Scorecard
from data.rows import required_id
from data.tables import DialogueRow, ScoreRow

__all__ = ["ScoreRepository"]


class ScoreRepository:
    """Works in the session that it is given, and never commits."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, dialogue_id: str, card: Scorecard) -> int:
        """Append a scorecard and return the id of its row. Raises NotFound if there is no such dialogue."""
        if self._session.get(DialogueRow, dialogue_id) is None:
            raise NotFound("dialogue", dialogue_id)
        values = {score.dimension.value: score.value for score in card.dimensions}
        row = ScoreRow.model_validate(
            {
                **{dimension.value: values.get(dimension.value) for dimension in Dimension},
                "dialogue_id": dialogue_id,
                "scorer": card.scorer,
                "version": card.version,
                "intent": None if card.intent is None else card.intent.value,
                "body": card.model_dump(mode="json"),
                "created_at": card.created_at,
            }
        )
        self._session.add(row)
        self._session.flush()
        return required_id(row.id)

    def history(self, dialogue_id: str) -> tuple[Scorecard, ...]:
        """Every scorecard of the dialogue, in the order in which they were added."""
        return self.histories([dialogue_id])[dialogue_id]

    def histories(self, dialogue_ids: Sequence[str]) -> dict[str, tuple[Scorecard, ...]]:
        """Every scorecard of each of the dialogues, in the order in which they were added."""
        cards: dict[str, list[Scorecard]] = {dialogue_id: [] for dialogue_id in dialogue_ids}
        statement = select(ScoreRow).where(col(ScoreRow.dialogue_id).in_(dialogue_ids)).order_by(col(ScoreRow.id))
        for row in self._session.exec(statement):
            cards[row.dialogue_id].append(Scorecard.model_validate(row.body))
        return {dialogue_id: tuple(found) for dialogue_id, found in cards.items()}

    def latest(self, dialogue_id: str) -> dict[str, Scorecard]:
        """The last scorecard of each scorer, by the scorer's name."""
        return {card.scorer: card for card in self.history(dialogue_id)}

    def latest_of(self, dialogue_ids: Sequence[str], scorer: str) -> dict[str, Scorecard]:
        """The last scorecard that ``scorer`` gave to each of the dialogues; those it has not scored are absent."""
        found = {i: [card for card in cards if card.scorer == scorer] for i, cards in self.histories(dialogue_ids).items()}
        return {dialogue_id: cards[-1] for dialogue_id, cards in found.items() if cards}
