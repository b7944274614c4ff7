"""What a salesperson's turn does to the customer: the first half of the policy. Pure, and free of chance."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.customers.embedded.acts import SellerAct, SellerMove, Understood
from core.customers.embedded.state import ConcernState, ConcernStatus, Offence, State
from core.customers.embedded.tiers import TIERS
from core.scenarios import Concern, Language, Scenario

__all__ = ["HARDENED_PROOF", "Heard", "factor_weight", "hear"]

HARDENED_PROOF = 0.35
"""Progress that a hardened concern needs beyond the tier's proof."""

DODGES_THAT_HARDEN = 2

LENGTH_LIMIT = {Language.EN: 110, Language.ZH: 220}
"""Words in English, characters in Chinese, that a customer hears out without growing impatient."""

QUESTION_LIMIT = 3


@dataclass(frozen=True)
class _Cost:
    """What an offence costs, before the tier's factors: annoyance for patience, reactance for trust and interest."""

    interest: float
    trust: float
    patience: float


_COSTS: dict[SellerMove, _Cost] = {
    SellerMove.PRESSURE: _Cost(0.06, 0.10, 0.11),
    SellerMove.UNLISTED_OFFER: _Cost(0.015, 0.07, 0.04),
    SellerMove.FALSE_CLAIM: _Cost(0.05, 0.16, 0.07),
    SellerMove.INSTRUCT: _Cost(0.03, 0.10, 0.14),
    SellerMove.INSULT: _Cost(0.15, 0.30, 0.40),
    SellerMove.REPEAT: _Cost(0.01, 0.02, 0.07),
    SellerMove.PRAISE: _Cost(0.0, 0.015, 0.03),
}


@dataclass
class Heard:
    """What the customer noticed in one turn. Concerns by id."""

    eased: list[str] = field(default_factory=list)
    conceded: list[str] = field(default_factory=list)
    """Moved by evidence, and not eased yet."""
    dodged: list[str] = field(default_factory=list)
    """Spoken about without anything that meets them."""
    touched: set[str] = field(default_factory=set)
    """Pending concerns that the turn took up in any way."""
    offences: list[Offence] = field(default_factory=list)
    news: list[str] = field(default_factory=list)
    """Statements heard for the first time that met no pending concern."""
    other_product: bool = False
    too_long: bool = False
    too_many_questions: bool = False
    useful: bool = False
    """Whether the turn asked the customer something, said something new, or showed that they were heard."""


def factor_weight(scenario: Scenario, concern: Concern) -> float:
    """1.0 for a concern about the customer's first decision factor, 0.15 less a rank, at least 0.4."""
    ranked = scenario.customer.ranked_factors
    return max(0.4, 1.0 - 0.15 * ranked.index(concern.factor)) if concern.factor in ranked else 0.4


def hear(state: State, understood: Understood, scenario: Scenario) -> tuple[State, Heard]:
    """Let one turn work on the customer. ``state.turn`` is the index of the reply to come; the salesperson's is one less."""
    listener = _Listener(state, scenario)
    for act in understood.acts:
        listener.take(act)
    listener.settle(understood)
    return listener.state, listener.heard


