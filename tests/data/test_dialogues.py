"""Dialogues in the store: nothing is lost, doubled or changed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from alembic.migration import MigrationContext
from alembic.operations import Operations
from hypothesis import HealthCheck, given, settings
from sqlalchemy import text

from core.accounts import Role
from core.dialogues import Dialogue, EndReason, Failure, Mode, new_dialogue_id
from core.engine import MemoryDialogueStore
from core.errors import DialogueOver, InvalidInput, NotFound, Refused, StoreError, TurnConflict
from core.scenarios import Language, Setting, Tier
from data.accounts import AccountRepository
from data.dialogues import DialogueFilter, DialogueRepository, SqlDialogueStore
from data.migrations.append_only import guard, unguard
from data.scenarios import ScenarioRepository
from data.scores import ScoreRepository
from data.store import Store
from tests.support.store_factory import NOON, a_card, a_scenario, buyer, deposit_only, dialogues, later, new_dialogue, seller

ANY_EXAMPLE = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def kept(store: Store) -> SqlDialogueStore:
    return SqlDialogueStore(store)


def add(store: Store, dialogue: Dialogue | None = None) -> Dialogue:
    with store.session() as session:
        return DialogueRepository(session).add(dialogue or new_dialogue())


# -- round trips ------------------------------------------------------------------------------------------------------


@ANY_EXAMPLE
@given(dialogue=dialogues())
def test_whatever_is_added_comes_back_as_it_was(store: Store, dialogue: Dialogue) -> None:
    dialogue = dialogue.model_copy(update={"id": new_dialogue_id()})
    added = add(store, dialogue)
    assert added == dialogue
    with store.reading() as session:
        assert DialogueRepository(session).get(dialogue.id) == dialogue


def test_it_behaves_as_the_store_in_memory(store: Store, kept: SqlDialogueStore) -> None:
    dialogue = new_dialogue()
    memory = MemoryDialogueStore(dialogue)
    add(store, dialogue)
    failure = Failure(kind="ModelUnavailable", model="m", detail="no connection", retryable=True, created_at=NOON)
    for one in (memory, kept):
        one.append(dialogue.id, seller(client_message_id="message-1"), 0)
        one.record_failure(dialogue.id, failure)
    assert kept.load(dialogue.id) == memory.load(dialogue.id)
    assert kept.load(dialogue.id).failure == failure
    for one in (memory, kept):
        one.append(dialogue.id, buyer(state={"trust": 0.25}), 1, ends=EndReason.CUSTOMER)
    assert kept.load(dialogue.id) == memory.load(dialogue.id)
    assert kept.load(dialogue.id).failure is None
    for one in (memory, kept):
        one.begin_session(dialogue.id, later(60))
        one.append(dialogue.id, seller("Good to see you again."), 2)
        one.end(dialogue.id, EndReason.FAILED, later(61))
        one.end(dialogue.id, EndReason.CUSTOMER, later(62))
    assert kept.load(dialogue.id) == memory.load(dialogue.id)
    assert kept.load(dialogue.id).ended_by is EndReason.FAILED
    for one in (memory, kept):
        one.reopen(dialogue.id)
        one.reopen(dialogue.id)
    assert kept.load(dialogue.id) == memory.load(dialogue.id)
    assert kept.load(dialogue.id).session_turns[-1].session == 2


def test_sessions_are_kept_with_their_times(store: Store, kept: SqlDialogueStore) -> None:
    dialogue = add(store)
    kept.end(dialogue.id, EndReason.CUSTOMER, later(10))
    kept.begin_session(dialogue.id, later(60))
    with pytest.raises(Refused, match="has not ended"):
        kept.begin_session(dialogue.id, later(61))
    kept.end(dialogue.id, EndReason.ROUNDS, later(70))
    with store.reading() as session:
        rows = session.connection().execute(text("SELECT number, ended_by FROM dialogue_session ORDER BY number")).all()
    assert rows == [(1, "customer"), (2, "rounds")]


def test_what_no_database_keeps_is_replaced(store: Store, kept: SqlDialogueStore) -> None:
    dialogue = add(store)
    stored = kept.append(dialogue.id, seller("a\x00b", settings={"stop": "\x00\ud83d"}), 0)
    assert stored.turns[0].text == "a\ufffdb"
    assert stored.turns[0].settings == {"stop": "\x00\ud83d"}
    assert kept.load(dialogue.id) == stored


# -- appending --------------------------------------------------------------------------------------------------------


def test_of_many_threads_appending_one_turn_exactly_one_wins(store: Store, kept: SqlDialogueStore) -> None:
    dialogue = add(store)

    def append(number: int) -> bool:
        try:
            kept.append(dialogue.id, seller(f"number {number}"), 0)
        except TurnConflict:
            return False
        return True

    with ThreadPoolExecutor(50) as pool:
        won = [number for number, success in enumerate(pool.map(append, range(50))) if success]
    assert len(won) == 1
    assert [turn.text for turn in kept.load(dialogue.id).turns] == [f"number {won[0]}"]


def test_a_message_sent_twice_is_stored_once(store: Store, kept: SqlDialogueStore) -> None:
    dialogue, other = add(store), add(store)
    kept.append(dialogue.id, seller(client_message_id="message-1"), 0)
    with pytest.raises(TurnConflict):
        kept.append(dialogue.id, seller(client_message_id="message-1"), 1)
    kept.append(other.id, seller(client_message_id="message-1"), 0)
    assert len(kept.load(dialogue.id).turns) == 1


@pytest.mark.parametrize("index", [0, 2, 7])
def test_a_turn_must_be_the_next_one(store: Store, kept: SqlDialogueStore, index: int) -> None:
    dialogue = add(store)
    kept.append(dialogue.id, seller(), 0)
    with pytest.raises(TurnConflict):
        kept.append(dialogue.id, buyer(), index)
    assert len(kept.load(dialogue.id).turns) == 1


def test_the_last_turn_and_the_end_are_one_change(store: Store, kept: SqlDialogueStore) -> None:
    dialogue = add(store)
    ended = kept.append(dialogue.id, seller(created_at=later(1)), 0, ends=EndReason.SALESPERSON)
    assert (ended.ended_by, ended.ended_at) == (EndReason.SALESPERSON, later(1))
    with pytest.raises(DialogueOver):
        kept.append(dialogue.id, buyer(), 1)


def test_what_is_not_there(kept: SqlDialogueStore) -> None:
    for call in (
        lambda: kept.load("d-none"),
        lambda: kept.append("d-none", seller(), 0),
        lambda: kept.end("d-none", EndReason.CUSTOMER, NOON),
        lambda: kept.reopen("d-none"),
        lambda: kept.begin_session("d-none", NOON),
    ):
        with pytest.raises(NotFound, match="no dialogue 'd-none'"):
            call()


def test_a_dialogue_cannot_be_added_twice_or_with_gaps(store: Store) -> None:
    dialogue = add(store)
    with pytest.raises(InvalidInput, match="there is one with this id already"):
        add(store, dialogue)
    turn = new_dialogue().model_copy()
    gap = {"turns": [{"index": 1, "session": 1, "role": "customer", "text": "Hello"}]}
    with pytest.raises(InvalidInput, match="not numbered 0, 1, 2"):
        add(store, turn.model_validate({**turn.model_dump(), **gap, "id": "d-gap"}))


# -- append-only ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", ["UPDATE turn SET text = 'I buy.'", "UPDATE score SET intent = 'A'"])
def test_turns_and_scores_are_never_changed(store: Store, kept: SqlDialogueStore, change: str) -> None:
    dialogue = add(store)
    before = kept.append(dialogue.id, buyer("No, thank you."), 0)
    with store.session() as session:
        ScoreRepository(session).add(dialogue.id, a_card())
    with pytest.raises(StoreError, match="is append-only"), store.session() as session:
        session.connection().execute(text(change))
    assert kept.load(dialogue.id) == before


def test_a_migration_can_lift_the_guard_and_must_set_it_again(store: Store, kept: SqlDialogueStore) -> None:
    kept.append(add(store).id, buyer("No, thank you."), 0)
    with store.session() as session:
        operations = Operations(MigrationContext.configure(session.connection()))
        unguard(operations, "turn")
        session.connection().execute(text("UPDATE turn SET model = 'renamed'"))
        guard(operations, "turn")
    with pytest.raises(StoreError, match="turn is append-only"), store.session() as session:
        session.connection().execute(text("UPDATE turn SET model = 'again'"))


def test_erasing_takes_everything_and_leaves_branches(store: Store, kept: SqlDialogueStore) -> None:
    parent = add(store)
    kept.append(parent.id, seller(), 0)
    with store.session() as session:
        ScoreRepository(session).add(parent.id, a_card())
    branch = add(store, new_dialogue(parent_id=parent.id, branch_index=0, turns=[]))
    with store.session() as session:
        DialogueRepository(session).delete(parent.id)
    with store.reading() as session:
        for table in ("turn", "score", "dialogue_session"):
            left = session.connection().execute(text(f"SELECT count(*) FROM {table} WHERE dialogue_id = '{parent.id}'")).scalar()
            assert left == 0, table
        assert DialogueRepository(session).get(branch.id).parent_id is None
    with pytest.raises(NotFound), store.session() as session:
        DialogueRepository(session).delete(parent.id)


# -- lists ------------------------------------------------------------------------------------------------------------


def test_lists_are_newest_first_and_paged(store: Store, kept: SqlDialogueStore) -> None:
    ids = [add(store, new_dialogue(started_at=later(minute))).id for minute in range(7)]
    kept.append(ids[-1], seller(), 0)
    kept.append(ids[-1], buyer(), 1)
    kept.append(ids[-1], seller(), 2, ends=EndReason.ROUNDS)
    with store.session() as session:
        ScoreRepository(session).add(ids[-1], a_card(intent="C"))
        ScoreRepository(session).add(ids[-1], a_card())
    with store.reading() as session:
        repository = DialogueRepository(session)
        pages = [repository.page(DialogueFilter(), limit=3, offset=offset) for offset in (0, 3, 6, 9)]
        assert [[item.id for item in page.items] for page in pages] == [ids[:3:-1], ids[3:0:-1], ids[:1], []]
        assert {page.total for page in pages} == {7}
        newest, oldest = pages[0].items[0], pages[2].items[0]
    assert (newest.rounds, newest.ended_by, newest.intent, newest.final) == (2, EndReason.ROUNDS, "B", 7.0)
    assert (oldest.rounds, oldest.ended_by, oldest.intent, oldest.final) == (0, None, None, None)
    assert newest.title == a_scenario().title


def test_filters(store: Store) -> None:
    plain = add(store)
    model = {"kind": "model", "name": "qwen"}
    other = add(store, new_dialogue(mode="rollout", tier="easy", setting="long_horizon", salesperson=model, started_at=later(5)))
    cases = [
        (DialogueFilter(), [plain, other]),
        (DialogueFilter(mode=Mode.ROLLOUT), [other]),
        (DialogueFilter(tier=Tier.HARD), [plain]),
        (DialogueFilter(setting=Setting.LONG_HORIZON, language=Language.EN), [other]),
        (DialogueFilter(language=Language.ZH), []),
        (DialogueFilter(salesperson_name="qwen"), [other]),
        (DialogueFilter(scenario_id=plain.scenario_id), [plain, other]),
        (DialogueFilter(account_id=5), []),
        (DialogueFilter(ended=True), []),
        (DialogueFilter(ended=False, started_after=NOON), [other]),
    ]
    with store.reading() as session:
        for wanted, expected in cases:
            assert list(DialogueRepository(session).iterate(wanted, batch=1)) == expected, wanted


def test_families_hold_every_branch(store: Store) -> None:
    root = add(store)
    left = add(store, new_dialogue(parent_id=root.id, branch_index=0, started_at=later(1)))
    right = add(store, new_dialogue(parent_id=root.id, branch_index=2, started_at=later(2)))
    leaf = add(store, new_dialogue(parent_id=left.id, branch_index=4, started_at=later(3)))
    add(store, new_dialogue(started_at=later(1)))
    with store.reading() as session:
        for member in (root, left, right, leaf):
            family = DialogueRepository(session).family(member.id)
            assert [item.id for item in family] == [root.id, left.id, right.id, leaf.id]
        assert [(item.parent_id, item.branch_index) for item in family][-1] == (left.id, 4)
        with pytest.raises(NotFound):
            DialogueRepository(session).family("d-none")


def test_an_old_dialogue_keeps_the_scenario_it_was_sold_with(store: Store) -> None:
    library = deposit_only()
    with store.session() as session:
        ScenarioRepository(session).upsert(library)
    dialogue = add(store)
    key = ("fin-deposit-01", Language.EN)
    renamed = library.products[key].model_copy(update={"name": "Another name"})
    with store.session() as session:
        ScenarioRepository(session).upsert(type(library)(**{**vars(library), "products": {**library.products, key: renamed}}))
        assert ScenarioRepository(session).get(str(dialogue.scenario_id)).product.name == "Another name"
    with store.reading() as session:
        assert DialogueRepository(session).get(dialogue.id) == dialogue


def test_what_was_sold_is_counted_by_base(store: Store) -> None:
    with store.session() as session:
        ScenarioRepository(session).upsert(deposit_only())
        account = AccountRepository(session).add("Mei", {Role.SALESPERSON})
    over = {"account_id": account.id, "ended_by": "customer", "ended_at": NOON + timedelta(minutes=9)}
    add(store, new_dialogue(**over))
    easy = a_scenario("fin-deposit-01.easy.en")
    add(store, new_dialogue(**over, scenario=easy, scenario_id=easy.id))
    add(store, new_dialogue(account_id=account.id))
    with store.reading() as session:
        assert DialogueRepository(session).sold(account.id) == {("fin-deposit-01", Language.EN): 2}
        assert DialogueRepository(session).list_for_account(account.id).total == 3
