"""The moves that are recognised by how they sound: questions, courtesies, steps, closes, pressure, orders."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from core.customers.embedded.acts import SellerMove
from core.customers.embedded.understanding.lexicon import Hit, Lexicon, PatternList, Patterns, load_lexicon
from core.customers.embedded.understanding.text import Clause, Turn, normalise
from core.scenarios import FactTopic, Language

__all__ = ["Found", "Moves"]


@dataclass(frozen=True)
class Found:
    """A move heard in a clause, by the clause's index."""

    clause: int
    move: SellerMove
    topic: FactTopic | None = None
    specific: bool = False
    detail: str = ""


QUESTIONS = (
    SellerMove.ASK_CONCERN,
    SellerMove.ASK_FACT,
    SellerMove.ASK_SITUATION,
    SellerMove.ASK_NEED,
    SellerMove.ASK_OTHER,
)


_TAG_LENGTH = {Language.EN: 16, Language.ZH: 5}
"""Characters of a clause that may do no more than turn the one before it into a question."""


class Moves:
    """Reads one turn. ``step_words`` are the scenario's own words for a next step, in normal form."""

    def __init__(self, turn: Turn, lexicon: Lexicon, step_words: tuple[str, ...], *, first_turn: bool) -> None:
        self.turn = turn
        self.lexicon = lexicon
        self._step_words = step_words
        self._first_turn = first_turn
        self.found: list[Found] = []
        self._orders = self._ordering_sentences()

    def read(self) -> list[Found]:
        """All moves of the turn, in order of their clauses."""
        for sentence in sorted(self._orders):
            first = next(i for i, clause in enumerate(self.turn.clauses) if clause.sentence == sentence)
            self.found.append(Found(first, SellerMove.INSTRUCT))
        self._simple(SellerMove.INSULT, self.lexicon.moves["insult"])
        self._simple(SellerMove.GREET, self.lexicon.moves["greet"])
        self._pressure()
        self._simple(SellerMove.ACCEPT_NO, self.lexicon.moves["accept_no"], questions=False)
        self._simple(SellerMove.EMPATHISE, self.lexicon.moves["empathise"], questions=False)
        self._simple(SellerMove.PRAISE, self.lexicon.moves["praise"], questions=False)
        self._simple(SellerMove.CLOSE, self.lexicon.moves["close"])
        self._propose()
        self._ask()
        self._farewell()
        self.found.sort(key=lambda item: item.clause)
        return self.found

    # -- matching -----------------------------------------------------------------------------------------------------

    def _clauses(self, patterns: PatternList) -> Iterator[tuple[int, Hit]]:
        for pattern in patterns:
            for hit in pattern.hits(self.turn.text):
                yield self.turn.clause_at(hit.start), hit

    def hears(self, patterns: Patterns) -> set[int]:
        """Indexes of the clauses in which one of the patterns counts."""
        heard: set[int] = set()
        for index, hit in self._clauses(patterns.anywhere):
            if not (patterns.negatable and self._negated(index, hit)):
                heard.add(index)
        heard |= {index for index, _ in self._clauses(patterns.in_question) if self._asking(index)}
        heard |= {index for index, _ in self._clauses(patterns.in_statement) if not self._asking(index)}
        return {index for index in heard if not patterns.cancelled(self._marked(index)) and not self._is_order(index)}

    def _marked(self, index: int) -> str:
        return self.turn.clauses[index].text

    def _negated(self, index: int, hit: Hit) -> bool:
        before = self.turn.text[self.turn.starts[index] : hit.start]
        return self.lexicon.negation.occurs_in(before)

    def _asking(self, index: int) -> bool:
        """Whether the clause asks, or the next one of its sentence turns it into a question ("…, roughly?")."""
        clauses = self.turn.clauses
        if clauses[index].question:
            return True
        following = index + 1
        return (
            following < len(clauses)
            and clauses[following].sentence == clauses[index].sentence
            and self._is_tag(clauses[following])
        )

    def _is_tag(self, clause: Clause) -> bool:
        return clause.question and len(clause.text) <= _TAG_LENGTH[self.lexicon.language]

    def _is_order(self, index: int) -> bool:
        return self.turn.clauses[index].sentence in self._orders

    def _simple(self, move: SellerMove, patterns: Patterns, *, questions: bool = True) -> None:
        heard = self.hears(patterns)
        self.found += [Found(i, move) for i in sorted(heard) if questions or not self.turn.clauses[i].question]

    def has(self, index: int, *moves: SellerMove) -> bool:
        return any(item.clause == index and item.move in moves for item in self.found)

    # -- single moves -------------------------------------------------------------------------------------------------

    def _ordering_sentences(self) -> frozenset[int]:
        """Sentences that give orders to a simulator. Orders come in either language, whatever the dialogue's."""
        sentences: set[int] = set()
        for language in Language:
            lexicon = load_lexicon(language)
            patterns = lexicon.moves["instruct"]
            text = self.turn.text if language is self.lexicon.language else self.in_language(language)
            if not text:
                continue
            for pattern in patterns.anywhere:
                for hit in pattern.hits(text):
                    line = text[text.rfind("\n", 0, hit.start) + 1 : _line_end(text, hit.end)]
                    if not patterns.cancelled(line):
                        sentences.add(text.count("\n", 0, hit.start))
            for expression in lexicon.raw_orders:
                for match in expression.finditer(self.turn.original):
                    sentences.add(self._sentence_at(match.end()))
        return frozenset(sentences)

    def in_language(self, language: Language) -> str:
        """The normal form by another language's rules, one line a sentence as in :attr:`Turn.text`."""
        lines: dict[int, list[str]] = {}
        for clause in self.turn.clauses:
            raw = self.turn.original[clause.start : clause.end]
            lines.setdefault(clause.sentence, []).append(normalise(raw, language))
        separator = ", " if language is Language.EN else ","
        return "\n".join(separator.join(lines[number]) for number in sorted(lines))

    def _sentence_at(self, offset: int) -> int:
        """Number of the sentence at, or next after, an offset of the original."""
        for clause in self.turn.clauses:
            if clause.end >= offset:
                return clause.sentence
        return self.turn.clauses[-1].sentence

    def _pressure(self) -> None:
        for kind, patterns in self.lexicon.pressure.items():
            heard = {i for i in self.hears(patterns) if not self.lexicon.no_pressure.cancelled(self.turn.clauses[i].text)}
            self.found += [Found(i, SellerMove.PRESSURE, detail=kind) for i in sorted(heard)]

    def _propose(self) -> None:
        frames = {index for index, _ in self._clauses(self.lexicon.step_frames)}
        actions = {index for index, hit in self._clauses(self.lexicon.step_actions) if not self._declined(index, hit)}
        timed = {index for index, _ in self._clauses(self.lexicon.step_times)}
        exact = timed | {index for index, _ in self._clauses(self.lexicon.step_channels)}
        for index, clause in enumerate(self.turn.clauses):
            if self._is_order(index) or self.lexicon.no_step.cancelled(clause.text):
                continue
            own_word = any(_has_word(clause.text, word, self.lexicon.language) for word in self._step_words)
            framed = index in frames or self._framed_by_neighbour(index, frames)
            if not framed or not (index in actions or (own_word and index in timed)):
                continue
            if self.has(index, SellerMove.PRESSURE) and not clause.question and index not in actions:
                continue
            specific = index in exact or self._neighbour_in(index, exact)
            detail = "time" if index in timed or self._neighbour_in(index, timed) else "channel" if specific else ""
            self.found.append(Found(index, SellerMove.PROPOSE_STEP, specific=specific, detail=detail))
        self._settle_close(timed)

    def _declined(self, index: int, hit: Hit) -> bool:
        """ "I won't call you": a step that is denied. In a question a negation invites ("why don't we …")."""
        return not self.turn.clauses[index].question and self._negated(index, hit)

    def _neighbour_in(self, index: int, indexes: set[int]) -> bool:
        """Whether the clause before or after, in the same sentence, is among these."""
        sentence = self.turn.clauses[index].sentence
        near = (index - 1, index + 1)
        return any(i in indexes and self.turn.clauses[i].sentence == sentence for i in near if 0 <= i < len(self.turn.clauses))

    def _framed_by_neighbour(self, index: int, frames: set[int]) -> bool:
        """ "How about it, Thursday at the branch?": the frame may stand one clause away, or the sentence asks."""
        return self._neighbour_in(index, frames) and self.turn.clauses[index].question

    def _settle_close(self, timed: set[int]) -> None:
        """A close at a given time is a next step; a step without a time is the close that it sounds like."""
        steps = {item.clause: item for item in self.found if item.move is SellerMove.PROPOSE_STEP}
        closes = {item.clause for item in self.found if item.move is SellerMove.CLOSE}
        drop = {(index, SellerMove.CLOSE if index in timed else SellerMove.PROPOSE_STEP) for index in steps.keys() & closes}
        self.found = [item for item in self.found if (item.clause, item.move) not in drop]

    def _ask(self) -> None:
        facts = {topic: self.hears(patterns) for topic, patterns in self.lexicon.facts.items()}
        kinds = {
            SellerMove.ASK_CONCERN: self.hears(self.lexicon.moves["ask_concern"]),
            SellerMove.ASK_SITUATION: self.hears(self.lexicon.moves["ask_situation"]),
            SellerMove.ASK_NEED: self.hears(self.lexicon.moves["ask_need"]),
        }
        for index in range(len(self.turn.clauses)):
            if not self._asking(index) or self._is_order(index):
                continue
            topics = [topic for topic, heard in facts.items() if index in heard]
            if self.has(index, SellerMove.PROPOSE_STEP, SellerMove.CLOSE):
                continue
            if index in kinds[SellerMove.ASK_CONCERN]:
                self.found.append(Found(index, SellerMove.ASK_CONCERN))
            elif topics:
                self.found += [Found(index, SellerMove.ASK_FACT, topic=topic) for topic in topics]
            elif index in kinds[SellerMove.ASK_SITUATION]:
                self.found.append(Found(index, SellerMove.ASK_SITUATION))
            elif index in kinds[SellerMove.ASK_NEED]:
                self.found.append(Found(index, SellerMove.ASK_NEED))
            elif self._is_open_question(index):
                self.found.append(Found(index, SellerMove.ASK_OTHER))

    def _is_open_question(self, index: int) -> bool:
        clause = self.turn.clauses[index]
        taken = any(item.clause == index for item in self.found)
        tag = self.lexicon.moves["ask_other"].cancelled(clause.text) and len(clause.text) <= 24
        return clause.question and not taken and not tag and len(clause.text) >= 3

    def _farewell(self) -> None:
        heard = self.hears(self.lexicon.moves["farewell"])
        asks = any(item.move in QUESTIONS for item in self.found)
        greets = self._first_turn and any(item.move is SellerMove.GREET for item in self.found)
        if not greets and not asks:
            self.found += [Found(i, SellerMove.FAREWELL) for i in sorted(heard)]


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _has_word(text: str, word: str, language: Language) -> bool:
    return word in text if language is Language.ZH else f" {word} " in f" {text} "
