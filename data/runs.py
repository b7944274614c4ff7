"""Runs: batches of dialogues that were made together."""

from __future__ import annotations

from sqlmodel import Session, select

from core.errors import NotFound
from data.rows import required_id
from data.tables import RunRow

__all__ = ["RunRepository"]


class RunRepository:
    """Works in the session that it is given, and never commits."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def id_of(self, name: str) -> int:
        """The run of that name, for :class:`data.dialogues.DialogueFilter`. Raises NotFound."""
        row = self._session.exec(select(RunRow).where(RunRow.name == name)).first()
        if row is None:
            raise NotFound("run", name)
        return required_id(row.id)
