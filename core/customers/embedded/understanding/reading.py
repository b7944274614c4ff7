"""Puts together what was heard in one turn of a salesperson."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from rapidfuzz import fuzz

from core.customers.embedded.acts import SellerAct, SellerMove, Understood
from core.customers.embedded.understanding.claims import Claims
from core.customers.embedded.understanding.concerns import Concerns, remarks
from core.customers.embedded.understanding.features import features_of
from core.customers.embedded.understanding.lexicon import load_lexicon
from core.customers.embedded.understanding.moves import QUESTIONS, Found, Moves
from core.customers.embedded.understanding.sheet import STRONG, Match, Sheet
from core.customers.embedded.understanding.text import Turn, is_in_language, normalise, read_turn
from core.scenarios import Concern, Language, Scenario

__all__ = ["Listener", "listener_for"]

_OTHER_PRODUCT = 0.75
"""Score from which a statement that nobody attributed is taken to be about another product than the target."""
_REPEAT_RATIO = 90.0
_REPEAT_LENGTH = {Language.EN: 24, Language.ZH: 9}
"""Characters of a sentence below which saying it twice is no repetition: "Hello", "好的"."""
_REPEAT_SENTENCES = 40

_ONCE = (SellerMove.GREET, SellerMove.ASK_NEED, SellerMove.ASK_SITUATION, SellerMove.ASK_CONCERN, SellerMove.EMPATHISE,
         SellerMove.PRAISE, SellerMove.CLOSE, SellerMove.INSTRUCT, SellerMove.INSULT, SellerMove.ACCEPT_NO,
         SellerMove.FAREWELL)  # fmt: skip


_UNITS = re.compile(r"[a-z]+|[一-鿿]")


def _texts_of(scenario: Scenario) -> Iterator[str]:
    """Everything written about the products and by the customer."""
    for product in scenario.products:
        yield from (product.name, product.summary, *product.selling_points, product.price.headline, *product.price.details)
        for item in product.evidence:
            yield from (item.name, item.text, *item.aliases)
        yield from product.price.allowed_offers
    customer = scenario.customer
    yield from (customer.need, customer.situation, customer.goal, *customer.motivations, *customer.pain_points)
    yield from (fact.statement for fact in customer.facts)
    for concern in customer.concerns:
        yield from (concern.question, concern.worry, *concern.topic_words)


@dataclass(frozen=True)
class _Said:
    """Statements of the sheet recognised in one clause, or over a whole sentence that begins with it."""

    clause: int
    quote: str
    matches: tuple[Match, ...]


class Listener:
    """Understands turns of one scenario. Holds what is worked out once: indexed sheets, topic words, words for a next step."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.language = scenario.language
        self.lexicon = load_lexicon(scenario.language)
        self.sheet = Sheet(scenario.products, scenario.language)
        self.concerns = Concerns(scenario)
        words = (normalise(word, scenario.language) for word in scenario.customer.next_step_words)
        timed = self.lexicon.step_times
        self._step_words = tuple(sorted({word for word in words if word and not any(any(p.hits(word)) for p in timed)}))
        self._vocabulary = self._known_units()

    def understand(self, text: str, earlier: Sequence[str], last_customer_text: str | None) -> Understood:
        """See :func:`core.customers.embedded.understanding.understand`."""
        turn = read_turn(text, self.language, self.lexicon.mended)
        if not turn.clauses:
            return self._unclear(turn)
        moves = Moves(turn, self.lexicon, self._step_words, first_turn=not earlier)
        found = moves.read()
        foreign = not is_in_language(text, self.language)
        if foreign:
            found = [item for item in found if item.move in (SellerMove.INSTRUCT, SellerMove.INSULT)]
            return self._assembled(turn, found, [], []) if found else self._unclear(turn)
        claims = Claims(turn, self.lexicon, self.sheet, self.scenario, last_customer_text)
        offers = [item for item in claims.offers() if not _has(found, item.clause, SellerMove.INSTRUCT)]
        taken = {item.clause for item in offers} | {i.clause for i in found if i.move in (SellerMove.INSTRUCT, *QUESTIONS)}
        false = claims.contradictions(taken)
        said = self._statements(turn, found, {item.clause for item in false})
        found = self._without_explained(turn, found, said, offers)
        found += [*offers, *false]
        voiced = self.concerns.voiced(last_customer_text)
        acts = self._informing(turn, said, voiced) + self._remarks(turn, found, said, voiced)
        repeats = self._repeats(turn, earlier)
        if not found and not acts and not repeats:
            return self._nothing_heard(turn)
        return self._assembled(turn, found, acts, repeats)

    def _known_units(self) -> frozenset[str]:
        """Words in English, characters in Chinese, that the language and this scenario are made of."""
        texts = list(_texts_of(self.scenario))
        units = {unit for text in texts for unit in _UNITS.findall(normalise(text, self.language))}
        common = self.lexicon.common_words
        if self.language is Language.ZH:
            return frozenset(units | {char for word in common for char in word})
        return frozenset(units | common)

    # -- words --------------------------------------------------------------------------------------------------------

    def _unclear(self, turn: Turn) -> Understood:
        act = SellerAct(move=SellerMove.UNCLEAR, quote=turn.original.strip()[:200])
        return Understood(acts=(act,), question_count=self._question_count(turn), length=turn.length)

    def _nothing_heard(self, turn: Turn) -> Understood:
        """A turn that does nothing we know of: a plain remark if it is language, noise otherwise."""
        if self._is_noise(turn):
            return self._unclear(turn)
        act = SellerAct(move=SellerMove.INFORM, quote=turn.quote(0))
        return Understood(acts=(act,), question_count=self._question_count(turn), length=turn.length)

    def _is_noise(self, turn: Turn) -> bool:
        """Whether hardly anything in the turn is a word of the language or of the scenario."""
        units = [unit for clause in turn.clauses for unit in _UNITS.findall(clause.text)]
        if not units:
            return True
        known = sum(unit in self._vocabulary for unit in units)
        if self.language is Language.ZH and len(units) >= 4 and len(set(units)) <= len(units) // 4:
            return True
        return known < 0.34 * len(units)

    @staticmethod
    def _question_count(turn: Turn) -> int:
        return sum(clause.question for clause in turn.clauses)

    # -- the sheet ----------------------------------------------------------------------------------------------------

    def _statements(self, turn: Turn, found: list[Found], false: set[int]) -> list[_Said]:
        """What of the sheets was said, clause by clause, and across the clauses of a sentence."""
        said: list[_Said] = []
        orders = {turn.clauses[item.clause].sentence for item in found if item.move is SellerMove.INSTRUCT}
        sentences: dict[int, list[int]] = {}
        for index, clause in enumerate(turn.clauses):
            if clause.sentence not in orders:
                sentences.setdefault(clause.sentence, []).append(index)
        focus: str | None = None
        for sentence, indexes in sentences.items():
            whole = ", ".join(turn.clauses[index].text for index in indexes)
            focus = self._named_last(whole) or focus
            product_id = focus or self._meant_product(whole)
            heard: set[tuple[str, str]] = set()
            for index in indexes:
                if index not in false:
                    matches = self._matches(turn.clauses[index].text, product_id, asked=turn.clauses[index].question)
                    heard |= {(match.product_id, match.evidence_id) for match in matches}
                    said.append(_Said(index, turn.quote(index), matches))
            asked = any(turn.clauses[index].question for index in indexes)
            if len(indexes) > 1 and not asked and not false & set(indexes):
                more = self._matches(whole, product_id, asked=False)
                new = tuple(match for match in more if (match.product_id, match.evidence_id) not in heard)
                said.append(_Said(indexes[0], turn.sentence_quote(sentence), new))
        return [item for item in said if item.matches]

    def _matches(self, text: str, product_id: str, *, asked: bool) -> tuple[Match, ...]:
        if self.lexicon.elsewhere.cancelled(text):
            return ()
        least = STRONG if asked else 0.0
        matches = self.sheet.match(features_of(text, self.language))
        return tuple(match for match in matches if match.product_id == product_id and match.score >= least)

    def _meant_product(self, sentence: str) -> str:
        """The product that a sentence fits best where none was named; the target, unless another fits clearly better."""
        target = self.sheet.target_id
        if len(self.scenario.products) == 1:
            return target
        best: dict[str, float] = {}
        for match in self.sheet.match(features_of(sentence, self.language)):
            best[match.product_id] = max(best.get(match.product_id, 0.0), match.score)
        if not best:
            return target
        leader = max(best, key=lambda product_id: (best[product_id], product_id == target))
        clearly = best[leader] >= _OTHER_PRODUCT and best[leader] > best.get(target, 0.0) + 0.05
        return leader if clearly else target

    def _named_last(self, text: str) -> str | None:
        """The product that a sentence names, the last one if it names several; it stays the subject until another is named."""
        if len(self.scenario.products) == 1:
            return None
        places = {
            product_id: max((text.rfind(name) for name in names if name), default=-1)
            for product_id, names in self.sheet.names.items()
        }
        last = max(places, key=lambda product_id: places[product_id])
        return last if places[last] >= 0 else None

    def _named(self, text: str) -> set[str]:
        return {product for product, names in self.sheet.names.items() if any(name and name in text for name in names)}

    def _without_explained(self, turn: Turn, found: list[Found], said: list[_Said], offers: list[Found]) -> list[Found]:
        """Drop what something more specific in the same clause explains.

        Praise with a statement in it is no empty praise; "you can do it in the app" states and proposes nothing; a question
        that makes an offer or a statement asks nothing else.
        """
        specific = {item.clause for item in said}
        offering = {item.clause for item in offers}

        def explained(item: Found) -> bool:
            if item.move is SellerMove.PRAISE:
                return item.clause in specific
            if item.move is SellerMove.PROPOSE_STEP:
                return item.clause in specific and item.detail != "time" and not turn.clauses[item.clause].question
            return item.move is SellerMove.ASK_OTHER and item.clause in offering | specific

        return [item for item in found if not explained(item)]

    def _informing(self, turn: Turn, said: list[_Said], voiced: tuple[str, ...]) -> list[tuple[int, SellerAct]]:
        """Statements as acts: each statement once a turn, under the concern that it meets best, or under none."""
        acts: list[tuple[int, SellerAct]] = []
        given: set[tuple[str, str]] = set()
        for item in said:
            groups: dict[str | None, list[str]] = {}
            others: dict[str, list[str]] = {}
            for match in item.matches:
                key = (match.product_id, match.evidence_id)
                if key in given:
                    continue
                given.add(key)
                if match.product_id != self.sheet.target_id:
                    others.setdefault(match.product_id, []).append(match.evidence_id)
                else:
                    concern = self._met(match.evidence_id, turn.clauses[item.clause].text, voiced)
                    groups.setdefault(concern.id if concern else None, []).append(match.evidence_id)
            for concern_id, ids in groups.items():
                move = SellerMove.INFORM if concern_id is None else SellerMove.ADDRESS_CONCERN
                acts.append((item.clause, SellerAct(move=move, concern_id=concern_id, evidence_ids=tuple(ids), quote=item.quote)))
            for product_id, ids in others.items():
                act = SellerAct(move=SellerMove.INFORM, product_id=product_id, evidence_ids=tuple(ids), quote=item.quote)
                acts.append((item.clause, act))
        return acts

    def _met(self, evidence_id: str, text: str, voiced: tuple[str, ...]) -> Concern | None:
        """Of the concerns that this statement meets: the one just voiced, else the one spoken of, else the first."""
        met = [concern for concern in self.concerns.concerns if evidence_id in concern.eased_by]
        if not met:
            return None
        points = self.concerns.points(text)
        return max(
            met, key=lambda concern: (concern.id in voiced, points.get(concern.id, 0.0), concern.eased_by[0] == evidence_id)
        )

    def _remarks(self, turn: Turn, found: list[Found], said: list[_Said], voiced: tuple[str, ...]) -> list[tuple[int, SellerAct]]:
        """Remarks about a concern that carry no evidence for it."""
        busy = {item.clause for item in found if item.move not in (SellerMove.PRAISE, SellerMove.ACCEPT_NO)}
        plain = {i for i, clause in enumerate(turn.clauses) if not clause.question and i not in busy}
        easing = {match.evidence_id for item in said for match in item.matches if match.product_id == self.sheet.target_id}
        acts: list[tuple[int, SellerAct]] = []
        evident = {item.clause for item in said}
        for remark in remarks(turn, self.lexicon, self.concerns, voiced, plain - evident):
            concern = next(item for item in self.concerns.concerns if item.id == remark.concern_id)
            if easing & set(concern.eased_by) or (easing and concern.id not in voiced):
                continue
            act = SellerAct(move=SellerMove.ADDRESS_CONCERN, concern_id=concern.id, quote=turn.quote(remark.clause))
            acts.append((remark.clause, act))
        return acts

    # -- repetition ---------------------------------------------------------------------------------------------------

    def _repeats(self, turn: Turn, earlier: Sequence[str]) -> list[tuple[int, SellerAct]]:
        """The first sentence that was said before, nearly word for word."""
        before = {line for text in earlier for line in _lines(text, self.language)}
        if not before:
            return []
        lines = turn.text.split("\n")
        for number, marked in enumerate(lines[:_REPEAT_SENTENCES]):
            line = marked.rstrip("?")
            if len(line) < _REPEAT_LENGTH[self.language]:
                continue
            if line in before or any(_alike(line, other) for other in before):
                first = next(i for i, clause in enumerate(turn.clauses) if clause.sentence >= number)
                sentence = turn.clauses[first].sentence
                return [(first, SellerAct(move=SellerMove.REPEAT, quote=turn.sentence_quote(sentence)))]
        return []

    # -- putting together ---------------------------------------------------------------------------------------------

    def _assembled(
        self, turn: Turn, found: list[Found], acts: list[tuple[int, SellerAct]], repeats: list[tuple[int, SellerAct]]
    ) -> Understood:
        placed = [(item.clause, self._act(turn, item)) for item in _distinct(found)]
        ordered = sorted([*placed, *acts, *repeats], key=lambda item: item[0])
        return Understood(acts=tuple(act for _, act in ordered), question_count=self._question_count(turn), length=turn.length)

    def _act(self, turn: Turn, item: Found) -> SellerAct:
        quote = turn.quote(item.clause)
        product_id = None
        if item.move is SellerMove.INSTRUCT:
            quote = turn.sentence_quote(turn.clauses[item.clause].sentence)
        if item.move in (SellerMove.PROPOSE_STEP, SellerMove.CLOSE) and len(self.scenario.products) > 1:
            named = self._named(turn.clauses[item.clause].text)
            if named and self.sheet.target_id not in named:
                product_id = min(named)
        return SellerAct(
            move=item.move, topic=item.topic, product_id=product_id, specific=item.specific, detail=item.detail, quote=quote
        )


