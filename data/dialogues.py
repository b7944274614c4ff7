"""Dialogues in the store: adding, appending, listing, branches; and the store that the engine writes to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from sqlalchemy import update
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, delete, func, insert, select

from core.dialogues import Dialogue, DialogueSummary, EndReason, Failure, Mode, NewTurn, Turn
from core.errors import DialogueOver, InvalidInput, NotFound, Problem, Refused, TurnConflict
from core.scenarios import Language, Scenario
from data.dialogue_lists import DialogueFilter, family_of, ids_of, page_of
from data.dialogue_rows import as_stored, dialogue_values, failure_values, session_values, to_dialogue, turn_values
from data.recent_dialogues import RecentDialogues, Stamp, read_stamp
from data.rows import Page, is_duplicate
from data.scenario_versions import keep_version
from data.store import Store
from data.tables import DialogueRow, DialogueSessionRow, ModelFailureRow, ScenarioRow, ScenarioVersionRow, TurnRow

__all__ = ["DialogueFilter", "DialogueRepository", "SqlDialogueStore"]


_INSERT_TURN = insert(TurnRow.metadata.tables["turn"])


class DialogueRepository:
    """Works in the session that it is given, and never commits."""

    def __init__(self, session: Session) -> None:
        self._session = session

    # -- reading ------------------------------------------------------------------------------------------------------

    def get(self, dialogue_id: str) -> Dialogue:
        """The dialogue with all its turns and the scenario that it was sold with. Raises NotFound."""
        return self._read([self._row(dialogue_id)])[0]

    def find(self, dialogue_ids: Sequence[str]) -> tuple[Dialogue, ...]:
        """Those of the dialogues that exist, in the order of ``dialogue_ids``."""
        rows = {row.id: row for row in self._session.exec(select(DialogueRow).where(col(DialogueRow.id).in_(dialogue_ids)))}
        return tuple(self._read([rows[i] for i in dict.fromkeys(dialogue_ids) if i in rows]))

    def iterate(self, wanted: DialogueFilter, *, batch: int = 100) -> Iterator[Dialogue]:
        """All dialogues that ``wanted`` lets through, oldest first, reading ``batch`` of them at a time."""
        ids = ids_of(self._session, wanted)
        for start in range(0, len(ids), batch):
            yield from self.find(ids[start : start + batch])
            self._session.expunge_all()

    def page(self, wanted: DialogueFilter, *, limit: int = 50, offset: int = 0) -> Page[DialogueSummary]:
        """Summaries of the dialogues that ``wanted`` lets through, newest first."""
        return page_of(self._session, wanted, limit=limit, offset=offset)

    def list_for_account(self, account_id: int, *, limit: int = 50, offset: int = 0) -> Page[DialogueSummary]:
        """Summaries of everything that a person sold, newest first."""
        return self.page(DialogueFilter(account_id=account_id), limit=limit, offset=offset)

    def family(self, dialogue_id: str) -> tuple[DialogueSummary, ...]:
        """The dialogue, its ancestors and everything that branched from any of them, oldest first. Raises NotFound."""
        return family_of(self._session, dialogue_id)

    def sold(self, account_id: int) -> dict[tuple[str, Language], int]:
        """How many practice dialogues the account has finished, for each base and language of the library."""
        counting = (
            select(ScenarioRow.base, ScenarioRow.language, func.count())
            .join(DialogueRow, col(DialogueRow.scenario_id) == col(ScenarioRow.id))
            .where(*DialogueFilter(account_id=account_id, mode=Mode.PRACTICE, ended=True).conditions())
            .group_by(col(ScenarioRow.base), col(ScenarioRow.language))
        )
        return {(base, Language(language)): count for base, language, count in self._session.exec(counting)}

    # -- writing ------------------------------------------------------------------------------------------------------

    def add(self, dialogue: Dialogue, *, run_id: int | None = None) -> Dialogue:
        """Add a new dialogue with whatever turns it has (a branch brings those it shares with its parent).

        Raises InvalidInput if its id is taken, or its turns are not numbered from 0 without a gap.
        """
        self.insert(dialogue, run_id=run_id)
        return self.get(dialogue.id)

    def insert(self, dialogue: Dialogue, *, run_id: int | None = None) -> None:
        """As :meth:`add`, without reading back what was added."""
        if [turn.index for turn in dialogue.turns] != list(range(len(dialogue.turns))):
            raise InvalidInput(Problem(f"dialogue {dialogue.id}", "its turns are not numbered 0, 1, 2 …", "number them in order"))
        if self._session.get(DialogueRow, dialogue.id) is not None:
            raise InvalidInput(Problem(f"dialogue {dialogue.id}", "there is one with this id already", "give it another id"))
        values = dialogue_values(dialogue)
        self._session.exec(insert(DialogueRow).values(**values, **self._references(dialogue), run_id=run_id))
        self._session.exec(insert(DialogueSessionRow), params=session_values(dialogue))
        if dialogue.turns:
            self._session.exec(insert(TurnRow), params=[turn_values(dialogue.id, turn) for turn in dialogue.turns])
        if dialogue.failure is not None:
            self._insert_failure(dialogue.id, dialogue.failure, dialogue.session, len(dialogue.turns))

    def append(
        self, dialogue_id: str, turn: NewTurn, index: int, *, session: int | None = None, ends: EndReason | None = None
    ) -> Dialogue:
        """As :meth:`core.engine.DialogueStore.append`."""
        return self.append_to(self._read([self._row(dialogue_id, lock=True)])[0], turn, index, session=session, ends=ends)

    def append_to(
        self, dialogue: Dialogue, turn: NewTurn, index: int, *, session: int | None = None, ends: EndReason | None = None
    ) -> Dialogue:
        """As :meth:`append`, to a dialogue that was read in this transaction, locked, and has not been changed since."""
        if dialogue.is_over:
            raise DialogueOver
        if session not in (None, dialogue.session):
            raise TurnConflict(f"dialogue {dialogue.id} is in session {dialogue.session}, no longer in {session}")
        if index != len(dialogue.turns):
            raise TurnConflict(f"turn {index} of dialogue {dialogue.id} is there already, or one before it is missing")
        placed = as_stored(Turn.model_validate({**dict(turn), "index": index, "session": dialogue.session}))
        try:
            self._session.connection().execute(_INSERT_TURN, turn_values(dialogue.id, placed))
        except IntegrityError as error:
            if is_duplicate(error):
                raise TurnConflict(f"turn {index} of dialogue {dialogue.id}, or its message, is there already") from error
            raise
        at = None if ends is None else turn.created_at
        if ends is not None:
            self._set_ending(dialogue.id, dialogue.session, ends, at)
        appended = {"turns": (*dialogue.turns, placed), "failure": None, "ended_by": ends, "ended_at": at}
        return dialogue.model_copy(update=appended)

    def end(self, dialogue_id: str, reason: EndReason, at: datetime) -> Dialogue:
        """As :meth:`core.engine.DialogueStore.end`."""
        row = self._row(dialogue_id, lock=True)
        if row.ended_by is None:
            self._set_ending(row.id, row.session, reason, at)
        return self._read([row])[0]

    def record_failure(self, dialogue_id: str, failure: Failure) -> Dialogue:
        """As :meth:`core.engine.DialogueStore.record_failure`."""
        row = self._row(dialogue_id, lock=True)
        self._insert_failure(dialogue_id, failure, row.session, self._turn_count(dialogue_id))
        return self._read([row])[0]

    def reopen(self, dialogue_id: str) -> Dialogue:
        """As :meth:`core.engine.DialogueStore.reopen`."""
        row = self._row(dialogue_id, lock=True)
        if row.ended_by == EndReason.FAILED.value:
            self._set_ending(row.id, row.session, None, None)
        return self._read([row])[0]

    def begin_session(self, dialogue_id: str, at: datetime) -> Dialogue:
        """As :meth:`core.engine.DialogueStore.begin_session`. Raises Refused if the dialogue has not ended."""
        row = self._row(dialogue_id, lock=True)
        if row.ended_by is None:
            raise Refused("the dialogue has not ended; a follow-up session begins after its end")
        row.session += 1
        row.ended_by = row.ended_at = None
        self._session.add(row)
        self._session.add(DialogueSessionRow.model_validate({"dialogue_id": row.id, "number": row.session, "started_at": at}))
        self._session.flush()
        return self._read([row])[0]

    def delete(self, dialogue_id: str) -> None:
        """Delete a dialogue with its turns and scores, for erasing a person. Its branches stay. Raises NotFound."""
        if self._session.exec(delete(DialogueRow).where(col(DialogueRow.id) == dialogue_id)).rowcount == 0:
            raise NotFound("dialogue", dialogue_id)

    def adopt(self) -> None:
        """Tie imported dialogues to parents and scenarios that have come into the store since."""
        self._session.exec(
            update(DialogueRow)
            .where(col(DialogueRow.foreign_parent_id).in_(select(DialogueRow.id)))
            .values(parent_id=col(DialogueRow.foreign_parent_id), foreign_parent_id=None)
        )
        self._session.exec(
            update(DialogueRow)
            .where(col(DialogueRow.foreign_scenario_id).in_(select(ScenarioRow.id)))
            .values(scenario_id=col(DialogueRow.foreign_scenario_id), foreign_scenario_id=None)
        )

    # -- inside -------------------------------------------------------------------------------------------------------

    def _row(self, dialogue_id: str, *, lock: bool = False) -> DialogueRow:
        statement = select(DialogueRow).where(DialogueRow.id == dialogue_id)
        if lock:  # PostgreSQL: one writer for each dialogue. On SQLite a write session is alone in any case.
            statement = statement.with_for_update()
        row = self._session.exec(statement).first()
        if row is None:
            raise NotFound("dialogue", dialogue_id)
        return row

    def _read(self, rows: Sequence[DialogueRow]) -> list[Dialogue]:
        ids = [row.id for row in rows]
        turns: dict[str, list[TurnRow]] = {i: [] for i in ids}
        order = (col(TurnRow.dialogue_id), col(TurnRow.index))
        for turn in self._session.exec(select(TurnRow).where(col(TurnRow.dialogue_id).in_(ids)).order_by(*order)):
            turns[turn.dialogue_id].append(turn)
        failures = {
            failure.dialogue_id: failure
            for failure in self._session.exec(
                select(ModelFailureRow).where(col(ModelFailureRow.dialogue_id).in_(ids)).order_by(col(ModelFailureRow.id))
            )
        }
        scenarios = self._scenarios({row.scenario_hash for row in rows if row.scenario_hash is not None})
        return [to_dialogue(row, turns[row.id], scenarios.get(row.scenario_hash or ""), failures.get(row.id)) for row in rows]

    def _scenarios(self, hashes: set[str]) -> dict[str, Scenario]:
        statement = select(ScenarioVersionRow).where(col(ScenarioVersionRow.content_hash).in_(hashes))
        return {row.content_hash: Scenario.model_validate(row.body) for row in self._session.exec(statement)} if hashes else {}

    def _references(self, dialogue: Dialogue) -> dict[str, str | None]:
        scenario_id = dialogue.scenario_id or (dialogue.scenario.id if dialogue.scenario else None)
        scenario_known = scenario_id is not None and self._session.get(ScenarioRow, scenario_id) is not None
        parent_known = dialogue.parent_id is not None and self._session.get(DialogueRow, dialogue.parent_id) is not None
        return {
            "scenario_id": scenario_id if scenario_known else None,
            "foreign_scenario_id": None if scenario_known else scenario_id,
            "scenario_hash": keep_version(self._session, dialogue.scenario) if dialogue.scenario else None,
            "parent_id": dialogue.parent_id if parent_known else None,
            "foreign_parent_id": None if parent_known else dialogue.parent_id,
        }

    def _turn_count(self, dialogue_id: str) -> int:
        return self._session.exec(select(func.count()).select_from(TurnRow).where(TurnRow.dialogue_id == dialogue_id)).one()

    def _insert_failure(self, dialogue_id: str, failure: Failure, session: int, turn_count: int) -> None:
        values = failure_values(dialogue_id, failure, session=session, turn_count=turn_count)
        self._session.exec(insert(ModelFailureRow).values(**values))

    def _set_ending(self, dialogue_id: str, session: int, reason: EndReason | None, at: datetime | None) -> None:
        ending = {"ended_by": None if reason is None else reason.value, "ended_at": at}
        self._session.exec(update(DialogueRow).where(col(DialogueRow.id) == dialogue_id).values(**ending))
        self._session.exec(
            update(DialogueSessionRow)
            .where(col(DialogueSessionRow.dialogue_id) == dialogue_id, col(DialogueSessionRow.number) == session)
            .values(**ending)
        )


class SqlDialogueStore:
    """Implements :class:`core.engine.DialogueStore`: each method is one committed transaction."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._recent = RecentDialogues()

    def load(self, dialogue_id: str) -> Dialogue:
        with self._store.reading() as session:
            return self._read(session, read_stamp(session, dialogue_id))

    def append(
        self, dialogue_id: str, turn: NewTurn, index: int, *, session: int | None = None, ends: EndReason | None = None
    ) -> Dialogue:
        with self._store.session() as transaction:
            stamp = read_stamp(transaction, dialogue_id, lock=True)
            before = self._read(transaction, stamp)
            dialogue = DialogueRepository(transaction).append_to(before, turn, index, session=session, ends=ends)
        # Only now: what was not committed is not there.
        self._recent.keep(stamp.with_turn(), dialogue)
        return dialogue

    def end(self, dialogue_id: str, reason: EndReason, at: datetime) -> Dialogue:
        with self._store.session() as session:
            return DialogueRepository(session).end(dialogue_id, reason, at)

    def record_failure(self, dialogue_id: str, failure: Failure) -> Dialogue:
        with self._store.session() as session:
            return DialogueRepository(session).record_failure(dialogue_id, failure)

    def reopen(self, dialogue_id: str) -> Dialogue:
        with self._store.session() as session:
            return DialogueRepository(session).reopen(dialogue_id)

    def begin_session(self, dialogue_id: str, at: datetime) -> Dialogue:
        with self._store.session() as session:
            return DialogueRepository(session).begin_session(dialogue_id, at)

    def _read(self, session: Session, stamp: Stamp) -> Dialogue:
        dialogue = self._recent.get(stamp)
        if dialogue is None:
            dialogue = DialogueRepository(session).get(stamp.dialogue_id)
            self._recent.keep(stamp, dialogue)
        return dialogue