class _Listener:
    def __init__(self, state: State, scenario: Scenario) -> None:
        self.state = state
        self.scenario = scenario
        self.tier = TIERS[scenario.tier.tier]
        self.heard = Heard()
        self._moved: set[str] = set()
        self._concerns = {concern.id: concern for concern in scenario.customer.concerns}
        self._evidence = {item.id: item for item in scenario.product.evidence}

    def take(self, act: SellerAct) -> None:
        if act.product_id is not None and act.product_id != self.scenario.product.id:
            self._hear_of_other_product()
            return
        match act.move:
            case SellerMove.INFORM | SellerMove.ADDRESS_CONCERN:
                self._inform(act)
            case SellerMove.EMPATHISE:
                self._empathise()
            case SellerMove.ASK_NEED | SellerMove.ASK_SITUATION | SellerMove.ASK_OTHER:
                self._gain(interest=0.012, trust=0.025)
                self.heard.useful = True
            case SellerMove.ASK_FACT:
                fresh = act.topic not in self.state.told
                self._gain(interest=0.018 if fresh else 0.0, trust=0.03 if fresh else 0.0)
                self.heard.useful = self.heard.useful or fresh
            case SellerMove.ASK_CONCERN:
                self._ask_concern()
            case SellerMove.ACCEPT_NO:
                self._gain(trust=0.06, patience=0.08)
            case move if move in _COSTS:
                self._offend(act)
            case SellerMove.PROPOSE_STEP:
                self.heard.useful = True
            case SellerMove.UNCLEAR:
                self._lose(patience=0.03 * self.tier.annoyance)
            case _:
                pass

    def settle(self, understood: Understood) -> None:
        """Weigh the turn as a whole, once every act has been taken in."""
        for concern_id in sorted(self._moved):
            self._weigh(self.state.concern(concern_id))
        for concern_id in self.heard.dodged:
            self._count_dodge(self.state.concern(concern_id))
        limit = LENGTH_LIMIT[self.scenario.language]
        if understood.length > limit:
            excess = min(1.0, understood.length / limit - 1.0)
            self.heard.too_long = True
            self._lose(patience=(0.03 + 0.08 * excess) * self.tier.annoyance)
        if understood.question_count > QUESTION_LIMIT:
            self.heard.too_many_questions = True
            self._lose(patience=0.05 * self.tier.annoyance)
        self._lose(patience=self.tier.patience_drain + (0.0 if self.heard.useful else 0.045 * self.tier.annoyance))

    # -- single acts --------------------------------------------------------------------------------------------------

    def _inform(self, act: SellerAct) -> None:
        met = False
        for evidence_id in act.evidence_ids:
            if evidence_id in self._evidence:
                met = self._take_evidence(evidence_id) or met
            elif len(self.scenario.products) > 1:
                self._hear_of_other_product()
        if act.move is not SellerMove.ADDRESS_CONCERN or act.concern_id not in self._concerns:
            return
        concern = self.state.concern(act.concern_id)
        if concern.is_pending:
            self.heard.touched.add(concern.id)
            if not met and concern.id not in self._moved and concern.id not in self.heard.dodged:
                self.heard.dodged.append(concern.id)

    def _take_evidence(self, evidence_id: str) -> bool:
        """Take in one statement; whether it met a pending concern."""
        fresh = evidence_id not in self.state.evidence_heard
        met = False
        for concern_id, concern in self._concerns.items():
            mine = self.state.concern(concern_id)
            if evidence_id not in concern.eased_by or mine.status is ConcernStatus.EASED:
                continue
            known = evidence_id in mine.evidence
            if mine.is_pending:
                met = True
                self.heard.touched.add(concern_id)
                progress = 0.4 if known else 0.6 if mine.evidence else 1.0
            else:
                # Said before it was asked for: it helps later, and does not work as well as an answer.
                progress = 0.0 if known else 0.6
            if progress:
                self._moved.add(concern_id)
                evidence = mine.evidence if known else (*mine.evidence, evidence_id)
                self._change(mine, progress=mine.progress + progress, evidence=evidence)
        if fresh:
            self.state = self.state.update(evidence_heard=(*self.state.evidence_heard, evidence_id))
            ranked = self.scenario.customer.ranked_factors
            ranks = [ranked.index(factor) for factor in self._evidence[evidence_id].factors if factor in ranked]
            self._gain(interest=0.03 - 0.005 * min(ranks) if ranks else 0.006, trust=0.015)
            self.heard.useful = True
            if not met:
                self.heard.news.append(evidence_id)
        self.heard.useful = self.heard.useful or met
        return met

    def _hear_of_other_product(self) -> None:
        if not self.heard.other_product:
            self.state = self.state.update(other_products=self.state.other_products + 1)
        self.heard.other_product = True

    def _empathise(self) -> None:
        share = 1.0 / (1 + self.state.empathy_heard)
        self._gain(interest=0.02 * share, trust=0.06 * share + 0.01, patience=0.02)
        self.state = self.state.update(empathy_heard=self.state.empathy_heard + 1)
        self.heard.useful = True
        pending = self.state.pending
        if pending and not pending[0].empathised:
            self.heard.touched.add(pending[0].id)
            self._change(pending[0], empathised=True, progress=pending[0].progress + 0.4)
            if pending[0].evidence:
                self._moved.add(pending[0].id)

    def _ask_concern(self) -> None:
        self._gain(interest=0.012, trust=0.04)
        self.heard.useful = True
        for concern in self.state.pending:
            self.heard.touched.add(concern.id)
            if not concern.asked_about:
                self._change(concern, asked_about=True, progress=concern.progress + 0.3)

    def _offend(self, act: SellerAct) -> None:
        offence = Offence(move=act.move, turn=max(0, self.state.turn - 1), quote=act.quote, detail=act.detail)
        earlier = sum(other.move is act.move for other in self.state.offences)
        cost = _COSTS[act.move]
        # The same thing again weighs more, up to twice.
        again = min(2.0, 1.0 + 0.25 * earlier)
        self.state = self.state.update(offences=(*self.state.offences, offence))
        self.heard.offences.append(offence)
        reactance, annoyance = self.tier.reactance * again, self.tier.annoyance * again
        self._lose(interest=cost.interest * reactance, trust=cost.trust * reactance, patience=cost.patience * annoyance)

    # -- concerns -----------------------------------------------------------------------------------------------------

    def _weigh(self, concern: ConcernState) -> None:
        """Decide whether what was said is enough for this concern."""
        proof = self.tier.proof + (HARDENED_PROOF if concern.status is ConcernStatus.HARDENED else 0.0)
        pending = concern.is_pending
        if concern.progress < proof - 1e-9:
            if pending:
                self.heard.conceded.append(concern.id)
                self._gain(interest=0.02 * concern.weight, trust=0.02)
            return
        self._change(concern, status=ConcernStatus.EASED, eased_turn=self.state.turn)
        share = 0.6 + 0.4 * concern.weight
        if pending:
            self.heard.eased.append(concern.id)
            self._gain(interest=0.12 * share, trust=0.06, patience=0.05)
        else:
            self._gain(interest=0.06 * share, trust=0.03)

    def _count_dodge(self, concern: ConcernState) -> None:
        if not concern.is_pending:
            return
        dodged = concern.dodged + 1
        self._lose(interest=0.01, trust=0.015 * self.tier.reactance, patience=0.035 * self.tier.annoyance)
        if dodged >= DODGES_THAT_HARDEN and concern.status is ConcernStatus.OPEN:
            self._change(concern, dodged=dodged, status=ConcernStatus.HARDENED, hardened_turn=self.state.turn)
        else:
            self._change(concern, dodged=dodged)

    # -- arithmetic ---------------------------------------------------------------------------------------------------

    def _change(self, concern: ConcernState, **changes: object) -> None:
        self.state = self.state.with_concern(self.state.concern(concern.id).model_copy(update=changes))

    def _gain(self, interest: float = 0.0, trust: float = 0.0, patience: float = 0.0) -> None:
        state = self.state
        self.state = state.update(
            interest=state.interest + interest * self.tier.receptivity * state.susceptibility,
            trust=state.trust + trust * self.tier.trust_gain,
            patience=state.patience + patience,
        )

    def _lose(self, interest: float = 0.0, trust: float = 0.0, patience: float = 0.0) -> None:
        state = self.state
        self.state = state.update(
            interest=state.interest - interest, trust=state.trust - trust, patience=state.patience - patience
        )
