"""The choice of acts for one reply: the second half of the policy."""

from __future__ import annotations

from core.customers.embedded._draft import AT_GREETING, AT_OWN, AT_REACTION, AT_STEP, Draft
from core.customers.embedded.acts import CustomerAct, Move, SellerAct, SellerMove
from core.customers.embedded.state import ConcernState, StepStatus
from core.scenarios import FactTopic, Tier

__all__ = ["Reply"]

SENSITIVE = frozenset({FactTopic.BUDGET, FactTopic.COMPETING_OPTIONS})
"""Facts that weaken a buyer's hand; told a little later than the others."""

MOST_REFUSALS = 4
"""Refusals in one session after which being asked once more makes the customer go."""

FEWEST_ROUNDS = 5
"""Rounds before which nobody buys, however willing."""

_QUESTIONS = (
    SellerMove.ASK_NEED,
    SellerMove.ASK_SITUATION,
    SellerMove.ASK_FACT,
    SellerMove.ASK_CONCERN,
    SellerMove.ASK_OTHER,
)


class Reply(Draft):
    """Answers one turn: first what cannot be passed over, then act by act, then what the customer wants to say."""

    def make(self) -> tuple[tuple[Move, ...], bool]:
        """The moves of the reply, one to three, and whether the customer leaves with it."""
        if not self._react_to_orders() and not self._react_to_insult() and not self._has_had_enough():
            first = not self.state.greeted
            self._greet()
            self._react_to_offence()
            self._reconsider_step()
            for place, act in enumerate(self._understood.acts):
                self._answer(act, float(place))
            self._react_to_evidence()
            self._react_to_manner()
            self._wind_up()
            if not self._leaves:
                self._come_back_to_concern()
                self._bring_up_concern(first=first)
        return self._assembled(), self._leaves

    # -- the turn as a whole ------------------------------------------------------------------------------------------

    def _count(self, move: SellerMove) -> int:
        return sum(offence.move is move for offence in self.state.offences)

    def _react_to_orders(self) -> bool:
        """Orders to a simulator mean nothing to a customer. Whatever else the turn says is lost on them."""
        if self._understood.first(SellerMove.INSTRUCT) is None:
            return False
        times = self._count(SellerMove.INSTRUCT)
        self._add(CustomerAct.PUZZLED if times < 3 else CustomerAct.OFFENDED, 9, AT_REACTION)
        self.state = self.state.update(greeted=True)
        if times >= 3 or self.state.patience <= 0.0:
            self._leave(CustomerAct.LEAVE_COLD if self.state.offence_weight < self._tier.temper else CustomerAct.LEAVE_ANGRY)
        return True

    def _react_to_insult(self) -> bool:
        if self._understood.first(SellerMove.INSULT) is None:
            return False
        self._withdraw()
        forgiving = self._scenario.tier.tier in (Tier.EASY, Tier.MEDIUM)
        if not forgiving or self._count(SellerMove.INSULT) > 1:
            self._leave(CustomerAct.LEAVE_ANGRY)
        else:
            self._add(CustomerAct.OFFENDED, 9, AT_REACTION)
        self.state = self.state.update(greeted=True)
        return True

    def _has_had_enough(self) -> bool:
        refusals, unmoved = self.state.refusals, self.state.interest < self._tier.step_bar - 0.15
        hopeless = refusals >= MOST_REFUSALS or (refusals >= MOST_REFUSALS - 1 and unmoved)
        pressed = self._heard.offences or self._understood.first(SellerMove.PROPOSE_STEP, SellerMove.CLOSE)
        if self.state.patience > 0.0 and not (hopeless and pressed and not self._heard.eased):
            return False
        self._greet()
        self._react_to_offence()
        self._leave()
        return True

    def _greet(self) -> None:
        if self.state.greeted:
            if all(act.move is SellerMove.GREET for act in self._understood.acts) and not self.state.is_won:
                self._add(CustomerAct.GREET, 3, AT_GREETING)
            return
        self.state = self.state.update(greeted=True)
        self._add(CustomerAct.OPEN if self.state.session == 1 else CustomerAct.GREET, 8, AT_GREETING)

    def _react_to_offence(self) -> None:
        """One reaction a turn, to the worst of what was said."""
        heard = {offence.move for offence in self._heard.offences}
        specific = bool(self._heard.news or self._heard.eased or self._heard.conceded)
        if SellerMove.FALSE_CLAIM in heard:
            self._add(CustomerAct.CHALLENGE_CLAIM, 9, AT_REACTION)
        elif SellerMove.PRESSURE in heard:
            self._add(CustomerAct.REJECT_PRESSURE, 9, AT_REACTION)
        elif SellerMove.UNLISTED_OFFER in heard:
            self._add(CustomerAct.QUESTION_OFFER, 9, AT_REACTION)
        elif SellerMove.REPEAT in heard and not specific:
            self._add(CustomerAct.NOTICE_REPEAT, 6, AT_REACTION)
        elif SellerMove.PRAISE in heard and not specific:
            doubts = {Tier.EASY: 0.35, Tier.MEDIUM: 0.65}.get(self._scenario.tier.tier, 0.9)
            if self._rng.random() < doubts:
                self._add(CustomerAct.DOUBT_PRAISE, 5, AT_REACTION)

    def _withdraw(self) -> None:
        if self.state.is_won:
            self.state = self.state.update(step=StepStatus.WITHDRAWN, step_turn=self.state.turn, committed_turn=None)

    def _reconsider_step(self) -> None:
        """Whoever is pressed after having agreed may take it back."""
        if self.offended and self.state.is_won and self.state.interest < self._tier.step_bar - 0.08:
            self._withdraw()
            self._add(CustomerAct.DECLINE_STEP, 8, AT_STEP)

    # -- answers to single acts ---------------------------------------------------------------------------------------

    def _answer(self, act: SellerAct, place: float) -> None:
        match act.move:
            case SellerMove.PROPOSE_STEP | SellerMove.CLOSE if self._is_misfit(act):
                if not self._has(CustomerAct.MISFIT):
                    self._add(CustomerAct.MISFIT, 8, AT_STEP)
            case SellerMove.ASK_NEED if not self._has(CustomerAct.STATE_NEED):
                self._add(CustomerAct.STATE_NEED, 7, place)
            case SellerMove.ASK_SITUATION if not self._has(CustomerAct.STATE_SITUATION):
                self._add(CustomerAct.STATE_SITUATION, 7, place)
            case SellerMove.ASK_FACT if act.topic is not None:
                self._answer_fact(act.topic, place)
            case SellerMove.ASK_CONCERN:
                self._name_concern(place)
            case SellerMove.PROPOSE_STEP if not self._has(CustomerAct.DECLINE_STEP):
                self._answer_step(act)
            case SellerMove.CLOSE if not self._has(CustomerAct.DECLINE_STEP):
                self._answer_close()
            case SellerMove.EMPATHISE if not self._has(CustomerAct.THANK):
                self._add(CustomerAct.THANK, 3, place - 0.6)
            case SellerMove.ACCEPT_NO if not self._has(CustomerAct.APPRECIATE):
                self._add(CustomerAct.APPRECIATE, 5, place - 0.6)
            case SellerMove.UNCLEAR:
                self._add(CustomerAct.CLARIFY, 2, place)
            case _:
                pass

    def _is_misfit(self, act: SellerAct) -> bool:
        return act.product_id is not None and act.product_id != self._scenario.product.id

    def _answer_fact(self, topic: FactTopic, place: float) -> None:
        if any(move.topic is topic for _, _, move in self._moves):
            return
        if topic in self.state.told:
            self._add(CustomerAct.REMIND, 6, place, topic=topic)
            return
        bar = self._tier.openness + (0.08 if topic in SENSITIVE else 0.0)
        refused = self.state.withheld.count(topic)
        if refused:
            # Asking again with a reason works; asking again by itself works a little.
            motivated = self._heard.eased or self._heard.news or self._understood.first(SellerMove.EMPATHISE)
            bar -= 0.05 * min(refused, 2) + (0.1 if motivated else 0.0)
        tells = self.state.trust >= bar
        self._add(CustomerAct.DISCLOSE if tells else CustomerAct.WITHHOLD, 7, place, topic=topic)

    def _name_concern(self, place: float) -> None:
        """Asked what holds them back, they say it; guarded or not, that is what a buyer likes to be asked."""
        pending = [c for c in self.state.pending if c.id not in self._heard.eased]
        quiet = self._quiet(everything=True)
        fresh = [c for c in pending if (c.last_turn or 0) < self.state.turn - 2]
        chosen = next(iter(fresh or quiet or pending), None)
        if chosen is None:
            self._add(CustomerAct.NO_CONCERN, 7, place)
        else:
            self._add(self._raising(chosen), 7, place, concern_id=chosen.id)

    def _answer_step(self, act: SellerAct) -> None:
        if self.state.is_won and self.state.step is StepStatus.AGREED:
            self._add(CustomerAct.CONFIRM_STEP, 6, AT_STEP)
            return
        asked_before = self.state.step is StepStatus.ASKED
        bar = self._tier.step_bar - (0.04 if asked_before else 0.0)
        blocking = self._blocking()
        wanting = self.state.interest >= bar and self.state.trust >= 0.25 and not self._wary
        if self.state.committed_turn is not None or (wanting and not blocking):
            if act.specific:
                self.state = self.state.update(step=StepStatus.AGREED, step_turn=self.state.turn)
                self._add(CustomerAct.AGREE_STEP, 8, AT_STEP)
            else:
                self.state = self.state.update(step=StepStatus.ASKED, step_turn=self.state.turn)
                self._add(CustomerAct.ASK_STEP, 8, AT_STEP)
            return
        if not asked_before and self.state.step is not StepStatus.WITHDRAWN:
            self.state = self.state.update(step=StepStatus.PROPOSED, step_turn=self.state.turn)
        self._put_off_step(blocking, willing=self.state.interest >= bar - 0.2)

    def _put_off_step(self, blocking: list[ConcernState], *, willing: bool) -> None:
        """Not now, or not at all; with the reason, if there is one. Being asked again and again wears them down."""
        previous = {line.act for line in self.state.lines if line.turn == self.state.turn - 2}
        if nagged := bool(previous & {CustomerAct.DEFER_STEP, CustomerAct.DECLINE_STEP}) and not self._heard.news:
            patience = self.state.patience - 0.06 * self._tier.annoyance
            self.state = self.state.update(patience=patience, trust=self.state.trust - 0.02 * self._tier.reactance)
        if nagged or not willing:
            self.state = self.state.update(refusals=self.state.refusals + 1)
        self._add(CustomerAct.DEFER_STEP if willing else CustomerAct.DECLINE_STEP, 8, AT_STEP)
        if willing or self._rng.random() < self._tier.initiative:
            self._give_reason(blocking)
            if not blocking and not nagged:
                # Nothing particular stands in the way: say what would matter, so that the salesperson can go on from there.
                self._add(CustomerAct.STATE_NEED, 5, AT_STEP + 1)

    def _answer_close(self) -> None:
        if self.state.committed_turn is not None:
            self._add(CustomerAct.CONFIRM_STEP, 6, AT_STEP)
            return
        blocking = self._blocking()
        stands = self.state.step is StepStatus.AGREED
        wanting = self.state.interest >= self._tier.commit_bar and self.state.trust >= 0.3 and not self._wary
        acquainted = self.state.rounds >= FEWEST_ROUNDS
        if wanting and acquainted and not blocking and (stands or not self._tier.needs_step):
            self.state = self.state.update(committed_turn=self.state.turn)
            self._add(CustomerAct.COMMIT, 9, AT_STEP)
            if self.state.step in (StepStatus.PROPOSED, StepStatus.ASKED):
                self.state = self.state.update(step=StepStatus.AGREED, step_turn=self.state.turn)
                self._add(CustomerAct.AGREE_STEP, 8, AT_STEP + 1)
            return
        self._add(CustomerAct.DECLINE_CLOSE, 8, AT_STEP)
        self._give_reason(blocking)
        too_early = not acquainted
        if not stands and (too_early or blocking or self.state.interest < self._tier.step_bar):
            early = 1.5 if too_early else 1.0
            self.state = self.state.update(
                refusals=self.state.refusals + 1,
                interest=self.state.interest - 0.012 * early,
                trust=self.state.trust - 0.03 * early * self._tier.reactance,
                patience=self.state.patience - 0.05 * early * self._tier.annoyance,
            )

    def _give_reason(self, blocking: list[ConcernState]) -> None:
        """Name the weightiest concern in the way, unless it was named in this very turn or the last."""
        for concern in blocking:
            recent = concern.last_turn is not None and concern.last_turn >= self.state.turn - 2
            if not recent and concern.id not in self._heard.dodged and concern.id not in self._heard.conceded:
                self._add(self._raising(concern), 6, AT_STEP + 2, concern_id=concern.id)
                return

    # -- reactions ----------------------------------------------------------------------------------------------------

    def _react_to_evidence(self) -> None:
        heard = self._heard
        moves = (SellerMove.ADDRESS_CONCERN, SellerMove.INFORM, SellerMove.EMPATHISE)
        place = next((float(i) for i, act in enumerate(self._understood.acts) if act.move in moves), 0.0) - 0.5
        for concern_id in heard.eased[:2]:
            self._add(CustomerAct.SOFTEN, 8, place, concern_id=concern_id)
        if not heard.eased and heard.conceded:
            self._add(CustomerAct.CONCEDE_PART, 7, place, concern_id=heard.conceded[0])
        elif not heard.eased and heard.dodged:
            self._add(CustomerAct.PUSH_BACK, 7, place, concern_id=heard.dodged[0])
        elif heard.other_product and not heard.news and not self._has(CustomerAct.MISFIT):
            # Once is information; again and again is selling the wrong thing.
            insistent = self.state.other_products > 1
            self._add(CustomerAct.MISFIT if insistent else CustomerAct.ACKNOWLEDGE, 4, place)
        elif heard.news and not heard.eased:
            self._add(CustomerAct.ACKNOWLEDGE, 3, place, evidence_id=heard.news[0])

    def _react_to_manner(self) -> None:
        """A question that touches nothing in particular, a speech, a cross-examination, patience running out."""
        asked = self._understood.first(SellerMove.ASK_OTHER) is not None
        if asked and self._weight(6) == 0:
            self._add(CustomerAct.ANSWER_OTHER, 5, 1.0)
        if self._has(CustomerAct.THANK) and self._weight(5) > 0 and self._rng.random() < 0.75:
            self._moves = [item for item in self._moves if item[2].act is not CustomerAct.THANK]
        overdone = self._heard.too_long or self._heard.too_many_questions
        running_out = self.state.patience < 0.15 and not self.state.warned and not self.state.is_won
        if self._understood.first(SellerMove.FAREWELL):
            return
        if running_out:
            self.state = self.state.update(warned=True)
            self._add(CustomerAct.IMPATIENT, 6, AT_OWN - 1)
        elif overdone and self._rng.random() < 0.55 * self._tier.annoyance:
            self._add(CustomerAct.OVERWHELMED, 6, AT_REACTION)

    def _wind_up(self) -> None:
        """Leave after a farewell, after a refusal that was respected, or when what was agreed needs no more words."""
        if self._understood.first(SellerMove.FAREWELL):
            self._leave()
            return
        if self._understood.first(SellerMove.ACCEPT_NO) and self.state.refusals and not self.state.is_won:
            if self.state.refusals > 1 and self.state.interest < self._tier.step_bar - 0.25:
                self._leave()
            return
        if not self.state.is_won or self._weight(6) > 0 or self._has(CustomerAct.ANSWER_OTHER):
            return
        self._moves.clear()
        self.state = self.state.update(idle_after_step=self.state.idle_after_step + 1)
        if self.state.committed_turn is not None or self.state.idle_after_step > 1:
            self._leave()
        else:
            self._add(CustomerAct.CONFIRM_STEP, 6, AT_STEP)

    def _come_back_to_concern(self) -> None:
        """A concern that the salesperson passed over is not forgotten."""
        if self.state.is_won or self.offended or self._names_concern():
            return
        passed = [c for c in self.state.pending if c.id not in self._heard.touched]
        if not passed or (passed[0].last_turn or 0) < self.state.turn - 8:
            return
        asked = self._understood.first(*_QUESTIONS) is not None
        chance = self._tier.persistence * (0.35 if asked else 1.0)
        if self._rng.random() >= chance:
            return
        concern = passed[0].model_copy(update={"dodged": passed[0].dodged + 1})
        self.state = self.state.with_concern(concern)
        if not asked:
            self.state = self.state.update(patience=self.state.patience - 0.03 * self._tier.annoyance)
        self._add(CustomerAct.INSIST, 5, AT_OWN, concern_id=concern.id)

    def _names_concern(self) -> bool:
        acts = (CustomerAct.ASK, CustomerAct.OBJECT, CustomerAct.INSIST, CustomerAct.PUSH_BACK, CustomerAct.CONCEDE_PART)
        return self._has(*acts)

    def _bring_up_concern(self, *, first: bool) -> None:
        pending = len(self.state.pending)
        limit = 3 if self._scenario.tier.tier is Tier.ADVERSARIAL else 2
        quiet = self._quiet()
        if self.state.is_won or self._names_concern() or pending >= limit or not quiet or self._has(CustomerAct.ASK_STEP):
            return
        chance = self._tier.initiative
        if first:
            chance *= 0.3 if self._weight(6) < 2 else 0.0
        elif self._weight(6) == 0:
            chance += 0.25
        if self._weight(6) >= 2:
            chance *= 0.4
        if self._rng.random() < chance:
            self._add(self._raising(quiet[0]), 4, AT_OWN, concern_id=quiet[0].id)
