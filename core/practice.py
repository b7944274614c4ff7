"""What a salesperson does: start a sale, speak, go back and try another way, finish, read the scorecard, look back.

Every method takes the account that asks and checks that the dialogue is its own: a page hands over what the browser sent, no
more. A dialogue of somebody else's is answered like one that does not exist.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Protocol

from core.accounts import Account, Audience
from core.dialogues import MAX_ROUNDS, Dialogue, DialogueSummary, EndReason, Mode, Participant, Role, new_dialogue_id, utc_now
from core.engine import DialogueEngine, DialogueStore, Snapshot
from core.errors import Forbidden, InvalidInput, NotFound, Problem, Refused
from core.hints import Hint
from core.scenarios import CustomerSide, Frozen, Language, Scenario, Tier, scenario_id
from core.scoring import Scorecard
from core.threads import in_thread

__all__ = ["TIER_DRAWN", "Assignment", "Practice", "PracticeStore", "SalesScenarios"]

TIER_DRAWN = "tier_drawn"
"""Key in a dialogue's ``meta``: the salesperson left the tier to chance and learns it at the end."""


class Assignment(Frozen):
    """A scenario that an account is to sell for a human baseline. It tells neither scenario nor tier before it is opened."""

    id: int
    baseline: str
    position: int
    total: int
    language: Language
    title: str
    dialogue_id: str | None = None
    done: bool = False


class PracticeStore(DialogueStore, Protocol):
    """What this module needs of a store beyond the engine's needs. Each method is one transaction."""

    def create(self, dialogue: Dialogue) -> Dialogue: ...

    def summaries(self, account_id: int, *, offset: int, limit: int) -> tuple[Sequence[DialogueSummary], int]:
        """The account's dialogues, newest first, and how many there are in all."""
        ...

    def sold(self, account_id: int) -> Mapping[tuple[str, Language], int]:
        """How many practice dialogues the account has finished, for each base and language."""
        ...

    def family(self, dialogue_id: str) -> Sequence[DialogueSummary]:
        """The dialogue, its ancestors and everything that branched from any of them, oldest first."""
        ...

    def scorecard(self, dialogue_id: str) -> Scorecard | None:
        """The latest one, whoever made it."""
        ...

    def add_scorecard(self, dialogue_id: str, scorecard: Scorecard) -> None: ...

    def assignments(self, account_id: int) -> Sequence[Assignment]:
        """The account's open human-baseline assignments in the account's own order, done ones included."""
        ...

    def assigned_scenario(self, account_id: int, assignment_id: int) -> Scenario:
        """Raises NotFound, also for an assignment of another account."""
        ...

    def start_assignment(self, account_id: int, assignment_id: int, make: Callable[[Scenario], Dialogue]) -> Dialogue:
        """The assignment's dialogue; made and attached in one transaction the first time. Raises NotFound."""
        ...


class SalesScenarios(Protocol):
    """Where scenarios come from."""

    def get(self, scenario_id: str) -> Scenario:
        """Raises NotFound."""
        ...

    def catalogue(self) -> Sequence[Scenario]:
        """One scenario, of whichever tier, for each base and language on offer."""
        ...


