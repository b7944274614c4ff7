"""What a salesperson may do, and with whose dialogues."""

from __future__ import annotations

import asyncio
import random
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from core.accounts import Account, Role
from core.customers.embedded.customer import EmbeddedCustomer
from core.customers.embedded.scorecard import embedded_scorecard
from core.customers.embedded.understanding import understand
from core.dialogues import Dialogue, EndReason, Mode
from core.dialogues import Role as Speaker
from core.engine import DialogueEngine, Phase
from core.errors import DialogueOver, Forbidden, InvalidInput, ModelUnavailable, NotFound, Refused
from core.hints import Hint, HintKind
from core.participants import CustomerSource, SingleCustomer
from core.practice import TIER_DRAWN, Practice
from core.scenarios import Language, Opener, Tier
from core.scoring import Scorecard
from data.accounts import AccountRepository
from data.baselines import BaselineRepository
from data.practice_store import SqlPracticeStore, SqlScenarios
from data.scenarios import ScenarioRepository
from data.scores import ScoreRepository
from data.store import Store
from tests.support.customers import Fails, NeverEnds, Says, ScriptedCustomer, Step, alternates, until
from tests.support.store_factory import a_card, deposit_only, sqlite_url

BASE = "fin-deposit-01"
ASSIGNED = (f"{BASE}.hard.en", f"{BASE}.easy.zh")


class Shop:
    """A practice over a real store, with a scripted customer, two salespeople and an annotator."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.kept = SqlPracticeStore(store)
        self.scored: list[str] = []
        self.card: Scorecard | None = a_card()
        with store.reading() as session:
            accounts = AccountRepository(session)
            self.mei, self.zoe, self.anna = (accounts.by_name(name) for name in ("Mei", "Zoë", "Anna"))
        self.customer = ScriptedCustomer([Says("I see.")])
        self.open(SingleCustomer(self.customer))

    def open(self, customers: CustomerSource) -> None:
        """Start afresh on the same store, as after a restart."""
        self.engine = DialogueEngine(self.kept, customers)
        self.practice = Practice(
            self.engine,
            self.kept,
            SqlScenarios(self.store),
            customer="scripted",
            score=self._score,
            hint=lambda _: Hint(kind=HintKind.ASK_OPENLY),
            generator=random.Random(7),
        )

    def _score(self, dialogue: Dialogue) -> Scorecard | None:
        self.scored.append(dialogue.id)
        return self.card

    def plays(self, *steps: Step) -> None:
        self.customer = ScriptedCustomer(steps)
        self.open(SingleCustomer(self.customer))

    async def start(self, account: Account | None = None, tier: Tier | None = Tier.HARD) -> Dialogue:
        return await self.practice.start(account or self.mei, BASE, Language.EN, tier, seed=1)

    async def say(self, dialogue: Dialogue, *lines: str) -> Dialogue:
        """Say the lines, each after the answer to the one before."""
        for line in lines:
            message_id = f"message-{len(dialogue.turns):04}"
            await self.practice.say(self.mei, dialogue.id, line, message_id)
            dialogue = await self.engine.settled(dialogue.id)
        return dialogue

    async def sold(self, *lines: str) -> Dialogue:
        dialogue = await self.say(await self.start(), *lines)
        return await self.practice.finish(self.mei, dialogue.id)

    async def assignment(self, place: int = 0) -> Dialogue:
        assignments = await self.practice.assignments(self.mei)
        return await self.practice.start_assignment(self.mei, assignments[place].id)

    def cards(self, dialogue: Dialogue) -> int:
        with self.store.reading() as session:
            return len(ScoreRepository(session).history(dialogue.id))


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one product, people and a baseline, to be copied."""
    folder = tmp_path_factory.mktemp("furnished")
    store = Store(sqlite_url(folder))
    store.migrate()
    with store.session() as session:
        ScenarioRepository(session).upsert(deposit_only())
        accounts = AccountRepository(session)
        mei = accounts.add("Mei", {Role.SALESPERSON})
        accounts.add("Zoë", {Role.SALESPERSON})
        accounts.add("Anna", {Role.ANNOTATOR})
        BaselineRepository(session).create("Spring")
        BaselineRepository(session).assign("Spring", mei.id, ASSIGNED)
    store.close()
    return folder


@pytest.fixture
def store(furnished: Path, tmp_path: Path) -> Iterator[Store]:
    folder = shutil.copytree(furnished, tmp_path / "data")
    opened = Store(sqlite_url(folder))
    yield opened
    opened.close()


