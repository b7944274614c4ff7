"""What the engine needs of a store. ``data`` implements it; tests have one in memory (:mod:`core.engine.memory`)."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from core.dialogues import Dialogue, EndReason, Failure, NewTurn

__all__ = ["DialogueStore"]


class DialogueStore(Protocol):
    """Each method is one committed transaction: when it returns, the change is on disk. Called from worker threads."""

    def load(self, dialogue_id: str) -> Dialogue:
        """Raises :class:`core.errors.NotFound`."""
        ...

    def append(
        self, dialogue_id: str, turn: NewTurn, index: int, *, session: int | None = None, ends: EndReason | None = None
    ) -> Dialogue:
        """Append ``turn`` at ``index``, and end the dialogue in the same transaction if ``ends`` is given.

        Clears the recorded failure. Returns the dialogue with the turn.
        Raises :class:`core.errors.TurnConflict` if that index, or the turn's client message id, is taken, if ``index`` is not
        the next one, or if ``session`` is given and is not the current one; :class:`core.errors.DialogueOver` if it has ended.
        """
        ...

    def end(self, dialogue_id: str, reason: EndReason, at: datetime) -> Dialogue:
        """End the dialogue. Ending one that has ended changes nothing and returns it."""
        ...

    def record_failure(self, dialogue_id: str, failure: Failure) -> Dialogue:
        """Remember why the customer could not answer. Not a turn; the dialogue stays open."""
        ...

    def reopen(self, dialogue_id: str) -> Dialogue:
        """Undo an ending by :attr:`EndReason.FAILED`, so that it can be resumed. Otherwise changes nothing."""
        ...

    def begin_session(self, dialogue_id: str, at: datetime) -> Dialogue:
        """Start a follow-up session of a dialogue that has ended: it is open again, and its next turns count to that session."""
        ...
