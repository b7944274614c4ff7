"""Human baselines: named collections of dialogues that people sell under a list of assignments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, update
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, func, select

from core.dialogues import EndReason, utc_now
from core.errors import InvalidInput, NotFound, Problem, Refused
from data.rows import is_duplicate, required_id
from data.tables import AccountRow, BaselineAssignmentRow, BaselineRow, DialogueRow, ScenarioRow

__all__ = ["Assignment", "Baseline", "BaselineRepository", "Progress"]


@dataclass(frozen=True)
class Baseline:
    id: int
    name: str
    created_at: datetime
    closed_at: datetime | None

    @property
    def is_open(self) -> bool:
        return self.closed_at is None


@dataclass(frozen=True)
class Assignment:
    """One scenario for one person to sell; ``position`` counts from 1 in that person's order.

    ``finished``: its dialogue has ended, and not by a failure, after which it can go on.
    """

    id: int
    baseline_id: int
    account_id: int
    scenario_id: str
    position: int
    dialogue_id: str | None
    finished: bool


@dataclass(frozen=True)
class Progress:
    """How far one person has come in one baseline."""

    account_id: int
    assigned: int
    begun: int
    finished: int


class BaselineRepository:
    """Works in the session that it is given, and never commits."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def create(self, name: str) -> Baseline:
        """Raises InvalidInput if the name is empty or taken."""
        kept = name.strip()
        if not kept:
            raise InvalidInput(Problem("name", "it is empty", "give the baseline a name"))
        row = BaselineRow.model_validate({"name": kept, "created_at": utc_now()})
        self._session.add(row)
        try:
            self._session.flush()
        except IntegrityError as error:
            if is_duplicate(error):
                raise InvalidInput(Problem("name", f"there is a baseline {kept!r} already", "choose another name")) from error
            raise
        return _baseline(row)

    def get(self, name: str) -> Baseline:
        """Raises NotFound."""
        return _baseline(self._row(name))

    def list(self) -> tuple[Baseline, ...]:
        """All baselines, newest first."""
        rows = self._session.exec(select(BaselineRow).order_by(col(BaselineRow.created_at).desc(), col(BaselineRow.id).desc()))
        return tuple(_baseline(row) for row in rows)

    def close(self, name: str) -> Baseline:
        """End the collection: nothing more is assigned, and nobody begins another dialogue. Raises NotFound."""
        row = self._row(name)
        row.closed_at = row.closed_at or utc_now()
        self._session.flush()
        return _baseline(row)

    def assign(self, name: str, account_id: int, scenario_ids: Sequence[str]) -> tuple[Assignment, ...]:
        """Append scenarios to a person's list, in the order given; what they have already is passed over.

        Return the person's whole list. Raises NotFound (baseline, account), Refused (it is closed), InvalidInput naming every
        scenario that is unknown or withdrawn.
        """
        row = self._row(name, lock=True)
        if row.closed_at is not None:
            raise Refused(f"baseline {row.name!r} is closed")
        if self._session.get(AccountRow, account_id) is None:
            raise NotFound("account", str(account_id))
        self._check_scenarios(scenario_ids)
        have = self.assignments(name, account_id)
        position = max((item.position for item in have), default=0)
        held = {item.scenario_id for item in have}
        for scenario_id in dict.fromkeys(scenario_ids):
            if scenario_id not in held:
                position += 1
                values = {"baseline_id": row.id, "account_id": account_id, "scenario_id": scenario_id, "position": position}
                self._session.add(BaselineAssignmentRow.model_validate(values))
        self._session.flush()
        return self.assignments(name, account_id)

    def assignments(self, name: str, account_id: int) -> tuple[Assignment, ...]:
        """A person's list, in their order. Raises NotFound."""
        baseline_id = required_id(self._row(name).id)
        return self._assignments(
            col(BaselineAssignmentRow.baseline_id) == baseline_id, col(BaselineAssignmentRow.account_id) == account_id
        )

    def open_assignments(self, account_id: int) -> tuple[tuple[Baseline, Assignment], ...]:
        """Everything that a person has still to sell or to finish, in all open baselines."""
        rows = self._session.exec(select(BaselineRow).where(col(BaselineRow.closed_at).is_(None)).order_by(col(BaselineRow.id)))
        baselines = [_baseline(row) for row in rows]
        return tuple((b, a) for b in baselines for a in self.assignments(b.name, account_id) if not a.finished)

    def next_assignment(self, name: str, account_id: int) -> Assignment | None:
        """The first of a person's assignments that is not finished; None when all are, or the baseline is closed.

        Raises NotFound.
        """
        if self._row(name).closed_at is not None:
            return None
        return next((item for item in self.assignments(name, account_id) if not item.finished), None)

    def assignment_of(self, dialogue_id: str) -> Assignment | None:
        """The assignment that a dialogue was sold for, or None."""
        found = self._assignments(col(BaselineAssignmentRow.dialogue_id) == dialogue_id)
        return found[0] if found else None

    def attach(self, assignment_id: int, dialogue_id: str) -> Assignment:
        """Note which dialogue an assignment is sold in. Attaching the same one again changes nothing.

        Raises NotFound, Refused if the baseline is closed, or another dialogue was attached before (one attempt each).
        """
        row = self._session.get(BaselineAssignmentRow, assignment_id)
        if row is None:
            raise NotFound("assignment", str(assignment_id))
        if self._session.get(DialogueRow, dialogue_id) is None:
            raise NotFound("dialogue", dialogue_id)
        baseline = self._session.get(BaselineRow, row.baseline_id)
        if row.dialogue_id != dialogue_id and baseline is not None and baseline.closed_at is not None:
            raise Refused(f"baseline {baseline.name!r} is closed")
        free = (col(BaselineAssignmentRow.id) == assignment_id, col(BaselineAssignmentRow.dialogue_id).is_(None))
        taken = self._session.exec(update(BaselineAssignmentRow).where(*free).values(dialogue_id=dialogue_id))
        self._session.refresh(row)
        if taken.rowcount == 0 and row.dialogue_id != dialogue_id:
            raise Refused("this assignment has a dialogue already; go on with that one")
        return self._assignments(col(BaselineAssignmentRow.id) == assignment_id)[0]

    def progress(self, name: str) -> tuple[Progress, ...]:
        """How far each person has come, by account. Raises NotFound."""
        statement = (
            select(
                BaselineAssignmentRow.account_id,
                func.count(),
                func.count(col(BaselineAssignmentRow.dialogue_id)),
                func.count(func.nullif(col(DialogueRow.ended_by), EndReason.FAILED.value)),
            )
            .outerjoin(DialogueRow, col(DialogueRow.id) == col(BaselineAssignmentRow.dialogue_id))
            .where(BaselineAssignmentRow.baseline_id == required_id(self._row(name).id))
            .group_by(col(BaselineAssignmentRow.account_id))
            .order_by(col(BaselineAssignmentRow.account_id))
        )
        return tuple(Progress(*counts) for counts in self._session.exec(statement))

    # -- inside -------------------------------------------------------------------------------------------------------

    def _row(self, name: str, *, lock: bool = False) -> BaselineRow:
        statement = select(BaselineRow).where(BaselineRow.name == name.strip())
        row = self._session.exec(statement.with_for_update() if lock else statement).first()
        if row is None:
            raise NotFound("baseline", name)
        return row

    def _assignments(self, *conditions: ColumnElement[bool]) -> tuple[Assignment, ...]:
        statement = (
            select(BaselineAssignmentRow, DialogueRow.ended_by)
            .outerjoin(DialogueRow, col(DialogueRow.id) == col(BaselineAssignmentRow.dialogue_id))
            .where(*conditions)
            .order_by(col(BaselineAssignmentRow.position))
        )
        return tuple(
            Assignment(
                id=required_id(row.id),
                baseline_id=row.baseline_id,
                account_id=row.account_id,
                scenario_id=row.scenario_id,
                position=row.position,
                dialogue_id=row.dialogue_id,
                finished=ended_by not in (None, EndReason.FAILED.value),
            )
            for row, ended_by in self._session.exec(statement)
        )

    def _check_scenarios(self, scenario_ids: Sequence[str]) -> None:
        usable = (col(ScenarioRow.id).in_(scenario_ids), col(ScenarioRow.withdrawn_at).is_(None))
        known = set(self._session.exec(select(ScenarioRow.id).where(*usable)))
        unknown = [i for i in dict.fromkeys(scenario_ids) if i not in known]
        if unknown:
            mend = "choose from `salesfloor scenarios list`"
            raise InvalidInput(*(Problem(f"scenario {i}", "there is none, or it was withdrawn", mend) for i in unknown))


def _baseline(row: BaselineRow) -> Baseline:
    return Baseline(id=required_id(row.id), name=row.name, created_at=row.created_at, closed_at=row.closed_at)