@pytest.fixture
async def shop(store: Store) -> AsyncIterator[Shop]:
    shop = Shop(store)
    yield shop
    await shop.engine.close()


# -- whose dialogue ---------------------------------------------------------------------------------------------------


async def test_somebody_elses_dialogue_is_answered_like_one_that_does_not_exist(shop: Shop) -> None:
    dialogue = await shop.say(await shop.start(), "Good morning.")
    other = shop.practice
    for dialogue_id in (dialogue.id, "d-none"):
        operations = [
            other.snapshot(shop.zoe, dialogue_id),
            other.say(shop.zoe, dialogue_id, "Hello!", "message-0001"),
            other.resume(shop.zoe, dialogue_id),
            other.finish(shop.zoe, dialogue_id),
            other.branch(shop.zoe, dialogue_id, 0),
            other.family(shop.zoe, dialogue_id),
            other.scorecard(shop.zoe, dialogue_id),
            other.hint(shop.zoe, dialogue_id),
            other.reveal(shop.zoe, dialogue_id),
            anext(other.follow(shop.zoe, dialogue_id)),
        ]
        for operation in operations:
            with pytest.raises(NotFound) as caught:
                await operation
            assert str(caught.value) == f"no dialogue {dialogue_id!r}"
    assert shop.kept.load(dialogue.id) == dialogue
    assert (await other.sessions(shop.zoe))[1] == 0


async def test_who_may_not_sell_learns_nothing_at_all(shop: Shop) -> None:
    dialogue = await shop.start()
    practice, anna = shop.practice, shop.anna
    gone = shop.mei.model_copy(update={"disabled": True})
    for account in (anna, gone):
        for operation in (
            practice.catalogue(account),
            practice.brief(account, BASE, Language.EN),
            practice.brief_assignment(account, 1),
            practice.start(account, BASE, Language.EN, Tier.EASY),
            practice.assignments(account),
            practice.start_assignment(account, 1),
            practice.sessions(account),
            practice.snapshot(account, dialogue.id),
            practice.snapshot(account, "d-none"),
            practice.say(account, dialogue.id, "Hello!", "message-0001"),
            anext(practice.follow(account, dialogue.id)),
        ):
            with pytest.raises(Forbidden):
                await operation
    assert shop.kept.load(dialogue.id).turns == ()


async def test_an_admin_sells_for_themselves_and_not_in_other_names(shop: Shop) -> None:
    dialogue = await shop.start()
    admin = shop.anna.model_copy(update={"roles": frozenset({Role.ADMIN})})
    with pytest.raises(NotFound):
        await shop.practice.snapshot(admin, dialogue.id)
    assert (await shop.start(admin)).account_id == admin.id


# -- starting ---------------------------------------------------------------------------------------------------------


async def test_a_dialogue_starts_with_all_that_it_needs(shop: Shop) -> None:
    dialogue = await shop.start()
    assert dialogue == shop.kept.load(dialogue.id)
    assert dialogue.scenario_id == f"{BASE}.hard.en"
    assert (dialogue.mode, dialogue.tier, dialogue.language) == (Mode.PRACTICE, Tier.HARD, Language.EN)
    assert (dialogue.account_id, dialogue.salesperson.name, dialogue.salesperson.kind) == (shop.mei.id, "Mei", "human")
    assert (dialogue.customer.name, dialogue.seed, dialogue.max_rounds) == ("scripted", 1, 20)
    assert TIER_DRAWN not in dialogue.meta
    assert (await shop.practice.snapshot(shop.mei, dialogue.id)).phase is Phase.SALESPERSON


async def test_a_tier_that_is_left_to_chance_is_drawn_and_marked(shop: Shop) -> None:
    dialogues = [await shop.start(tier=None) for _ in range(12)]
    assert all(dialogue.meta[TIER_DRAWN] is True for dialogue in dialogues)
    assert len({dialogue.tier for dialogue in dialogues}) > 2
    assert all(dialogue.scenario is not None and dialogue.scenario.tier.tier is dialogue.tier for dialogue in dialogues)


async def test_seeds_differ_unless_given(shop: Shop) -> None:
    seeds = {(await shop.practice.start(shop.mei, BASE, Language.EN, Tier.EASY)).seed for _ in range(4)}
    assert len(seeds) == 4


async def test_what_is_not_in_the_library_is_not_found(shop: Shop) -> None:
    with pytest.raises(NotFound):
        await shop.practice.start(shop.mei, "fin-unknown-99", Language.EN, Tier.EASY)
    with pytest.raises(NotFound):
        await shop.practice.brief(shop.mei, "fin-unknown-99", Language.EN)


