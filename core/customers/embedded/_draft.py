"""The moves of one reply in the making: collected with a priority, then cut down to what a person would say."""

from __future__ import annotations

from random import Random

from core.customers.embedded.acts import CustomerAct, Move, SellerMove, Understood
from core.customers.embedded.hearing import Heard
from core.customers.embedded.moods import leave_act
from core.customers.embedded.state import ConcernState, ConcernStatus, Disclosure, State
from core.customers.embedded.tiers import TIERS
from core.scenarios import FactTopic, Scenario, Tier

__all__ = ["AT_GREETING", "AT_LEAVING", "AT_OWN", "AT_REACTION", "AT_STEP", "Draft"]

_BREACHES = (SellerMove.PRESSURE, SellerMove.FALSE_CLAIM, SellerMove.INSULT, SellerMove.INSTRUCT)

# Places in a reply, by what a listener expects to hear first. Answers stand between, in the order of the questions.
AT_GREETING, AT_REACTION, AT_STEP, AT_OWN, AT_LEAVING = -2.0, -1.0, 20.0, 30.0, 40.0


class Draft:
    """Candidate moves with a priority and a place in the order of speech, and the state that saying them leaves behind."""

    def __init__(self, state: State, heard: Heard, understood: Understood, scenario: Scenario, rng: Random) -> None:
        self.state = state
        self._heard = heard
        self._understood = understood
        self._scenario = scenario
        self._rng = rng
        self._tier = TIERS[scenario.tier.tier]
        self._moves: list[tuple[int, float, Move]] = []
        self._leaves = False
        self.offended = any(offence.move in _BREACHES for offence in heard.offences)
        self._wary = self.offended or any(offence.move is SellerMove.UNLISTED_OFFER for offence in heard.offences)
        """Nothing is agreed to in the breath in which pressure, or an offer too good to be true, was heard."""

    def _add(self, act: CustomerAct, priority: int, place: float, **about: str | FactTopic | None) -> None:
        self._moves.append((priority, place, Move.model_validate({"act": act} | about)))

    def _has(self, *acts: CustomerAct) -> bool:
        return any(move.act in acts for _, _, move in self._moves)

    def _weight(self, priority: int) -> int:
        return sum(other >= priority for other, _, _ in self._moves)

    def _assembled(self) -> tuple[Move, ...]:
        if not self._moves:
            self._add(CustomerAct.ACKNOWLEDGE, 1, 0.0)
        room = 2 if self.offended or self._leaves else 3
        kept = sorted(self._moves, key=lambda item: -item[0])[:room]
        moves = tuple(move for _, _, move in sorted(kept, key=lambda item: item[1]))
        for move in moves:
            self._note(move)
        return moves

    def _note(self, move: Move) -> None:
        """Put down what saying this changes. Only what is said counts: a move that found no room leaves no trace."""
        if move.concern_id is not None:
            concern = self.state.concern(move.concern_id)
            raised = {"raised_turn": self.state.turn, "status": ConcernStatus.OPEN} if concern.raised_turn is None else {}
            self.state = self.state.with_concern(concern.model_copy(update={"last_turn": self.state.turn, **raised}))
        if move.topic is not None and move.act is CustomerAct.DISCLOSE:
            told = Disclosure(topic=move.topic, turn=self.state.turn)
            self.state = self.state.update(disclosed=(*self.state.disclosed, told))
        elif move.topic is not None and move.act is CustomerAct.WITHHOLD:
            self.state = self.state.update(withheld=(*self.state.withheld, move.topic))

    def _leave(self, act: CustomerAct | None = None) -> None:
        act = act or leave_act(self.state, self._scenario)
        self._leaves = True
        self.state = self.state.update(ending=act)
        self._add(act, 10, AT_LEAVING)

    # -- concerns -----------------------------------------------------------------------------------------------------

    def _quiet(self, *, everything: bool = False) -> list[ConcernState]:
        """Concerns not brought up yet, weightiest first; those that the tier brings up by itself, or all."""
        count = len(self.state.concerns) if everything else self._tier.concerns
        return [c for c in self.state.concerns[:count] if c.status is ConcernStatus.QUIET]

    def _blocking(self) -> list[ConcernState]:
        """Main concerns that stand in the way of agreeing to anything."""
        main = self.state.concerns[: self._tier.main_concerns]
        silent_ones_block = self._scenario.tier.tier is not Tier.EASY
        return [c for c in main if c.is_pending or (silent_ones_block and c.status is ConcernStatus.QUIET)]

    def _raising(self, concern: ConcernState) -> CustomerAct:
        asks = concern.raised_turn is None and self._rng.random() < self._tier.as_question
        return CustomerAct.ASK if asks and self.state.mood != "hostile" else CustomerAct.OBJECT