def _has(found: list[Found], clause: int, move: SellerMove) -> bool:
    return any(item.clause == clause and item.move is move for item in found)


def _distinct(found: list[Found]) -> list[Found]:
    """Each move once, each fact topic once, each kind of pressure and offer once; the better-defined step wins."""
    kept: dict[tuple[object, ...], Found] = {}
    for item in sorted(found, key=lambda entry: entry.clause):
        if item.move in _ONCE or item.move is SellerMove.PROPOSE_STEP:
            key: tuple[object, ...] = (item.move,)
        elif item.move is SellerMove.ASK_OTHER:
            key = (item.move, item.clause)
        else:
            key = (item.move, item.topic, item.detail)
        first = kept.setdefault(key, item)
        if item.specific and not first.specific:
            kept[key] = replace(first, specific=True, clause=item.clause)
    return list(kept.values())


def _alike(one: str, other: str) -> bool:
    if abs(len(one) - len(other)) > 0.2 * max(len(one), len(other)):
        return False
    return fuzz.ratio(one, other, score_cutoff=_REPEAT_RATIO) > 0


@lru_cache(maxsize=256)
def _lines(text: str, language: Language) -> frozenset[str]:
    """The sentences of an earlier turn that are long enough to be repeated, in normal form."""
    lines = read_turn(text, language).text.split("\n")
    return frozenset(line.rstrip("?") for line in lines if len(line) >= _REPEAT_LENGTH[language])


@lru_cache(maxsize=64)
def listener_for(scenario: Scenario) -> Listener:
    """The listener of a scenario, made once."""
    return Listener(scenario)