async def test_the_catalogue_names_each_base_and_language_once_and_counts_sales(shop: Shop) -> None:
    await shop.sold("Good morning.")
    await shop.start()
    scenarios, sold = await shop.practice.catalogue(shop.mei)
    assert sorted((scenario.base, scenario.language) for scenario in scenarios) == [(BASE, Language.EN), (BASE, Language.ZH)]
    assert sold == {(BASE, Language.EN): 1}
    assert (await shop.practice.catalogue(shop.zoe))[1] == {}


# -- selling ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("message_id", ["", "short", "x" * 65])
async def test_a_message_id_must_be_one(shop: Shop, message_id: str) -> None:
    dialogue = await shop.start()
    with pytest.raises(InvalidInput, match="8 to 64"):
        await shop.practice.say(shop.mei, dialogue.id, "Hello.", message_id)
    assert shop.kept.load(dialogue.id).turns == ()


async def test_two_tabs_that_send_the_same_message_send_one(shop: Shop) -> None:
    shop.plays(NeverEnds())
    dialogue = await shop.start()
    await asyncio.gather(*[shop.practice.say(shop.mei, dialogue.id, "Hello.", "message-0001") for _ in range(6)])
    assert [turn.text for turn in shop.kept.load(dialogue.id).turns] == ["Hello."]


async def test_a_failed_reply_is_resumed_from_the_page(shop: Shop) -> None:
    shop.plays(Fails(ModelUnavailable("scripted", "away")), Says("I see."))
    dialogue = await shop.say(await shop.start(), "Good morning.")
    assert (await shop.practice.snapshot(shop.mei, dialogue.id)).phase is Phase.FAILED
    await shop.practice.resume(shop.mei, dialogue.id)
    assert [turn.text for turn in (await shop.engine.settled(dialogue.id)).turns] == ["Good morning.", "I see."]


async def test_finishing_twice_is_harmless_and_ends_the_talking(shop: Shop) -> None:
    dialogue = await shop.sold("Good morning.")
    assert dialogue.ended_by is EndReason.SALESPERSON
    assert await shop.practice.finish(shop.mei, dialogue.id) == dialogue
    with pytest.raises(DialogueOver):
        await shop.practice.say(shop.mei, dialogue.id, "One more thing.", "message-0009")


async def test_an_opening_that_was_cut_off_is_asked_for_again_by_whoever_looks(shop: Shop) -> None:
    shop.plays(NeverEnds("Do you"))
    dialogue = shop.kept.create((await shop.start()).model_copy(update={"id": "d-opens", "opens": Opener.CUSTOMER}))
    await shop.engine.begin(dialogue.id)
    await until(lambda: shop.customer.running)
    await shop.engine.close()
    shop.plays(Says("Do you sell deposits?"))
    last = [snapshot async for snapshot in shop.practice.follow(shop.mei, dialogue.id)][-1]
    assert last.phase is Phase.SALESPERSON
    assert [turn.text for turn in last.dialogue.turns] == ["Do you sell deposits?"]


async def test_a_failed_opening_is_not_asked_for_by_looking(shop: Shop) -> None:
    shop.plays(Fails(ModelUnavailable("scripted", "away")), Says("Hello?"))
    dialogue = shop.kept.create((await shop.start()).model_copy(update={"id": "d-opens", "opens": Opener.CUSTOMER}))
    await shop.engine.begin(dialogue.id)
    await shop.engine.settled(dialogue.id)
    assert [snapshot.phase async for snapshot in shop.practice.follow(shop.mei, dialogue.id)] == [Phase.FAILED]
    assert len(shop.customer.calls) == 1


# -- branches ---------------------------------------------------------------------------------------------------------


async def test_a_branch_goes_on_from_before_the_turn_and_both_are_kept(shop: Shop) -> None:
    original = await shop.sold("One.", "Two.", "Three.")
    branch = await shop.practice.branch(shop.mei, original.id, 2)
    assert branch.id != original.id
    assert (branch.parent_id, branch.branch_index, branch.ended_by) == (original.id, 2, None)
    assert branch.meta["draft"] == "Two."
    assert [turn.text for turn in branch.turns] == ["One.", "I see."]
    # The very ids that the original used can be used again.
    branch = await shop.say(branch, "Another two.", "Another three.")
    assert [turn.text for turn in branch.turns] == ["One.", "I see.", "Another two.", "I see.", "Another three.", "I see."]
    assert alternates(branch)
    assert shop.kept.load(original.id) == original
    assert shop.kept.load(branch.id) == branch
    family = await shop.practice.family(shop.mei, branch.id)
    assert [(item.id, item.parent_id) for item in family] == [(original.id, None), (branch.id, original.id)]
    assert await shop.practice.family(shop.mei, original.id) == family
    assert (await shop.practice.sessions(shop.mei))[1] == 2


