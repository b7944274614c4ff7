"""Human baselines, scores, and what the practice page sees of both."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from core.accounts import Account, Role
from core.dialogues import Dialogue, EndReason, Mode
from core.errors import InvalidInput, NotFound, Refused
from core.scenarios import Language, Scenario
from core.scoring import Intent
from data.accounts import AccountRepository
from data.baselines import BaselineRepository, Progress
from data.dialogues import DialogueRepository
from data.practice_store import SqlPracticeStore, SqlScenarios
from data.scenarios import ScenarioRepository
from data.scores import ScoreRepository
from data.store import Store
from tests.support.store_factory import a_card, buyer, deposit_only, later, new_dialogue, seller

FIRST, SECOND, THIRD = "fin-deposit-01.hard.en", "fin-deposit-01.easy.zh", "fin-deposit-01.adversarial.en"


@pytest.fixture
def people(store: Store) -> tuple[Account, Account]:
    with store.session() as session:
        ScenarioRepository(session).upsert(deposit_only())
        BaselineRepository(session).create("Spring")
        accounts = AccountRepository(session)
        return accounts.add("Mei", {Role.SALESPERSON}), accounts.add("Zoë", {Role.SALESPERSON})


def sell(scenario: Scenario, account: Account) -> Dialogue:
    return new_dialogue(
        scenario=scenario, scenario_id=scenario.id, language=scenario.language, mode=Mode.BASELINE, account_id=account.id
    )


# -- baselines --------------------------------------------------------------------------------------------------------


def test_each_person_has_an_order_of_their_own(store: Store, people: tuple[Account, Account]) -> None:
    mei, zoe = people
    with store.session() as session:
        baselines = BaselineRepository(session)
        baselines.assign("Spring", mei.id, [FIRST, SECOND])
        baselines.assign("Spring", zoe.id, [SECOND, FIRST])
        more = baselines.assign("Spring", mei.id, [SECOND, THIRD, THIRD])
        assert [(item.position, item.scenario_id) for item in more] == [(1, FIRST), (2, SECOND), (3, THIRD)]
        assert [item.scenario_id for item in baselines.assignments("Spring", zoe.id)] == [SECOND, FIRST]


def test_the_next_assignment_is_the_first_unfinished_one(store: Store, people: tuple[Account, Account]) -> None:
    mei, zoe = people
    kept = SqlPracticeStore(store)
    with store.session() as session:
        BaselineRepository(session).assign("Spring", mei.id, [FIRST, SECOND])
    with store.reading() as session:
        first = BaselineRepository(session).next_assignment("Spring", mei.id)
        assert BaselineRepository(session).next_assignment("Spring", zoe.id) is None
    assert first is not None
    dialogue = kept.start_assignment(mei.id, first.id, lambda scenario: sell(scenario, mei))
    assert dialogue.scenario_id == FIRST
    for reason, following in ((EndReason.FAILED, FIRST), (EndReason.CUSTOMER, SECOND)):
        kept.end(dialogue.id, reason, later(5))
        with store.reading() as session:
            upcoming = BaselineRepository(session).next_assignment("Spring", mei.id)
            assert upcoming is not None
            assert upcoming.scenario_id == following
            baseline, unfinished = BaselineRepository(session).open_assignments(mei.id)[0]
            assert (baseline.name, unfinished) == ("Spring", upcoming)
        kept.reopen(dialogue.id)
    with store.reading() as session:
        assert BaselineRepository(session).progress("Spring") == (Progress(mei.id, assigned=2, begun=1, finished=1),)
        found = BaselineRepository(session).assignment_of(dialogue.id)
        assert found is not None
        assert found.id == first.id


def test_an_assignment_is_sold_once(store: Store, people: tuple[Account, Account]) -> None:
    mei, zoe = people
    kept = SqlPracticeStore(store)
    with store.session() as session:
        (assignment,) = BaselineRepository(session).assign("Spring", mei.id, [FIRST])

    with ThreadPoolExecutor(8) as pool:
        starts = list(pool.map(lambda _: kept.start_assignment(mei.id, assignment.id, lambda s: sell(s, mei)).id, range(8)))
    assert len(set(starts)) == 1
    other = kept.create(new_dialogue())
    with store.session() as session:
        BaselineRepository(session).attach(assignment.id, starts[0])
        with pytest.raises(Refused, match="has a dialogue already"):
            BaselineRepository(session).attach(assignment.id, other.id)
        with pytest.raises(NotFound, match="no dialogue"):
            BaselineRepository(session).attach(assignment.id, "d-none")
        with pytest.raises(NotFound, match="no assignment"):
            BaselineRepository(session).attach(999, other.id)
    with pytest.raises(NotFound):
        kept.start_assignment(zoe.id, assignment.id, lambda scenario: sell(scenario, zoe))
    with pytest.raises(NotFound):
        kept.assigned_scenario(zoe.id, assignment.id)
    assert kept.assigned_scenario(mei.id, assignment.id).id == FIRST


def test_a_closed_baseline(store: Store, people: tuple[Account, Account]) -> None:
    mei, _ = people
    kept = SqlPracticeStore(store)
    with store.session() as session:
        baselines = BaselineRepository(session)
        (assignment,) = baselines.assign("Spring", mei.id, [FIRST])
        assert not baselines.close("Spring").is_open
        assert baselines.close("Spring") == baselines.get("Spring")
    with store.session() as session:
        baselines = BaselineRepository(session)
        assert baselines.next_assignment("Spring", mei.id) is None
        assert baselines.open_assignments(mei.id) == ()
        with pytest.raises(Refused, match="is closed"):
            baselines.assign("Spring", mei.id, [SECOND])
    with pytest.raises(Refused, match="is closed"):
        kept.start_assignment(mei.id, assignment.id, lambda scenario: sell(scenario, mei))
    assert kept.assignments(mei.id) == []
    with store.reading() as session:
        assert DialogueRepository(session).list_for_account(mei.id).total == 0, "what was refused left no dialogue behind"


def test_what_cannot_be_created_or_assigned(store: Store, people: tuple[Account, Account]) -> None:
    mei, _ = people
    with store.session() as session:
        baselines = BaselineRepository(session)
        with pytest.raises(InvalidInput, match="it is empty"):
            baselines.create("  ")
        with pytest.raises(NotFound, match="no baseline 'Autumn'"):
            baselines.assign("Autumn", mei.id, [FIRST])
        with pytest.raises(NotFound, match="no account '999'"):
            baselines.assign("Spring", 999, [FIRST])
        with pytest.raises(InvalidInput) as caught:
            baselines.assign("Spring", mei.id, [FIRST, "fin-none-01.hard.en", "nonsense"])
        assert len(caught.value.problems) == 2
        assert baselines.assignments("Spring", mei.id) == ()
    with pytest.raises(InvalidInput, match="there is a baseline 'Spring' already"), store.session() as session:
        BaselineRepository(session).create("Spring")


def test_the_salespersons_list_tells_neither_scenario_nor_tier(store: Store, people: tuple[Account, Account]) -> None:
    mei, _ = people
    kept = SqlPracticeStore(store)
    with store.session() as session:
        BaselineRepository(session).assign("Spring", mei.id, [THIRD, SECOND])
    english, chinese = kept.assignments(mei.id)
    assert (english.position, english.total, english.language, english.done) == (1, 2, Language.EN, False)
    assert chinese.language is Language.ZH
    shown = repr(english.model_dump())
    assert "adversarial" not in shown
    assert THIRD not in shown


# -- scores -----------------------------------------------------------------------------------------------------------


def test_of_each_scorer_the_last_score_counts(store: Store) -> None:
    cards = [
        a_card(),
        a_card(scorer="judge", version="2", intent=Intent.C, created_at=later(1)),
        a_card(version="1.1", intent=Intent.A, created_at=later(2)),
    ]
    with store.session() as session:
        dialogue, other = DialogueRepository(session).add(new_dialogue()), DialogueRepository(session).add(new_dialogue())
        scores = ScoreRepository(session)
        for card in cards:
            scores.add(dialogue.id, card)
        with pytest.raises(NotFound):
            scores.add("d-none", cards[0])
    with store.reading() as session:
        scores = ScoreRepository(session)
        assert scores.history(dialogue.id) == tuple(cards)
        assert scores.latest(dialogue.id) == {"judge": cards[1], "embedded": cards[2]}
        assert scores.latest_of([dialogue.id, other.id], "judge") == {dialogue.id: cards[1]}
        assert scores.latest(other.id) == {}


# -- the practice page's store ----------------------------------------------------------------------------------------


def test_the_practice_store(store: Store, people: tuple[Account, Account]) -> None:
    mei, zoe = people
    kept = SqlPracticeStore(store)
    dialogue = kept.create(new_dialogue(account_id=mei.id))
    kept.append(dialogue.id, seller(), 0)
    kept.append(dialogue.id, buyer(), 1, ends=EndReason.CUSTOMER)
    branch = kept.create(new_dialogue(account_id=mei.id, parent_id=dialogue.id, branch_index=0, started_at=later(9)))
    assert kept.scorecard(dialogue.id) is None
    kept.add_scorecard(dialogue.id, a_card())
    kept.add_scorecard(dialogue.id, a_card(intent=Intent.A))
    card = kept.scorecard(dialogue.id)
    assert card is not None
    assert card.intent is Intent.A
    items, total = kept.summaries(mei.id, offset=0, limit=10)
    assert ([item.id for item in items], total) == ([branch.id, dialogue.id], 2)
    assert kept.summaries(zoe.id, offset=0, limit=10)[1] == 0
    assert [item.id for item in kept.family(branch.id)] == [dialogue.id, branch.id]
    assert kept.sold(mei.id) == {("fin-deposit-01", Language.EN): 1}


def test_the_catalogue_has_one_scenario_of_each(store: Store, people: tuple[Account, Account]) -> None:
    catalogue = SqlScenarios(store).catalogue()
    keys = [(scenario.base, scenario.language) for scenario in catalogue]
    assert len(set(keys)) == len(keys) == 2
    assert SqlScenarios(store).get(FIRST).id == FIRST
    with pytest.raises(NotFound):
        SqlScenarios(store).get("nonsense")