class Practice:
    """The salesperson's use of the engine.

    ``score`` returns an embedded scorecard, or None where scorers have yet to run; ``hint`` a hint, or None where there is none.
    """

    def __init__(
        self,
        engine: DialogueEngine,
        store: PracticeStore,
        scenarios: SalesScenarios,
        *,
        customer: str,
        score: Callable[[Dialogue], Scorecard | None],
        hint: Callable[[Dialogue], Hint | None] = lambda _: None,
        max_rounds: int = MAX_ROUNDS,
        generator: random.Random | None = None,
    ) -> None:
        self._engine = engine
        self._store = store
        self._scenarios = scenarios
        self._customer = customer
        self._score = score
        self._hint = hint
        self._max_rounds = max_rounds
        self._random = generator or random.SystemRandom()
        self._scoring = asyncio.Lock()

    @property
    def customer(self) -> str:
        """Name of the customer of new dialogues."""
        return self._customer

    @property
    def max_rounds(self) -> int:
        return self._max_rounds

    async def catalogue(self, account: Account) -> tuple[Sequence[Scenario], Mapping[tuple[str, Language], int]]:
        """What there is to sell, one scenario for each base and language, and how often this account has sold it."""
        self._require_salesperson(account)
        return await in_thread(self._scenarios.catalogue), await in_thread(lambda: self._store.sold(account.id))

    async def brief(self, account: Account, base: str, language: Language) -> Scenario:
        """A scenario of that base, for the salesperson's script before the sale: it is the same at every tier.

        Raises NotFound, Forbidden.
        """
        self._require_salesperson(account)
        return await in_thread(lambda: self._scenarios.get(scenario_id(base, Tier.MEDIUM, language)))

    async def brief_assignment(self, account: Account, assignment_id: int) -> Scenario:
        """The scenario of an assignment, for the salesperson's script. Raises NotFound, Forbidden."""
        self._require_salesperson(account)
        return await in_thread(lambda: self._store.assigned_scenario(account.id, assignment_id))

    async def start(
        self, account: Account, base: str, language: Language, tier: Tier | None, *, seed: int | None = None
    ) -> Dialogue:
        """Start a practice dialogue. Without a tier one is drawn, and told at the end. Raises NotFound, Forbidden."""
        self._require_salesperson(account)
        drawn = self._random.choice(list(Tier)) if tier is None else tier
        scenario = await in_thread(lambda: self._scenarios.get(scenario_id(base, drawn, language)))
        dialogue = self._new(account, scenario, Mode.PRACTICE, seed)
        if tier is None:
            dialogue = dialogue.model_copy(update={"meta": {TIER_DRAWN: True}})
        await in_thread(lambda: self._store.create(dialogue))
        return await self._engine.begin(dialogue.id)

    async def assignments(self, account: Account) -> Sequence[Assignment]:
        """Human-baseline assignments of this account."""
        self._require_salesperson(account)
        return await in_thread(lambda: self._store.assignments(account.id))

    async def start_assignment(self, account: Account, assignment_id: int) -> Dialogue:
        """Open an assignment: the same dialogue however often it is opened."""
        self._require_salesperson(account)
        dialogue = await in_thread(
            lambda: self._store.start_assignment(
                account.id, assignment_id, lambda scenario: self._new(account, scenario, Mode.BASELINE, None)
            )
        )
        return await self._engine.begin(dialogue.id)

    async def snapshot(self, account: Account, dialogue_id: str) -> Snapshot:
        """The dialogue as it stands. Raises NotFound, Forbidden."""
        self._require_salesperson(account)
        snapshot = await self._engine.snapshot(dialogue_id)
        if snapshot.dialogue.account_id != account.id:
            raise NotFound("dialogue", dialogue_id)
        return snapshot

    async def follow(self, account: Account, dialogue_id: str, *, hertz: float = 8.0) -> AsyncGenerator[Snapshot, None]:
        """See :meth:`DialogueEngine.follow`. A customer whose opening was cut off is asked for it again."""
        snapshot = await self.snapshot(account, dialogue_id)
        if not snapshot.dialogue.session_turns and snapshot.failure is None:
            await self._engine.begin(dialogue_id)
        async with aclosing(self._engine.follow(dialogue_id, hertz=hertz)) as snapshots:
            async for snapshot in snapshots:
                yield snapshot

    async def say(self, account: Account, dialogue_id: str, text: str, client_message_id: str) -> Dialogue:
        """See :meth:`DialogueEngine.say`."""
        await self.snapshot(account, dialogue_id)
        if not 8 <= len(client_message_id) <= 64:
            raise InvalidInput(Problem("client message id", "it must have 8 to 64 characters"))
        return await self._engine.say(dialogue_id, text, client_message_id=client_message_id)

    async def resume(self, account: Account, dialogue_id: str) -> Dialogue:
        """See :meth:`DialogueEngine.resume`."""
        await self.snapshot(account, dialogue_id)
        return await self._engine.resume(dialogue_id)

    async def finish(self, account: Account, dialogue_id: str) -> Dialogue:
        """End the dialogue as the salesperson. Finishing twice is harmless."""
        await self.snapshot(account, dialogue_id)
        return await self._engine.finish(dialogue_id, reason=EndReason.SALESPERSON)

    async def branch(self, account: Account, dialogue_id: str, turn_index: int) -> Dialogue:
        """Go back to before a salesperson turn: a new dialogue with the turns up to there. The old one is kept as it is.

        Raises Refused for a baseline dialogue, InvalidInput when ``turn_index`` is no salesperson turn.
        """
        dialogue = (await self.snapshot(account, dialogue_id)).dialogue
        if dialogue.mode is not Mode.PRACTICE:
            raise Refused("a baseline dialogue is sold once; there is no going back in it")
        if not 0 <= turn_index < len(dialogue.turns) or dialogue.turns[turn_index].role is not Role.SALESPERSON:
            raise InvalidInput(Problem("turn", f"{turn_index} is no turn of the salesperson in this dialogue"))
        # Client message ids stay with the original: in the branch nothing was sent by a browser yet.
        kept = tuple(turn.model_copy(update={"client_message_id": None}) for turn in dialogue.turns[:turn_index])
        branch = dialogue.model_copy(
            update={
                "id": new_dialogue_id(),
                "turns": kept,
                "session": dialogue.turns[turn_index].session,
                "parent_id": dialogue.id,
                "branch_index": turn_index,
                "started_at": utc_now(),
                "ended_at": None,
                "ended_by": None,
                "failure": None,
                # What was said there the first time, to start from.
                "meta": {**dialogue.meta, "draft": dialogue.turns[turn_index].text},
            }
        )
        return await in_thread(lambda: self._store.create(branch))

    async def family(self, account: Account, dialogue_id: str) -> Sequence[DialogueSummary]:
        """The tree of branches that the dialogue belongs to, oldest first."""
        await self.snapshot(account, dialogue_id)
        return await in_thread(lambda: self._store.family(dialogue_id))

    async def sessions(self, account: Account, *, offset: int = 0, limit: int = 50) -> tuple[Sequence[DialogueSummary], int]:
        """The account's dialogues, newest first, and their number."""
        self._require_salesperson(account)
        return await in_thread(lambda: self._store.summaries(account.id, offset=offset, limit=limit))

    async def scorecard(self, account: Account, dialogue_id: str) -> Scorecard | None:
        """The scorecard of a finished practice dialogue; None: not scored yet.

        The embedded customer's own card is made from its state the first time and stored.
        Raises Refused while the dialogue goes on, and for a baseline dialogue.
        """
        dialogue = (await self.snapshot(account, dialogue_id)).dialogue
        self._require_finished_practice(dialogue)
        # One at a time: a page that is opened twice at once must not store two cards.
        async with self._scoring:
            card = await in_thread(lambda: self._store.scorecard(dialogue_id))
            if card is None:
                card = self._score(dialogue)
                if card is not None:
                    await in_thread(lambda: self._store.add_scorecard(dialogue_id, card))
            return card

    async def hint(self, account: Account, dialogue_id: str) -> Hint | None:
        """What is worth doing next in a practice dialogue, only when asked for; None where the customer's back end gives none.

        Raises Refused for a baseline dialogue and for one that is over.
        """
        dialogue = (await self.snapshot(account, dialogue_id)).dialogue
        if dialogue.is_over or dialogue.mode is not Mode.PRACTICE:
            raise Refused("hints are for practice dialogues that go on")
        return self._hint(dialogue)

    async def reveal(self, account: Account, dialogue_id: str) -> CustomerSide:
        """The customer's hidden sheet, after a practice dialogue. Raises Refused before its end, and for a baseline dialogue."""
        dialogue = (await self.snapshot(account, dialogue_id)).dialogue
        self._require_finished_practice(dialogue)
        if dialogue.scenario is None:
            raise NotFound("scenario of dialogue", dialogue_id)
        return dialogue.scenario.customer

    def _new(self, account: Account, scenario: Scenario, mode: Mode, seed: int | None) -> Dialogue:
        return Dialogue.of(
            scenario,
            mode=mode,
            salesperson=Participant(kind="human", name=account.name),
            customer=Participant(kind="model", name=self._customer),
            account_id=account.id,
            seed=self._random.randrange(2**31) if seed is None else seed,
            max_rounds=self._max_rounds,
        )

    @staticmethod
    def _require_salesperson(account: Account) -> None:
        if not account.may_open(Audience.PRACTICE):
            raise Forbidden(f"account {account.name!r} may not sell")

    @staticmethod
    def _require_finished_practice(dialogue: Dialogue) -> None:
        if not dialogue.is_over:
            raise Refused("the dialogue is still going on")
        if dialogue.mode is not Mode.PRACTICE:
            raise Refused("a baseline dialogue has no scorecard")