async def test_one_can_branch_from_the_beginning_from_an_open_dialogue_and_from_a_branch(shop: Shop) -> None:
    root = await shop.say(await shop.start(), "One.", "Two.")
    first = await shop.practice.branch(shop.mei, root.id, 0)
    assert first.turns == ()
    assert (await shop.practice.snapshot(shop.mei, first.id)).phase is Phase.SALESPERSON
    first = await shop.say(first, "Other one.", "Other two.")
    second = await shop.practice.branch(shop.mei, first.id, 2)
    assert [turn.text for turn in second.turns] == ["Other one.", "I see."]
    assert not shop.kept.load(root.id).is_over
    assert [item.id for item in await shop.practice.family(shop.mei, root.id)] == [root.id, first.id, second.id]


async def test_a_branch_keeps_what_the_customer_knew_at_that_turn(shop: Shop) -> None:
    shop.plays(Says("Hm.", state={"trust": 0.1}), Says("Oh.", state={"trust": 0.9}))
    original = await shop.sold("One.", "Two.")
    branch = await shop.practice.branch(shop.mei, original.id, 2)
    assert branch.customer_state == {"trust": 0.1}
    assert (branch.seed, branch.tier, branch.scenario) == (original.seed, original.tier, original.scenario)


@pytest.mark.parametrize("turn_index", [-2, -1, 1, 4, 99])
async def test_only_a_salespersons_turn_can_be_tried_another_way(shop: Shop, turn_index: int) -> None:
    dialogue = await shop.sold("One.", "Two.")
    with pytest.raises(InvalidInput, match="no turn of the salesperson"):
        await shop.practice.branch(shop.mei, dialogue.id, turn_index)
    assert (await shop.practice.sessions(shop.mei))[1] == 1


async def test_a_branch_from_an_earlier_session_goes_on_in_that_session(shop: Shop) -> None:
    dialogue = await shop.sold("One.")
    await shop.engine.begin_session(dialogue.id)
    dialogue = await shop.say(dialogue.model_copy(update={"turns": shop.kept.load(dialogue.id).turns}), "Later.", "Much later.")
    assert [turn.session for turn in dialogue.turns] == [1, 1, 2, 2, 2, 2]
    first = await shop.practice.branch(shop.mei, dialogue.id, 0)
    later = await shop.practice.branch(shop.mei, dialogue.id, 4)
    assert (first.session, later.session) == (1, 2)
    assert [turn.session for turn in (await shop.say(later, "Other.")).turns] == [1, 1, 2, 2, 2, 2]


# -- the baseline -----------------------------------------------------------------------------------------------------


async def test_an_assignment_is_one_dialogue_however_often_it_is_opened(shop: Shop) -> None:
    assignment = (await shop.practice.assignments(shop.mei))[0]
    opened = await asyncio.gather(*[shop.practice.start_assignment(shop.mei, assignment.id) for _ in range(8)])
    assert len({dialogue.id for dialogue in opened}) == 1
    assert (opened[0].mode, opened[0].account_id) == (Mode.BASELINE, shop.mei.id)
    dialogue = await shop.say(opened[0], "Good morning.")
    assert await shop.practice.start_assignment(shop.mei, assignment.id) == dialogue
    await shop.practice.finish(shop.mei, dialogue.id)
    again = (await shop.practice.assignments(shop.mei))[0]
    assert (again.dialogue_id, again.done) == (dialogue.id, True)
    assert (await shop.practice.start_assignment(shop.mei, assignment.id)).is_over
    assert (await shop.practice.sessions(shop.mei))[1] == 1


async def test_an_assignment_tells_its_product_and_not_its_tier(shop: Shop) -> None:
    assignment = (await shop.practice.assignments(shop.mei))[0]
    scenario = await shop.practice.brief_assignment(shop.mei, assignment.id)
    assert scenario.id == ASSIGNED[assignment.position - 1]
    shown = assignment.model_dump_json()
    assert not any(tier.value in shown for tier in Tier)
    assert scenario.id not in shown


