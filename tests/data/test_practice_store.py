"""What a salesperson's pages read from the store: nothing that they may not know, each scorecard once, and a quick catalogue."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from core.accounts import Account, Role
from core.dialogues import EndReason, Mode
from core.errors import NotFound
from core.practice import TIER_DRAWN
from core.scenarios import Language, Tier
from core.scoring import Intent
from data.accounts import AccountRepository
from data.practice_store import SqlPracticeStore, SqlScenarios
from data.scenarios import ScenarioRepository
from data.scores import ScoreRepository
from data.store import Store
from tests.support.store_factory import NOON, a_card, deposit_only, later, new_dialogue


@pytest.fixture
def mei(store: Store) -> Account:
    with store.session() as session:
        ScenarioRepository(session).upsert(deposit_only())
        return AccountRepository(session).add("Mei", {Role.SALESPERSON})


@pytest.fixture
def practice(store: Store) -> SqlPracticeStore:
    return SqlPracticeStore(store)


def test_a_baseline_dialogue_never_tells_tier_or_score(practice: SqlPracticeStore, mei: Account) -> None:
    dialogue = practice.create(new_dialogue(account_id=mei.id, mode=Mode.BASELINE))
    practice.end(dialogue.id, EndReason.SALESPERSON, NOON)
    practice.add_scorecard(dialogue.id, a_card(intent=Intent.A))
    (listed,), total = practice.summaries(mei.id, offset=0, limit=10)
    assert total == 1
    for summary in (listed, *practice.family(dialogue.id)):
        assert (summary.tier, summary.scenario_id, summary.intent, summary.final) == (None, None, None, None)
        assert "hard" not in summary.model_dump_json()


def test_a_tier_left_to_chance_is_told_at_the_end(practice: SqlPracticeStore, mei: Account) -> None:
    drawn = practice.create(new_dialogue(account_id=mei.id, meta={TIER_DRAWN: True}))
    chosen = practice.create(new_dialogue(account_id=mei.id, started_at=later(1)))
    known, hidden = practice.summaries(mei.id, offset=0, limit=10)[0]
    assert (known.id, known.tier, known.scenario_id) == (chosen.id, Tier.HARD, "fin-deposit-01.hard.en")
    assert (hidden.id, hidden.tier, hidden.scenario_id) == (drawn.id, None, None)
    practice.end(drawn.id, EndReason.SALESPERSON, NOON)
    assert practice.family(drawn.id)[0].tier is Tier.HARD


def test_the_latest_card_counts_whoever_made_it(practice: SqlPracticeStore, mei: Account) -> None:
    dialogue = practice.create(new_dialogue(account_id=mei.id))
    practice.add_scorecard(dialogue.id, a_card(intent=Intent.C))
    practice.add_scorecard(dialogue.id, a_card(scorer="judge", intent=Intent.A, created_at=later(1)))
    card = practice.scorecard(dialogue.id)
    assert card is not None
    assert card.scorer == "judge"
    assert practice.summaries(mei.id, offset=0, limit=10)[0][0].intent == "A"


def test_two_tabs_store_one_card(practice: SqlPracticeStore, store: Store, mei: Account) -> None:
    dialogue = practice.create(new_dialogue(account_id=mei.id))
    for minutes in range(3):
        practice.add_scorecard(dialogue.id, a_card(created_at=later(minutes)))
    with store.reading() as session:
        assert len(ScoreRepository(session).history(dialogue.id)) == 1
    practice.add_scorecard(dialogue.id, a_card(version="2"))
    with store.reading() as session:
        assert len(ScoreRepository(session).history(dialogue.id)) == 2


def test_only_what_was_finished_counts_as_sold(practice: SqlPracticeStore, mei: Account) -> None:
    for number, (mode, ending) in enumerate(
        [
            (Mode.PRACTICE, EndReason.CUSTOMER),
            (Mode.PRACTICE, EndReason.ROUNDS),
            (Mode.PRACTICE, None),
            (Mode.BASELINE, EndReason.SALESPERSON),
        ]
    ):
        dialogue = practice.create(new_dialogue(account_id=mei.id, mode=mode, started_at=later(number)))
        if ending is not None:
            practice.end(dialogue.id, ending, later(number))
    assert practice.sold(mei.id) == {("fin-deposit-01", Language.EN): 2}
    assert practice.sold(mei.id + 1) == {}


def test_the_family_is_whole_from_wherever_it_is_asked_for(practice: SqlPracticeStore, mei: Account) -> None:
    root = practice.create(new_dialogue(account_id=mei.id))
    first = practice.create(new_dialogue(account_id=mei.id, parent_id=root.id, branch_index=0, started_at=later(1)))
    leaf = practice.create(new_dialogue(account_id=mei.id, parent_id=first.id, branch_index=0, started_at=later(3)))
    second = practice.create(new_dialogue(account_id=mei.id, parent_id=root.id, branch_index=0, started_at=later(2)))
    practice.create(new_dialogue(account_id=mei.id, started_at=later(4)))
    expected = [root.id, first.id, second.id, leaf.id]
    for member in expected:
        assert [summary.id for summary in practice.family(member)] == expected
    with pytest.raises(NotFound):
        practice.family("d-none")


def test_the_catalogue_is_read_once_until_the_library_changes(store: Store, mei: Account) -> None:
    scenarios = SqlScenarios(store)
    first = scenarios.catalogue()
    assert scenarios.catalogue() is first
    library = deposit_only()
    customers = {key: side.model_copy(update={"goal": "Another goal"}) for key, side in library.customers.items()}
    with store.session() as session:
        ScenarioRepository(session).upsert(replace(library, customers=customers))
    changed = scenarios.catalogue()
    assert {scenario.goal for scenario in changed} == {"Another goal"}
    english = {key: side for key, side in library.customers.items() if key[1] is Language.EN}
    with store.session() as session:
        ScenarioRepository(session).upsert(replace(library, customers=english))
    assert [scenario.language for scenario in scenarios.catalogue()] == [Language.EN]
    with store.session() as session:
        ScenarioRepository(session).upsert(library)
    assert len(scenarios.catalogue()) == len(first)


def test_many_readers_of_the_catalogue_get_the_same(store: Store, mei: Account) -> None:
    scenarios = SqlScenarios(store)
    with ThreadPoolExecutor(8) as pool:
        ids = {tuple(s.id for s in found) for found in pool.map(lambda _: scenarios.catalogue(), range(32))}
    assert len(ids) == 1


def test_what_was_withdrawn_is_not_on_offer(store: Store, mei: Account) -> None:
    library = deposit_only()
    english = {key: side for key, side in library.customers.items() if key[1] is Language.EN}
    with store.session() as session:
        ScenarioRepository(session).upsert(replace(library, customers=english))
    scenarios = SqlScenarios(store)
    assert scenarios.get("fin-deposit-01.hard.en").tier.tier is Tier.HARD
    with pytest.raises(NotFound):
        scenarios.get("fin-deposit-01.hard.zh")
    with store.reading() as session:  # dialogues sold with it still find it
        assert ScenarioRepository(session).get("fin-deposit-01.hard.zh").language is Language.ZH
