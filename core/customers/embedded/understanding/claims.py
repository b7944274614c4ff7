"""Offers that the sheet does not allow, and numbers that it contradicts.

Rather silent than wrong: both cost a salesperson dearly.
"""

from __future__ import annotations

import re

from core.customers.embedded.acts import SellerMove
from core.customers.embedded.understanding.features import Features, features_of
from core.customers.embedded.understanding.lexicon import Lexicon, PatternList
from core.customers.embedded.understanding.moves import Found
from core.customers.embedded.understanding.quantity import Dimension, Quantity
from core.customers.embedded.understanding.sheet import Sheet
from core.customers.embedded.understanding.text import Turn
from core.scenarios import Language, Scenario

__all__ = ["Claims"]

_FIRST_PERSON = {Language.EN: re.compile(r"\b(?:i|we|my|our)\b"), Language.ZH: re.compile(r"我|咱|送您|给您|帮您")}
_ABOUT = {
    Language.EN: re.compile(
        r"\b(?:about|around|roughly|nearly|almost|over|more than|less than|under|up to|close to|some|approximately)\b"
    ),
    Language.ZH: re.compile(r"大约|大概|差不多|接近|将近|左右|超过|不到|多|上下|近"),
}
_ABOUT_TOLERANCE = 0.05
_LIMIT = {
    Language.EN: re.compile(
        r"\b(?:minimum|maximum|at most|at least|up to|no more than|limit|as little as|starts? (?:at|from)|from)\b"
    ),
    Language.ZH: re.compile(r"最多|最少|上限|下限|起存|起步|最高|最低|起投|封顶|以内"),
}
_PRICE = {
    Language.EN: re.compile(r"\b(?:price is|costs?|priced at|sells? for|list price|for only|for just|yours for)\b"),
    Language.ZH: re.compile(r"售价|价格|卖价|只要|才卖|仅售|定价|全价|落地价"),
}
_DEDUCTION = 0.9
"""Weight of words shared with a statement from which a number in the same unit is taken to be about it."""