async def test_somebody_elses_assignment_is_not_found(shop: Shop) -> None:
    assignment = (await shop.practice.assignments(shop.mei))[0]
    for assignment_id in (assignment.id, 9999):
        with pytest.raises(NotFound):
            await shop.practice.start_assignment(shop.zoe, assignment_id)
        with pytest.raises(NotFound):
            await shop.practice.brief_assignment(shop.zoe, assignment_id)
    assert await shop.practice.assignments(shop.zoe) == []
    assert (await shop.practice.assignments(shop.mei))[0].dialogue_id is None


async def test_a_baseline_dialogue_is_sold_once_and_shows_nothing(shop: Shop) -> None:
    dialogue = await shop.say(await shop.assignment(), "Good morning.")
    for over in (False, True):
        if over:
            await shop.practice.finish(shop.mei, dialogue.id)
        for operation in (
            shop.practice.branch(shop.mei, dialogue.id, 0),
            shop.practice.scorecard(shop.mei, dialogue.id),
            shop.practice.reveal(shop.mei, dialogue.id),
            shop.practice.hint(shop.mei, dialogue.id),
        ):
            with pytest.raises(Refused):
                await operation
    assert shop.scored == []
    assert shop.cards(dialogue) == 0
    summary = (await shop.practice.sessions(shop.mei))[0][0]
    assert (summary.tier, summary.scenario_id, summary.final) == (None, None, None)


# -- afterwards -------------------------------------------------------------------------------------------------------


async def test_the_scorecard_is_made_once_however_often_it_is_asked_for(shop: Shop) -> None:
    dialogue = await shop.sold("Good morning.")
    cards = await asyncio.gather(*[shop.practice.scorecard(shop.mei, dialogue.id) for _ in range(8)])
    assert all(card == shop.card for card in cards)
    assert shop.scored == [dialogue.id]
    assert shop.cards(dialogue) == 1
    shop.open(SingleCustomer(shop.customer))
    assert await shop.practice.scorecard(shop.mei, dialogue.id) == shop.card
    assert shop.cards(dialogue) == 1


async def test_where_scorers_have_yet_to_run_nothing_is_invented(shop: Shop) -> None:
    shop.card = None
    dialogue = await shop.sold("Good morning.")
    assert await shop.practice.scorecard(shop.mei, dialogue.id) is None
    assert shop.cards(dialogue) == 0
    shop.card = a_card(scorer="judge")
    assert await shop.practice.scorecard(shop.mei, dialogue.id) == shop.card


async def test_before_the_end_there_is_neither_scorecard_nor_hidden_sheet(shop: Shop) -> None:
    dialogue = await shop.say(await shop.start(), "Good morning.")
    with pytest.raises(Refused, match="still going on"):
        await shop.practice.scorecard(shop.mei, dialogue.id)
    with pytest.raises(Refused, match="still going on"):
        await shop.practice.reveal(shop.mei, dialogue.id)
    assert shop.scored == []


async def test_after_the_end_the_hidden_sheet_is_shown(shop: Shop) -> None:
    dialogue = await shop.sold("Good morning.")
    assert dialogue.scenario is not None
    assert await shop.practice.reveal(shop.mei, dialogue.id) == dialogue.scenario.customer


async def test_hints_are_for_dialogues_that_go_on(shop: Shop) -> None:
    dialogue = await shop.start()
    assert await shop.practice.hint(shop.mei, dialogue.id) == Hint(kind=HintKind.ASK_OPENLY)
    await shop.practice.finish(shop.mei, dialogue.id)
    with pytest.raises(Refused):
        await shop.practice.hint(shop.mei, dialogue.id)


async def test_sessions_are_ones_own_newest_first_by_the_page(shop: Shop) -> None:
    mine = [(await shop.start()).id for _ in range(5)]
    await shop.start(shop.zoe)
    page, total = await shop.practice.sessions(shop.mei, offset=1, limit=2)
    assert total == 5
    assert [item.id for item in page] == mine[::-1][1:3]


async def test_a_sale_to_the_embedded_customer_ends_with_a_card_from_its_own_state(shop: Shop) -> None:
    shop.open(SingleCustomer(EmbeddedCustomer(understand=understand, typing_speed=0.0)))
    dialogue = await shop.say(await shop.start(tier=Tier.EASY), "Good morning!", "What matters most to you?")
    dialogue = await shop.practice.finish(shop.mei, dialogue.id)
    shop.card = embedded_scorecard(dialogue)
    assert await shop.practice.scorecard(shop.mei, dialogue.id) == shop.card
    assert shop.card.final() is not None
    assert [turn.role for turn in dialogue.turns] == [Speaker.SALESPERSON, Speaker.CUSTOMER] * 2
