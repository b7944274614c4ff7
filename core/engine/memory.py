"""A store of dialogues in memory, for trying things out and for tests. It keeps the promises of the real one, but no disk."""

from __future__ import annotations

import threading
from datetime import datetime

from core.dialogues import Dialogue, EndReason, Failure, NewTurn, Turn
from core.errors import DialogueOver, NotFound, Refused, TurnConflict

__all__ = ["MemoryDialogueStore"]


class MemoryDialogueStore:
    """Implements :class:`core.engine.DialogueStore`."""

    def __init__(self, *dialogues: Dialogue) -> None:
        self._dialogues = {dialogue.id: dialogue for dialogue in dialogues}
        self._lock = threading.Lock()

    def add(self, dialogue: Dialogue) -> Dialogue:
        with self._lock:
            self._dialogues[dialogue.id] = dialogue
        return dialogue

    def load(self, dialogue_id: str) -> Dialogue:
        try:
            return self._dialogues[dialogue_id]
        except KeyError:
            raise NotFound("dialogue", dialogue_id) from None

    def append(
        self, dialogue_id: str, turn: NewTurn, index: int, *, session: int | None = None, ends: EndReason | None = None
    ) -> Dialogue:
        with self._lock:
            dialogue = self.load(dialogue_id)
            if dialogue.is_over:
                raise DialogueOver
            taken = {t.client_message_id for t in dialogue.turns if t.client_message_id is not None}
            if session not in (None, dialogue.session):
                raise TurnConflict(f"dialogue {dialogue_id} is in session {dialogue.session}, no longer in {session}")
            if index != len(dialogue.turns) or turn.client_message_id in taken:
                raise TurnConflict(f"turn {index} of dialogue {dialogue_id} is there already")
            placed = Turn(**dict(turn), index=index, session=dialogue.session)
            return self._put(
                dialogue,
                turns=(*dialogue.turns, placed),
                failure=None,
                ended_by=ends,
                ended_at=turn.created_at if ends is not None else None,
            )

    def end(self, dialogue_id: str, reason: EndReason, at: datetime) -> Dialogue:
        with self._lock:
            dialogue = self.load(dialogue_id)
            return dialogue if dialogue.is_over else self._put(dialogue, ended_by=reason, ended_at=at)

    def record_failure(self, dialogue_id: str, failure: Failure) -> Dialogue:
        with self._lock:
            return self._put(self.load(dialogue_id), failure=failure)

    def reopen(self, dialogue_id: str) -> Dialogue:
        with self._lock:
            dialogue = self.load(dialogue_id)
            return self._put(dialogue, ended_by=None, ended_at=None) if dialogue.ended_by is EndReason.FAILED else dialogue

    def begin_session(self, dialogue_id: str, at: datetime) -> Dialogue:  # noqa: ARG002 (the real store keeps the time)
        with self._lock:
            dialogue = self.load(dialogue_id)
            if not dialogue.is_over:
                raise Refused("the dialogue has not ended; a follow-up session begins after its end")
            return self._put(dialogue, ended_by=None, ended_at=None, failure=None, session=dialogue.session + 1)

    def _put(self, dialogue: Dialogue, **changes: object) -> Dialogue:
        changed = self._dialogues[dialogue.id] = dialogue.model_copy(update=changes)
        return changed