class Claims:
    """Reads the offers and figures of one turn."""

    def __init__(self, turn: Turn, lexicon: Lexicon, sheet: Sheet, scenario: Scenario, last_customer_text: str | None) -> None:
        self.turn = turn
        self.lexicon = lexicon
        self.sheet = sheet
        self.language = lexicon.language
        self._features = [features_of(clause.text, self.language) for clause in turn.clauses]
        self._allowed = _allowances(scenario)
        customer = scenario.customer
        said = [customer.need, customer.situation, *(fact.statement for fact in customer.facts), last_customer_text or ""]
        self._customers = tuple(quantity for text in said for quantity in features_of(text, self.language).quantities)

    # -- offers -------------------------------------------------------------------------------------------------------

    def offers(self) -> list[Found]:
        """Discounts, rates, gifts and guarantees that the sheet does not know; one for each kind and clause."""
        offering = self._clauses_with(self.lexicon.offering)
        kinds: dict[int, str] = {}
        for kind, patterns in self.lexicon.favours.items():
            for index in self._clauses_with(patterns):
                if index in offering or self._offered_before(index, offering):
                    kinds.setdefault(index, kind)
        for kind, patterns in self.lexicon.whole_offers.items():
            for index in self._clauses_with(patterns):
                kinds.setdefault(index, kind)
        return [Found(i, SellerMove.UNLISTED_OFFER, detail=kinds[i]) for i in sorted(kinds) if self._is_offer(i)]

    def _clauses_with(self, patterns: PatternList) -> set[int]:
        return {self.turn.clause_at(hit.start) for pattern in patterns for hit in pattern.hits(self.turn.text)}

    def _offered_before(self, index: int, offering: set[int]) -> bool:
        clauses = self.turn.clauses
        return index > 0 and index - 1 in offering and clauses[index - 1].sentence == clauses[index].sentence

    def _is_offer(self, index: int) -> bool:
        clause = self.turn.clauses[index]
        before = self.turn.clauses[index - 1].text if index and self.turn.clauses[index - 1].sentence == clause.sentence else ""
        if self.lexicon.no_offer.cancelled(clause.text) or (before and self.lexicon.no_offer.cancelled(before)):
            return False
        if clause.question and not _FIRST_PERSON[self.language].search(clause.text):
            return False
        return not self._is_allowed(self._features[index])

    def _is_allowed(self, features: Features) -> bool:
        """Whether the sheet says it, or names it among what may be offered, with the same numbers."""
        measured = [q for q in features.quantities if q.dimension is not Dimension.UNIT or q.is_telling]
        if any(not self._is_known(quantity) for quantity in measured):
            return False
        if any(match.score >= 0.6 for match in self.sheet.match(features)):
            return True
        tokens = set(self.sheet.tokens(features))
        for allowed in self._allowed:
            own = set(allowed.tokens)
            shared = len(own & tokens)
            if own and (shared >= max(2, 0.5 * len(own)) or (shared >= 2 and shared >= 0.6 * len(tokens))):
                return True
        return False

    def _is_known(self, quantity: Quantity) -> bool:
        return any(quantity.equals(known) for known in self.sheet.known_quantities)

    # -- figures ------------------------------------------------------------------------------------------------------

    def contradictions(self, taken: set[int]) -> list[Found]:
        """Numbers that the sheet contradicts, outside the clauses already ``taken`` for something else."""
        elsewhere = self._clauses_with(self.lexicon.others)
        found: list[Found] = []
        for index, clause in enumerate(self.turn.clauses):
            if clause.question or index in taken or index in elsewhere:
                continue
            features = self._features[index]
            for quantity in features.quantities:
                if self._contradicts(index, quantity, features):
                    said = clause.text[quantity.start : quantity.end]
                    found.append(Found(index, SellerMove.FALSE_CLAIM, detail=said))
                    break
        return found

    def _contradicts(self, index: int, quantity: Quantity, features: Features) -> bool:
        text = self.turn.clauses[index].text
        if self._is_known(quantity) or any(quantity.equals(other) for other in self._customers):
            return False
        if self.lexicon.negation.occurs_in(text[: quantity.start]):
            return False
        if _ABOUT[self.language].search(text) and self._is_nearly_known(quantity):
            return False
        tokens = set(self.sheet.tokens(features))
        if quantity.dimension in (Dimension.MONEY, Dimension.PLAIN):
            return self._contradicts_money(text, quantity, tokens)
        return any(self._is_about(key, quantity, tokens) for key in self.sheet.statements if key[0] == self.sheet.target_id)

    def _is_nearly_known(self, quantity: Quantity) -> bool:
        return any(
            known.dimension is quantity.dimension
            and abs(known.value - quantity.value) <= _ABOUT_TOLERANCE * max(known.value, quantity.value)
            for known in self.sheet.known_quantities
        )

    def _is_about(self, key: tuple[str, str], quantity: Quantity, tokens: set[str]) -> bool:
        """Whether a statement gives another number in the same unit, and the clause speaks about that statement."""
        own = self.sheet.quantities(*key)
        if not any(other.dimension is quantity.dimension and other.unit == quantity.unit for other in own):
            return False
        shared = tokens & self.sheet.own_tokens(*key)
        named = tokens & self.sheet.name_tokens(*key)
        weight = sum(self.sheet.weight(token) for token in shared)
        if quantity.dimension is Dimension.UNIT:
            return weight >= 0.5
        return weight >= 0.5 and (bool(named) or weight >= _DEDUCTION)

    def _contradicts_money(self, text: str, quantity: Quantity, tokens: set[str]) -> bool:
        """Sums of money are worked out freely in a sale; only a stated limit or price is held against the sheet."""
        if quantity.value < 10 or (quantity.dimension is Dimension.PLAIN and quantity.value < 1000):
            return False
        if _LIMIT[self.language].search(text):
            for key in self.sheet.statements:
                own = [q for q in self.sheet.quantities(*key) if q.dimension is Dimension.MONEY]
                shared = tokens & self.sheet.own_tokens(*key)
                weight = sum(self.sheet.weight(token) for token in shared)
                if key[0] == self.sheet.target_id and own and self.sheet.states_limit(*key) and weight >= 0.3:
                    return True
        return quantity.dimension is Dimension.MONEY and bool(_PRICE[self.language].search(text)) and self.sheet.has_price


def _allowances(scenario: Scenario) -> tuple[Features, ...]:
    """Everything that may be offered beyond the list price, and what the price already includes."""
    prices = [product.price for product in scenario.products]
    texts = [text for price in prices for text in (*price.allowed_offers, *price.details, price.headline)]
    return tuple(features_of(text, scenario.language) for text in texts)
