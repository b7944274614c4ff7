"""What the practice page needs of the store: implements :class:`core.practice.PracticeStore` and its scenarios."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlmodel import Session, select

from core.dialogues import Dialogue, DialogueSummary, Mode
from core.errors import NotFound
from core.practice import Assignment
from core.scenarios import Language, Scenario, Tier
from core.scoring import Scorecard
from data.baselines import BaselineRepository
from data.dialogue_lists import tiers_drawn
from data.dialogues import DialogueRepository, SqlDialogueStore
from data.scenarios import ScenarioRepository
from data.scores import ScoreRepository
from data.store import Store
from data.tables import BaselineAssignmentRow

__all__ = ["SqlPracticeStore", "SqlScenarios"]


class SqlPracticeStore(SqlDialogueStore):
    """Each method is one transaction."""

    def create(self, dialogue: Dialogue) -> Dialogue:
        with self._store.session() as session:
            return DialogueRepository(session).add(dialogue)

    def summaries(self, account_id: int, *, offset: int, limit: int) -> tuple[Sequence[DialogueSummary], int]:
        with self._store.reading() as session:
            page = DialogueRepository(session).list_for_account(account_id, limit=limit, offset=offset)
            return _for_salesperson(session, page.items), page.total

    def sold(self, account_id: int) -> dict[tuple[str, Language], int]:
        with self._store.reading() as session:
            return DialogueRepository(session).sold(account_id)

    def family(self, dialogue_id: str) -> Sequence[DialogueSummary]:
        with self._store.reading() as session:
            return _for_salesperson(session, DialogueRepository(session).family(dialogue_id))

    def scorecard(self, dialogue_id: str) -> Scorecard | None:
        with self._store.reading() as session:
            cards = ScoreRepository(session).history(dialogue_id)
            return cards[-1] if cards else None

    def add_scorecard(self, dialogue_id: str, scorecard: Scorecard) -> None:
        with self._store.session() as session:
            scores = ScoreRepository(session)
            latest = scores.latest(dialogue_id).get(scorecard.scorer)
            # Two tabs that show the outcome at once both find no card and make the same one.
            if latest is None or latest.model_copy(update={"created_at": scorecard.created_at}) != scorecard:
                scores.add(dialogue_id, scorecard)

    def assignments(self, account_id: int) -> Sequence[Assignment]:
        with self._store.reading() as session:
            baselines = BaselineRepository(session)
            found: list[Assignment] = []
            for baseline in reversed(baselines.list()):
                if not baseline.is_open:
                    continue
                mine = baselines.assignments(baseline.name, account_id)
                scenarios = ScenarioRepository(session).summaries([item.scenario_id for item in mine])
                found += [
                    Assignment(
                        id=item.id,
                        baseline=baseline.name,
                        position=item.position,
                        total=len(mine),
                        language=scenarios[item.scenario_id].language,
                        title=scenarios[item.scenario_id].title,
                        dialogue_id=item.dialogue_id,
                        done=item.finished,
                    )
                    for item in mine
                ]
            return found

    def assigned_scenario(self, account_id: int, assignment_id: int) -> Scenario:
        with self._store.reading() as session:
            return ScenarioRepository(session).get(_assignment(session, account_id, assignment_id).scenario_id)

    def start_assignment(self, account_id: int, assignment_id: int, make: Callable[[Scenario], Dialogue]) -> Dialogue:
        with self._store.session() as session:
            dialogues = DialogueRepository(session)
            assignment = _assignment(session, account_id, assignment_id, lock=True)
            if assignment.dialogue_id is not None:
                return dialogues.get(assignment.dialogue_id)
            dialogue = dialogues.add(make(ScenarioRepository(session).get(assignment.scenario_id)))
            BaselineRepository(session).attach(assignment_id, dialogue.id)
            return dialogue


class SqlScenarios:
    """Implements :class:`core.practice.SalesScenarios`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._catalogue: tuple[object, tuple[Scenario, ...]] | None = None

    def get(self, scenario_id: str) -> Scenario:
        with self._store.reading() as session:
            return ScenarioRepository(session).get(scenario_id, on_offer=True)

    def catalogue(self) -> Sequence[Scenario]:
        with self._store.reading() as session:
            scenarios = ScenarioRepository(session)
            revision = scenarios.revision()
            known = self._catalogue
            if known is None or known[0] != revision:
                # One assignment, so that threads which come together need no lock: the later one wins, with the same value.
                known = self._catalogue = (revision, scenarios.at_tier(Tier.MEDIUM))
            return known[1]


def _for_salesperson(session: Session, items: Sequence[DialogueSummary]) -> tuple[DialogueSummary, ...]:
    """Without what the salesperson may not know: tier and scores of a baseline dialogue, and a tier left to chance until the end.

    The scenario's id names the tier.
    """
    drawn = tiers_drawn(session, [item.id for item in items if item.ended_by is None])
    hidden = {"tier": None, "scenario_id": None}

    def shown(item: DialogueSummary) -> DialogueSummary:
        if item.mode is Mode.BASELINE:
            return item.model_copy(update={**hidden, "intent": None, "final": None})
        return item.model_copy(update=hidden) if item.id in drawn else item

    return tuple(map(shown, items))


def _assignment(session: Session, account_id: int, assignment_id: int, *, lock: bool = False) -> BaselineAssignmentRow:
    """Raises NotFound, also for an assignment of another account."""
    statement = select(BaselineAssignmentRow).where(
        BaselineAssignmentRow.id == assignment_id, BaselineAssignmentRow.account_id == account_id
    )
    row = session.exec(statement.with_for_update() if lock else statement).first()
    if row is None:
        raise NotFound("assignment", str(assignment_id))
    return row
