"""Open dialogues as they were last read, so that going on with one does not mean reading all of it again.

What is kept here is never trusted by itself: each use begins with one look at the store, whose answer, the stamp, changes with
everything that may change a dialogue, whichever process changed it. Turns are append-only, so their number stands for them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any, NamedTuple, Self

from sqlalchemy import Select, Table, bindparam, func, select
from sqlmodel import Session

from core.dialogues import Dialogue
from core.errors import NotFound
from data.tables import DialogueRow, ModelFailureRow, StoreTable, TurnRow

__all__ = ["RecentDialogues", "Stamp", "read_stamp"]


class Stamp(NamedTuple):
    """All columns of the dialogue's row, how many turns it has, and its last failure."""

    row: tuple[Any, ...]
    turns: int
    last_failure: int | None

    @property
    def dialogue_id(self) -> str:
        return str(self.row[_ID])

    def with_turn(self) -> Self:
        return self._replace(turns=self.turns + 1)


def read_stamp(session: Session, dialogue_id: str, *, lock: bool = False) -> Stamp:
    """Look at the dialogue; with ``lock``, keep others from writing to it until the end of the transaction. Raises NotFound."""
    found = session.connection().execute(_LOCKED if lock else _LOOK, {"dialogue_id": dialogue_id}).first()
    if found is None:
        raise NotFound("dialogue", dialogue_id)
    *row, turns, last_failure = found
    return Stamp(tuple(row), turns, last_failure)


class RecentDialogues:
    """Keeps the dialogues that were used last. Safe to share between threads."""

    def __init__(self, limit: int = 256) -> None:
        self._limit = limit
        self._kept: OrderedDict[str, tuple[Stamp, Dialogue]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, stamp: Stamp) -> Dialogue | None:
        """The dialogue if it is kept as it stands."""
        with self._lock:
            kept = self._kept.get(stamp.dialogue_id)
            if kept is None or kept[0] != stamp:
                return None
            self._kept.move_to_end(stamp.dialogue_id)
            return kept[1]

    def keep(self, stamp: Stamp, dialogue: Dialogue) -> None:
        """Keep what was read, or written and committed, under that stamp. Nobody goes on with a dialogue that is over."""
        with self._lock:
            self._kept.pop(dialogue.id, None)
            if not dialogue.is_over:
                self._kept[dialogue.id] = (stamp, dialogue)
            while len(self._kept) > self._limit:
                self._kept.popitem(last=False)


def _table(row: type[StoreTable]) -> Table:
    table = row.metadata.tables[str(row.__tablename__)]
    assert isinstance(table, Table)
    return table


_DIALOGUE, _TURN, _FAILURE = _table(DialogueRow), _table(TurnRow), _table(ModelFailureRow)
_ID = list(_DIALOGUE.c).index(_DIALOGUE.c.id)

_LOOK: Select[Any] = select(
    *_DIALOGUE.c,
    select(func.count()).where(_TURN.c.dialogue_id == _DIALOGUE.c.id).correlate(_DIALOGUE).scalar_subquery(),
    select(func.max(_FAILURE.c.id)).where(_FAILURE.c.dialogue_id == _DIALOGUE.c.id).correlate(_DIALOGUE).scalar_subquery(),
).where(_DIALOGUE.c.id == bindparam("dialogue_id"))
_LOCKED = _LOOK.with_for_update(of=_DIALOGUE)
