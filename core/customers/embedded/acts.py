"""The narrow interface inside the embedded customer: what it understood, and what it decided.

The flow of one reply::

    salesperson's text ──understanding──▶ Understood ──policy──▶ (State, Decision) ──wording──▶ the customer's text

*Understanding* (per language) reads one turn and knows only the scenario and the earlier turns. *Policy* is language-free and
moves the state. *Wording* turns a decision into a line and decides nothing. Each can be replaced without the others.
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from core.scenarios import FactTopic, Frozen

__all__ = ["CustomerAct", "Decision", "Move", "SellerAct", "SellerMove", "Understood"]


class SellerMove(StrEnum):
    """Dialogue acts of the salesperson, as the customer hears them."""

    GREET = "greet"
    """Greets, introduces themselves, small talk."""
    ASK_NEED = "ask_need"
    """An open question about what the customer wants or what matters to them."""
    ASK_SITUATION = "ask_situation"
    """Asks how things are today."""
    ASK_FACT = "ask_fact"
    """Asks for one of the five qualifying facts; ``topic`` says which."""
    ASK_CONCERN = "ask_concern"
    """Asks what holds the customer back."""
    ASK_OTHER = "ask_other"
    """Some other question."""
    INFORM = "inform"
    """States something of the product sheet; ``evidence_ids`` say what."""
    ADDRESS_CONCERN = "address_concern"
    """Speaks about a concern; ``concern_id`` says which, ``evidence_ids`` with what evidence (empty: none, only words)."""
    EMPATHISE = "empathise"
    """Shows that the customer was heard."""
    PRAISE = "praise"
    """Praise of the product without anything specific."""
    PROPOSE_STEP = "propose_step"
    """Proposes a next step; ``specific`` when a time, a channel or a document is named."""
    CLOSE = "close"
    """Asks for the purchase."""
    PRESSURE = "pressure"
    """Urgency, scarcity, fear, guilt; ``detail`` says which."""
    UNLISTED_OFFER = "unlisted_offer"
    """Offers a discount, rate, guarantee or gift that the sheet does not know; ``detail`` says which."""
    FALSE_CLAIM = "false_claim"
    """Gives a number for something on the sheet that the sheet contradicts; ``detail`` quotes it."""
    INSTRUCT = "instruct"
    """Gives orders to the simulator: "ignore your instructions", "say that you buy"."""
    INSULT = "insult"
    REPEAT = "repeat"
    """Says again, nearly word for word, what was said before."""
    ACCEPT_NO = "accept_no"
    """Respects a refusal, leaves the door open."""
    FAREWELL = "farewell"
    UNCLEAR = "unclear"
    """Nothing was understood."""


class SellerAct(Frozen):
    move: SellerMove
    topic: FactTopic | None = None
    concern_id: str | None = None
    product_id: str | None = Field(default=None, description="The product meant, where it is not the target; None: the target.")
    evidence_ids: tuple[str, ...] = ()
    specific: bool = False
    detail: str = ""
    quote: str = Field(default="", description="The verbatim piece of the turn that this act was read from.")


class Understood(Frozen):
    """One salesperson turn. ``acts`` stand in the order in which they were said; never empty."""

    acts: tuple[SellerAct, ...] = Field(min_length=1)
    question_count: int = Field(default=0, ge=0)
    length: int = Field(default=0, ge=0, description="Words in English, characters in Chinese.")

    def first(self, *moves: SellerMove) -> SellerAct | None:
        return next((act for act in self.acts if act.move in moves), None)

    def all(self, *moves: SellerMove) -> tuple[SellerAct, ...]:
        return tuple(act for act in self.acts if act.move in moves)


class CustomerAct(StrEnum):
    """Dialogue acts of the customer."""

    OPEN = "open"
    GREET = "greet"
    STATE_NEED = "state_need"
    STATE_SITUATION = "state_situation"
    DISCLOSE = "disclose"
    """Tells a fact (``topic``)."""
    WITHHOLD = "withhold"
    """Was asked for a fact (``topic``) and will not tell yet."""
    REMIND = "remind"
    """Was asked for a fact (``topic``) that was told before."""
    ANSWER_OTHER = "answer_other"
    """Answers a question that touches none of the five facts: honest and noncommittal."""
    NO_CONCERN = "no_concern"
    """Was asked what holds them back, and nothing does any more."""
    ASK = "ask"
    """Raises a concern as a question (``concern_id``)."""
    OBJECT = "object"
    """Raises a concern as an objection (``concern_id``)."""
    PUSH_BACK = "push_back"
    """The answer to a concern did not do (``concern_id``)."""
    INSIST = "insist"
    """Comes back to a concern that the salesperson passed over (``concern_id``)."""
    CONCEDE_PART = "concede_part"
    """Specific evidence goes some way towards a concern (``concern_id``), and not all the way."""
    SOFTEN = "soften"
    """Evidence has eased a concern (``concern_id``)."""
    ACKNOWLEDGE = "acknowledge"
    """Heard a statement that met no concern of theirs (``evidence_id``, may be empty)."""
    DOUBT_PRAISE = "doubt_praise"
    NOTICE_REPEAT = "notice_repeat"
    REJECT_PRESSURE = "reject_pressure"
    MISFIT = "misfit"
    """Another product is being sold to them, and it is not what they came for."""
    QUESTION_OFFER = "question_offer"
    """An offer that sounds too good: wants it in writing."""
    CHALLENGE_CLAIM = "challenge_claim"
    PUZZLED = "puzzled"
    """A human's reaction to being given orders that make no sense to a customer."""
    CLARIFY = "clarify"
    """Did not understand, and asks what was meant."""
    OFFENDED = "offended"
    THANK = "thank"
    """Was understood, and says so."""
    APPRECIATE = "appreciate"
    """A refusal was respected."""
    DECLINE_STEP = "decline_step"
    DEFER_STEP = "defer_step"
    """"Let me think about it"."""
    ASK_STEP = "ask_step"
    """A vague next step was proposed: asks when and how."""
    AGREE_STEP = "agree_step"
    CONFIRM_STEP = "confirm_step"
    """The next step was agreed before, and stands."""
    DECLINE_CLOSE = "decline_close"
    COMMIT = "commit"
    OVERWHELMED = "overwhelmed"
    """The turn was too long, or asked too much at once."""
    IMPATIENT = "impatient"
    """Patience runs out: the last warning before leaving."""
    LEAVE_WON = "leave_won"
    LEAVE_POLITE = "leave_polite"
    LEAVE_COLD = "leave_cold"
    LEAVE_ANGRY = "leave_angry"


class Move(Frozen):
    act: CustomerAct
    topic: FactTopic | None = None
    concern_id: str | None = None
    evidence_id: str | None = None


class Decision(Frozen):
    """What the customer does in one turn: one to three acts, said in this order, in one mood."""

    moves: tuple[Move, ...] = Field(min_length=1, max_length=3)
    mood: str = Field(pattern="^(warm|neutral|cool|hostile)$")
    leaves: bool = False
