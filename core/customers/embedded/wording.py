"""Turns a decision into what the customer says. Chooses words, decides nothing.

The scenario's own lines come first: the customer was written for this product. Where a line was said before, or there is none,
the phrase bank speaks, in the mood of the moment. No phrase and no sentence is said twice in a dialogue.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product as combinations
from random import Random

from core.customers.embedded.acts import CustomerAct, Decision, Move
from core.customers.embedded.phrases import MOODS, PhraseBank, load_phrases
from core.customers.embedded.state import Line, State
from core.scenarios import Concern, Evidence, Language, Scenario

__all__ = ["render", "sentences"]

_ENDS = re.compile(r"(?<=[.!?。！？…])[\"'”’]?\s*")
_SLOT = re.compile(r"\{(\w+)\}")
_NUMBER = re.compile(r"[$€£¥]?\d[\d,.]*\d|\d")
_UNIT = re.compile(
    r"\s?(%|percent|dollars|euros|pounds|days|weeks|months|years|hours|minutes|元|万元|天|年|个月|小时|分钟|岁|周岁)"
)

# Moods whose phrases may stand in when a mood has run out: never a friendlier tone for a hostile customer.
_FALLBACK: dict[str, tuple[str, ...]] = {
    "warm": ("warm", "any", "neutral"),
    "neutral": ("neutral", "any", "warm"),
    "cool": ("cool", "any", "neutral"),
    "hostile": ("hostile", "cool", "any"),
}

_NAMED_CONCERN = 0.6
"""Chance that a concern raised again is named by its label rather than by its kind."""


def sentences(text: str) -> list[str]:
    """The sentences of a text, without surrounding blanks."""
    return [piece for part in _ENDS.split(text) if (piece := part.strip())]


def render(decision: Decision, state: State, scenario: Scenario, rng: Random, *, heard: str = "") -> tuple[str, State]:
    """Word a decision.

    Args:
        heard: the salesperson's turn. A number of the product sheet is echoed only if it was said there.

    Returns the text, and the state with a :class:`Line` for each move, which together make up the text.
    """
    speaker = _Speaker(state, decision.mood, scenario, rng, heard)
    for index, move in enumerate(decision.moves):
        speaker.say(move, decision.moves[:index])
    bank = speaker.bank
    return bank.joiner.join(line.text for line in speaker.spoken), speaker.state


@dataclass(frozen=True)
class _Phrase:
    key: str
    text: str


class _Speaker:
    def __init__(self, state: State, mood: str, scenario: Scenario, rng: Random, heard: str) -> None:
        self.state = state
        self.bank: PhraseBank = load_phrases(scenario.language)
        self.spoken: list[Line] = []
        self._mood = mood
        self._scenario = scenario
        self._rng = rng
        self._heard = heard
        self._side = scenario.customer
        self._used = set(state.used)
        self._sentences = {_plain(sentence) for line in state.lines for sentence in sentences(line.text)}

    def say(self, move: Move, before: tuple[Move, ...]) -> None:
        """Say one move, with a lead-in where it helps the flow, and put it down."""
        phrases = [*self._lead(move, before), *self._body(move)]
        text = self.bank.joiner.join(phrase.text for phrase in phrases)
        keys = tuple(phrase.key for phrase in phrases)
        line = Line(turn=self.state.turn, act=move.act, text=text, keys=keys, topic=move.topic, concern_id=move.concern_id)
        self.spoken.append(line)
        self.state = self.state.update(lines=(*self.state.lines, line))
        self._used.update(keys)
        self._sentences.update(_plain(sentence) for sentence in sentences(text))

    # -- what to say --------------------------------------------------------------------------------------------------

    def _body(self, move: Move) -> list[_Phrase]:
        slots = self._slots(move)
        own = self._own_words(move)
        chosen = self._choose(own, slots) if own else None
        if chosen is not None:
            return [chosen]
        if move.act is CustomerAct.ACKNOWLEDGE and move.evidence_id is not None:
            return self._acknowledge(self._scenario.product.find_evidence(move.evidence_id))
        for pool in self._pools(move):
            chosen = self._choose(pool, slots)
            if chosen is not None:
                return [chosen]
        return self._filler()

    def _own_words(self, move: Move) -> list[_Phrase]:
        """The scenario's own line for a move."""
        side = self._side
        match move.act:
            case CustomerAct.OPEN:
                return [_Phrase(f"open.{index}", text) for index, text in enumerate(side.opening_lines)]
            case CustomerAct.STATE_NEED:
                return [_Phrase("need", side.need)]
            case CustomerAct.STATE_SITUATION:
                return [_Phrase("situation", side.situation)]
            case CustomerAct.DISCLOSE if move.topic is not None:
                return [_Phrase(f"fact.{move.topic.value}", side.fact(move.topic).statement)]
            case CustomerAct.AGREE_STEP:
                return [_Phrase("next_step", side.next_step)]
            case CustomerAct.COMMIT:
                return [_Phrase("commitment", side.commitment)]
            case _:
                return self._concern_words(move)

    def _concern_words(self, move: Move) -> list[_Phrase]:
        concern = self._concern(move)
        if concern is None:
            return []
        words = {
            CustomerAct.ASK: ("question", concern.question),
            CustomerAct.OBJECT: ("worry", concern.worry),
            CustomerAct.INSIST: ("worry", concern.worry),
            CustomerAct.PUSH_BACK: ("pushback", concern.pushback),
            CustomerAct.SOFTEN: ("eased", concern.eased),
        }
        if move.act not in words:
            return []
        name, text = words[move.act]
        return [_Phrase(f"concern.{concern.id}.{name}", text)]

    def _pools(self, move: Move) -> Iterator[list[_Phrase]]:
        """Where to look for words, best first."""
        match move.act:
            case CustomerAct.OPEN:
                yield from self._by_mood("greet")
            case CustomerAct.GREET if self.state.session > 1 and self.state.session_rounds <= 1:
                yield from self._by_mood("greet_again")
            case CustomerAct.STATE_NEED:
                yield from self._priorities()
            case CustomerAct.STATE_SITUATION:
                yield self._list("again.situation", self.bank.again["situation"])
            case CustomerAct.DISCLOSE:
                yield from self._by_mood("remind")
            case CustomerAct.AGREE_STEP:
                yield self._list("again.step", self.bank.again["step"])
            case CustomerAct.COMMIT:
                yield self._list("again.commitment", self.bank.again["commitment"])
            case CustomerAct.SOFTEN:
                yield self._list("again.eased", self.bank.again["eased"])
            case CustomerAct.ASK | CustomerAct.OBJECT | CustomerAct.INSIST | CustomerAct.PUSH_BACK:
                yield from self._concern_again(move)
            case act:
                yield from self._by_mood(act.value)

    def _concern_again(self, move: Move) -> Iterator[list[_Phrase]]:
        concern = self._concern(move)
        objects = move.act in (CustomerAct.OBJECT, CustomerAct.INSIST)
        if objects and concern is not None and self._rng.random() > _NAMED_CONCERN:
            yield self._list(f"kind.{concern.kind.value}", self.bank.kinds[concern.kind])
        yield from self._by_mood("object_again" if objects else f"{move.act.value}_again")

    def _priorities(self) -> Iterator[list[_Phrase]]:
        """Asked again what matters, they name their decision factors, the first one first."""
        told = sum(key.startswith("again.need") for key in self._used)
        ranked = self._side.ranked_factors
        if told < len(ranked):
            name = "need_more" if told else "need"
            factor = self.bank.factors[ranked[told]]
            texts = (text.replace("{factor}", factor) for text in self.bank.again[name])
            yield self._list(f"again.{name}", texts)
        yield self._list("again.situation", self.bank.again["situation"])

    def _acknowledge(self, evidence: Evidence) -> list[_Phrase]:
        """Take note of a statement: its number or name, and what it means to this customer."""
        matters = any(factor in self._side.ranked_factors for factor in evidence.factors)
        slots = {"evidence": evidence.name, **self._slots(None)}
        friendly = self._mood in ("warm", "neutral")
        echo = self._echo(evidence, slots) if friendly and self._rng.random() < 0.5 else None
        remark: _Phrase | None = None
        if matters and friendly:
            factor = next(f for f in self._side.ranked_factors if f in evidence.factors)
            remark = self._choose(self._list(f"remark.{factor.value}", self.bank.remarks[factor]), slots)
        elif not matters and self._rng.random() < 0.5:
            remark = next(filter(None, (self._choose(pool, slots) for pool in self._by_mood("acknowledge_minor"))), None)
        if remark is None:
            remark = next(filter(None, (self._choose(pool, slots) for pool in self._by_mood("acknowledge"))), None)
        found = [phrase for phrase in (echo, remark) if phrase is not None]
        return found or self._filler()

    def _echo(self, evidence: Evidence, slots: Mapping[str, str]) -> _Phrase | None:
        number = _said_number(evidence.text, self._heard)
        if number is not None:
            return self._choose(self._list("again.number", self.bank.again["number"]), {**slots, "number": number})
        # English headings ("Interest") make no speech; a feature's name does.
        if self._scenario.language is Language.ZH or evidence in self._scenario.product.key_features:
            return self._choose(self._list("again.name", self.bank.again["name"]), slots)
        return None

    def _lead(self, move: Move, before: tuple[Move, ...]) -> list[_Phrase]:
        """A few words that join a move to what came before, now and then."""
        name, chance = "", 0.0
        match move.act:
            case CustomerAct.DISCLOSE:
                name, chance = "disclose", 0.25
            case CustomerAct.COMMIT:
                name, chance = "commitment", 0.5
            case CustomerAct.AGREE_STEP if self._unsaid("next_step"):
                name, chance = "step", 0.85
            case CustomerAct.ASK | CustomerAct.OBJECT if before and before[-1].act in _REFUSALS:
                name, chance = "before_step", 0.6
            case CustomerAct.ASK | CustomerAct.OBJECT if before and self._is_fresh(move):
                raised = any(line.concern_id is not None for line in self.state.lines)
                name, chance = ("next_concern", 0.45) if raised else ("first_concern", 0.35)
            case CustomerAct.INSIST:
                name, chance = "passed_over", 0.6
            case CustomerAct.SOFTEN if self._mood in ("cool", "hostile"):
                name, chance = "soften", 0.6
            case _:
                return []
        if self._rng.random() >= chance:
            return []
        leads = self.bank.leads[name]
        pools = (self._list(f"lead.{name}.{mood}", leads[mood]) for mood in MOODS if mood == self._mood and mood in leads)
        found = (self._choose(pool, self._slots(move)) for pool in pools)
        return [phrase for phrase in found if phrase is not None]

    def _is_fresh(self, move: Move) -> bool:
        return self._unsaid(f"concern.{move.concern_id}.question") and self._unsaid(f"concern.{move.concern_id}.worry")

    def _unsaid(self, key: str) -> bool:
        return key not in self._used

    # -- choosing -----------------------------------------------------------------------------------------------------

    def _by_mood(self, name: str) -> Iterator[list[_Phrase]]:
        """The phrases of an act: those of the mood, then those of its neighbours."""
        moods = self.bank.phrases.get(name, {})
        groups: Mapping[str, tuple[str, ...]] = {str(mood): group for mood, group in moods.items()}
        fitting = [mood for mood in _FALLBACK[self._mood] if mood in groups]
        for position, mood in enumerate(fitting):
            pool = self._list(f"{name}.{mood}", groups[mood])
            if position == 0 and self._mood != "hostile" and mood != "any" and "any" in groups:
                pool += self._list(f"{name}.any", groups["any"])
            yield pool

    @staticmethod
    def _list(name: str, texts: Iterable[str]) -> list[_Phrase]:
        return [_Phrase(f"{name}.{index}", text) for index, text in enumerate(texts)]

    def _choose(self, pool: list[_Phrase], slots: Mapping[str, str]) -> _Phrase | None:
        """One of the phrases not yet used, filled in, or None."""
        open_ones = [_Phrase(phrase.key, self._fill(phrase.text, slots)) for phrase in pool if phrase.key not in self._used]
        fresh = [phrase for phrase in open_ones if not self._repeats(phrase.text)]
        return self._rng.choice(fresh) if fresh else None

    def _filler(self) -> list[_Phrase]:
        """The last resort. Pairs and triples of fillers outlast any dialogue."""
        mood = next(mood for mood in MOODS if mood == self._mood)
        pool = self._list(f"filler.{mood}", (self._fill(text, self._slots(None)) for text in self.bank.fillers[mood]))
        for count in (1, 2, 3):
            options = [option for option in combinations(pool, repeat=count) if len(set(option)) == count]
            self._rng.shuffle(options)
            for option in options:
                text = self.bank.joiner.join(phrase.text for phrase in option)
                if all(line.text != text for line in self.state.lines):
                    return list(option)
        return [pool[0]]

    def _repeats(self, text: str) -> bool:
        return any(_plain(sentence) in self._sentences for sentence in sentences(text))

    def _concern(self, move: Move | None) -> Concern | None:
        if move is None or move.concern_id is None:
            return None
        return next(concern for concern in self._side.concerns if concern.id == move.concern_id)

    def _slots(self, move: Move | None) -> dict[str, str]:
        concern = self._concern(move)
        slots = {"product": self._scenario.product.short_name, "you": self._address()}
        if concern is not None:
            slots["label"] = concern.label
        if move is not None and move.topic is not None:
            slots["topic"] = self.bank.topics[move.topic]
        return slots

    def _address(self) -> str:
        """您 or 你, as this customer's own lines have it."""
        side = self._side
        own = "".join((*side.opening_lines, side.need, side.next_step, *(c.pushback for c in side.concerns)))
        return "您" if own.count("您") >= len(re.findall("你(?![们好])", own)) and "您" in own else "你"

    def _fill(self, text: str, slots: Mapping[str, str]) -> str:
        filled = _SLOT.sub(lambda match: slots.get(match.group(1), match.group()), text)
        return filled[:1].upper() + filled[1:] if self._scenario.language is Language.EN else filled


_REFUSALS = frozenset({CustomerAct.DECLINE_STEP, CustomerAct.DEFER_STEP, CustomerAct.DECLINE_CLOSE})


def _plain(sentence: str) -> str:
    return re.sub(r"\W+", " ", sentence).strip().casefold()


def _said_number(text: str, heard: str) -> str | None:
    """The first number of a statement, with its unit, if the salesperson said it."""
    for match in _NUMBER.finditer(text):
        if re.search(rf"(?<![\d.,]){re.escape(match.group())}(?![\d]|[.,]\d)", heard):
            unit = _UNIT.match(text, match.end())
            # A bare number echoes nothing.
            return match.group() + unit.group() if unit is not None else None
    return None
