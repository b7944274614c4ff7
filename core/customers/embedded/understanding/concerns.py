"""Which of the customer's concerns a remark is about."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rapidfuzz import fuzz

from core.customers.embedded.understanding.features import features_of, stem
from core.customers.embedded.understanding.lexicon import Lexicon
from core.customers.embedded.understanding.text import Turn, normalise
from core.scenarios import Concern, Language, Scenario

__all__ = ["Concerns", "Topic"]

_QUOTED = 88.0
"""Similarity, in per cent, from which a customer's line counts as one of the concern's own texts."""


@dataclass(frozen=True)
class Topic:
    """A concern's topic words, ready for matching: stems in English, plain text in Chinese."""

    concern: Concern
    words: tuple[tuple[str, float], ...]
    """Each with its weight: shared between concerns 0.6, otherwise 1; phrases count double."""


class Concerns:
    """All concerns of a scenario. Immutable once built; share one for a scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self.language = scenario.language
        self.concerns = scenario.customer.concerns
        counts: dict[str, int] = {}
        for concern in self.concerns:
            for word in {self._form(word) for word in concern.topic_words}:
                counts[word] = counts.get(word, 0) + 1
        self.topics = tuple(Topic(concern, self._weighted(concern, counts)) for concern in self.concerns)
        self._texts = {
            concern.id: tuple(normalise(text, self.language) for text in (concern.question, concern.worry, concern.pushback))
            for concern in self.concerns
        }
        self._tokens = {
            concern.id: frozenset(
                token
                for text in (concern.question, concern.worry, concern.label, *concern.topic_words)
                for token in features_of(text, self.language).tokens
            )
            for concern in self.concerns
        }

    def _form(self, text: str) -> str:
        normal = normalise(text, self.language)
        return " ".join(stem(word) for word in normal.split()) if self.language is Language.EN else normal

    def _weighted(self, concern: Concern, counts: dict[str, int]) -> tuple[tuple[str, float], ...]:
        weighted: dict[str, float] = {}
        for word in concern.topic_words:
            form = self._form(word)
            long = " " in form if self.language is Language.EN else len(form) >= 4
            weighted[form] = (0.6 if counts[form] > 1 else 1.0) * (1.5 if long else 1.0)
        return tuple(weighted.items())

    def points(self, clause: str) -> dict[str, float]:
        """Weight of the topic words of each concern in a clause; concerns without any are left out."""
        form = f" {self._form(clause)} "
        found: dict[str, float] = {}
        for topic in self.topics:
            hits = [
                (word, weight)
                for word, weight in topic.words
                if (f" {word} " in form if self.language is Language.EN else word in form)
            ]
            # "lock in" also holds "lock": a word inside another hit adds nothing.
            total = sum(weight for word, weight in hits if not any(word in other and word != other for other, _ in hits))
            if total:
                found[topic.concern.id] = total
        return found

    def voiced(self, last_customer_text: str | None) -> tuple[str, ...]:
        """Ids of the concerns that the customer's last turn was about: its own words, or several of its topic words."""
        if not last_customer_text:
            return ()
        normal = normalise(last_customer_text[:2000], self.language)
        quoted = [
            concern_id
            for concern_id, texts in self._texts.items()
            if any(text in normal or fuzz.partial_ratio(text, normal) >= _QUOTED for text in texts if len(text) >= 6)
        ]
        if quoted:
            return tuple(quoted)
        points = self.points(normal)
        best = max(points.values(), default=0.0)
        return tuple(concern_id for concern_id, value in points.items() if value == best and value >= 2.0)

    def relatedness(self, concern_id: str, text: str) -> int:
        """How many content words a remark shares with everything that is written about the concern."""
        return len(self._tokens[concern_id] & set(features_of(text, self.language).tokens))


@dataclass(frozen=True)
class Remark:
    clause: int
    concern_id: str


NEEDED = 2.0
"""Points from which a remark without evidence is taken to be about a concern."""


def remarks(turn: Turn, lexicon: Lexicon, concerns: Concerns, voiced: tuple[str, ...], plain: set[int]) -> list[Remark]:
    """Statements about a concern among the clauses in ``plain``: one a concern, the first that counts.

    A topic word alone is not enough: it takes two, or one together with words of reassurance or with the customer having just
    spoken of it. Reassurance by itself is an answer to what was just voiced.
    """
    found: dict[str, Remark] = {}
    reassuring = {turn.clause_at(hit.start) for pattern in lexicon.moves["reassure"].anywhere for hit in pattern.hits(turn.text)}
    for index in sorted(plain):
        clause = turn.clauses[index]
        points = concerns.points(clause.text)
        calms = index in reassuring
        for concern_id, value in points.items():
            total = value + (1.0 if concern_id in voiced else 0.0) + (1.0 if calms else 0.0)
            if total >= NEEDED:
                found.setdefault(concern_id, Remark(index, concern_id))
        if calms and voiced and not points:
            found.setdefault(voiced[0], Remark(index, voiced[0]))
    return list(found.values())


_WORD_EN = re.compile(r"[a-z]+")
