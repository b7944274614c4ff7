"""The product sheets of a scenario, indexed so that their statements are recognised in other words."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import lru_cache

from rapidfuzz import fuzz, process

from core.customers.embedded.understanding.features import Features, features_of
from core.customers.embedded.understanding.quantity import Dimension, Quantity
from core.customers.embedded.understanding.text import normalise
from core.scenarios import Language, Product

__all__ = ["Match", "Phrase", "Sheet"]

STRONG = 0.8
"""Score from which a statement counts even inside a question."""

_SIMILAR = 87.0
"""Similarity, in per cent, from which two stems are taken for one misspelt."""

_LIMIT = re.compile(
    r"\b(?:[Ff]rom|[Mm]inimum|[Mm]aximum|[Uu]p to|[Aa]t (?:most|least))\b|最多|最少|起存|起投|最高|最低|上限|以内|以下|不超过"
)

_WEAK_DIMENSIONS = frozenset({Dimension.TIME, Dimension.PLAIN, Dimension.UNIT})


@dataclass(frozen=True)
class Match:
    """A statement of the sheet recognised in a piece of a turn."""

    product_id: str
    evidence_id: str
    score: float


@dataclass(frozen=True)
class Phrase:
    """One way of saying a statement."""

    product_id: str
    evidence_id: str
    kind: str
    """``text``, ``alias`` or ``name``."""
    features: Features
    weight: float


@dataclass
class _Tally:
    matched: float = 0.0
    tokens: set[str] = field(default_factory=set)


class Sheet:
    """All products of a scenario. Immutable once built; share one for a scenario."""

    def __init__(self, products: tuple[Product, ...], language: Language) -> None:
        self.language = language
        self.products = products
        self.target_id = products[0].id
        self._weights = self._token_weights()
        self.phrases = tuple(self._phrases())
        self._postings: dict[str, list[int]] = defaultdict(list)
        self._own: dict[tuple[str, str], frozenset[str]] = {}
        self._quantities: dict[tuple[str, str], tuple[Quantity, ...]] = {}
        for index, phrase in enumerate(self.phrases):
            for token in set(phrase.features.tokens):
                self._postings[token].append(index)
            key = (phrase.product_id, phrase.evidence_id)
            self._own[key] = self._own.get(key, frozenset()) | set(phrase.features.tokens)
            self._quantities[key] = self._quantities.get(key, ()) + phrase.features.quantities
        self._names = {
            (product.id, item.id): frozenset(t for t in self._features(item.name).tokens if self.weight(t) >= 0.5)
            for product in products
            for item in product.evidence
        }
        self._limits = {
            (product.id, item.id)
            for product in products
            for item in product.evidence
            if _LIMIT.search(f"{item.name} {item.text}")
        }
        self._thin = tuple(phrase for phrase in self.phrases if phrase.kind == "alias" and self._is_thin(phrase))
        self._vocabulary = tuple(token for token in self._postings if len(token) >= 5)
        self._mended = lru_cache(maxsize=4096)(self._mend)
        self.names = {product.id: self._product_names(product) for product in products}
        self.known_quantities = tuple(self._all_quantities())

    # -- building -----------------------------------------------------------------------------------------------------

    def _features(self, text: str) -> Features:
        return features_of(text, self.language)

    def _token_weights(self) -> dict[str, float]:
        """Inverse frequency over the statements of one product each, the rarest where products differ."""
        weights: dict[str, float] = {}
        for product in self.products:
            counts: Counter[str] = Counter()
            for item in product.evidence:
                said = {token for text in (item.name, item.text, *item.aliases) for token in self._features(text).tokens}
                counts.update(said)
            general = set(self._features(f"{product.name} {product.short_name} {product.category_name}").tokens)
            total = len(product.evidence)
            for token, count in counts.items():
                weight = math.log(1.0 + total / count) / math.log(1.0 + total)
                if token in general:
                    weight *= 0.4
                weights[token] = min(weights.get(token, weight), weight)
        return weights

    def weight(self, token: str) -> float:
        """How telling a token is, in (0, 1]."""
        return self._weights.get(token, 0.0)

    def _phrases(self) -> list[Phrase]:
        phrases: list[Phrase] = []
        for product in self.products:
            for item in product.evidence:
                texts = [("text", item.text), ("name", item.name), *(("alias", alias) for alias in item.aliases)]
                for kind, text in texts:
                    features = self._features(text)
                    weight = sum(self.weight(token) for token in set(features.tokens)) + 0.8 * len(features.quantities)
                    phrases.append(Phrase(product.id, item.id, kind, features, weight))
        return phrases

    def _is_thin(self, phrase: Phrase) -> bool:
        """Whether an alias holds too few telling words to be recognised by them, and is long enough to be taken literally."""
        enough = len(phrase.features.plain) >= (6 if self.language is Language.EN else 3)
        return enough and phrase.weight < 1.6

    def _product_names(self, product: Product) -> tuple[str, ...]:
        names = {normalise(name, self.language) for name in (product.name, product.short_name)}
        return tuple(
            sorted(name.removeprefix("the ").removeprefix("这款").removeprefix("这台").removeprefix("这个") for name in names)
        )

    def _all_quantities(self) -> list[Quantity]:
        found: list[Quantity] = []
        for product in self.products:
            texts = [product.name, product.summary, *product.selling_points, product.price.headline]
            texts += [*product.price.details, *product.price.allowed_offers]
            for item in product.evidence:
                texts += [item.text, item.name, *item.aliases]
            found.extend(quantity for text in texts for quantity in self._features(text).quantities)
        return found

    # -- reading ------------------------------------------------------------------------------------------------------

    def _mend(self, token: str) -> str:
        """The token of the sheets that this one most likely is, or itself."""
        if token in self._postings or len(token) < 5 or self.language is Language.ZH:
            return token
        found = process.extractOne(token, self._vocabulary, scorer=fuzz.ratio, score_cutoff=_SIMILAR)
        return found[0] if found and found[0][0] == token[0] else token

    def tokens(self, features: Features) -> tuple[str, ...]:
        return tuple(self._mended(token) for token in features.tokens)

    def own_tokens(self, product_id: str, evidence_id: str) -> frozenset[str]:
        """Every token by which a statement may be said."""
        return self._own[product_id, evidence_id]

    def quantities(self, product_id: str, evidence_id: str) -> tuple[Quantity, ...]:
        return self._quantities[product_id, evidence_id]

    def name_tokens(self, product_id: str, evidence_id: str) -> frozenset[str]:
        """Tokens of the statement's name that few other statements share."""
        return self._names[product_id, evidence_id]

    def states_limit(self, product_id: str, evidence_id: str) -> bool:
        """Whether the statement says how much is the least or the most."""
        return (product_id, evidence_id) in self._limits

    @property
    def has_price(self) -> bool:
        """Whether the target's headline is a price, and not a rate."""
        headline = self._features(self.products[0].price.headline).quantities
        return bool(headline) and headline[0].dimension is Dimension.MONEY

    @property
    def statements(self) -> tuple[tuple[str, str], ...]:
        """Product id and statement id of every statement."""
        return tuple(self._own)

    def match(self, features: Features) -> list[Match]:
        """Statements said in this piece, the likeliest first."""
        tokens = self.tokens(features)
        present = set(tokens)
        tallies: dict[int, _Tally] = {}
        for token in present:
            for index in self._postings.get(token, ()):
                tally = tallies.setdefault(index, _Tally())
                tally.matched += self.weight(token)
                tally.tokens.add(token)
        if features.quantities:
            for index, phrase in enumerate(self.phrases):
                if phrase.features.quantities:
                    tallies.setdefault(index, _Tally())
        best: dict[tuple[str, str], float] = {}
        for index, tally in tallies.items():
            phrase = self.phrases[index]
            score = self._score(phrase, tally, features, tokens)
            key = (phrase.product_id, phrase.evidence_id)
            if score > best.get(key, 0.0):
                best[key] = score
        self._count_numbers(features, present, best)
        for phrase in self._thin:
            if _stands_in(phrase.features.plain, features.plain, self.language):
                key = (phrase.product_id, phrase.evidence_id)
                best[key] = max(best.get(key, 0.0), 0.85)
        found = [Match(product, evidence, score) for (product, evidence), score in best.items() if score >= 0.55]
        return sorted(found, key=lambda item: (-item.score, item.product_id != self.target_id))

    def _score(self, phrase: Phrase, tally: _Tally, features: Features, tokens: tuple[str, ...]) -> float:
        """Share of the phrase's weight that was said, brought to one scale for aliases, texts and names."""
        if phrase.weight <= 0.0:
            return 0.0
        same = sum(any(q.equals(other) for other in features.quantities) for q in phrase.features.quantities)
        if phrase.kind != "text" and same < len(phrase.features.quantities):
            return 0.0
        if not self._same_polarity(phrase, features):
            return 0.0
        share = (tally.matched + 0.8 * same) / phrase.weight
        matched = len(tally.tokens) + same
        total = len(set(phrase.features.tokens)) + len(phrase.features.quantities)
        if phrase.kind == "text":
            enough = matched >= (3 if self.language is Language.EN else 5) or (share >= 0.7 and matched >= 2)
            return min(1.0, 1.25 * share) if enough and share >= 0.42 else 0.0
        if total < (2 if phrase.kind == "alias" else 3):
            return 0.85 if phrase.kind == "alias" and share >= 0.99 and self._is_telling(phrase, tally, tokens) else 0.0
        if self._span(tokens, tally.tokens) > 3 * total + 6:
            return 0.0
        if share >= 0.99:
            return 0.95 if phrase.kind == "alias" else 0.6
        return share if phrase.kind == "alias" and share >= 0.7 and matched >= 3 else 0.0

    @staticmethod
    def _is_telling(phrase: Phrase, tally: _Tally, tokens: tuple[str, ...]) -> bool:
        """Whether an alias of one word or number says enough by itself. A bare duration does so as a short answer only."""
        if tally.matched >= 0.5:
            return True
        for quantity in phrase.features.quantities:
            if quantity.dimension is Dimension.TIME and len(tokens) <= 2:
                return True
            if quantity.dimension is Dimension.UNIT and len(quantity.unit) > 1 and quantity.value > 2:
                return True
            if quantity.is_telling or quantity.dimension in (Dimension.PERCENT, Dimension.MONEY):
                return True
        return False

    @staticmethod
    def _span(tokens: tuple[str, ...], matched: set[str]) -> int:
        places = [i for i, token in enumerate(tokens) if token in matched]
        return places[-1] - places[0] + 1 if places else 0

    def _same_polarity(self, phrase: Phrase, features: Features) -> bool:
        """ "No fee" is not said by "there is a fee", nor the other way round."""
        if phrase.features.negative and not features.negative:
            return phrase.kind == "text" and len(phrase.features.tokens) > 5
        return True

    def _count_numbers(self, features: Features, present: set[str], best: dict[tuple[str, str], float]) -> None:
        """Credit numbers that stand in a statement: a telling one by itself, an ordinary one with a word of that statement."""
        for quantity in features.quantities:
            holders = [key for key, known in self._quantities.items() if any(quantity.equals(other) for other in known)]
            for key in holders:
                words = sum(self.weight(token) for token in present & self._own[key])
                rivals = sum(other[0] == key[0] for other in holders)
                weak = quantity.dimension in _WEAK_DIMENSIONS and not quantity.is_telling
                score = (0.3 if weak else 0.55) + 0.35 * min(1.0, words) - (0.35 if rivals > 1 else 0.0)
                if weak and (words < 0.6 or (words < 0.9 and len(present & self._own[key]) < 2)):
                    score = 0.0
                if score >= 0.55:
                    best[key] = max(best.get(key, 0.0), min(1.0, score))


def _stands_in(phrase: str, text: str, language: Language) -> bool:
    """Whether the phrase occurs literally, in English as whole words."""
    return f" {phrase} " in f" {text} " if language is Language.EN else phrase in text
