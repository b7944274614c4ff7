"""The lexicons: what each move sounds like, per language. Data files beside this module; their header explains the notation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any

import yaml
from rapidfuzz import process
from rapidfuzz.distance import OSA

from core.customers.embedded.understanding.needles import needles_of
from core.scenarios import FactTopic, Language

__all__ = ["Hit", "Lexicon", "PatternList", "Patterns", "load_lexicon"]

_MOVES = (
    "greet", "ask_need", "ask_situation", "ask_concern", "close", "accept_no", "farewell", "empathise", "praise", "insult",
    "instruct", "ask_other", "reassure",
)  # fmt: skip
_SHORT = 200
"""A text of fewer characters is searched as a whole."""

_GAP = {Language.EN: r" (?:[^,\n]{0,40} )?", Language.ZH: r"[^,\n]{0,12}"}
_MACRO = re.compile(r"<(\w+)>")
_OPENING = re.compile(r"(?<!\\)\((?!\?)")


@dataclass(frozen=True)
class Hit:
    """Where in the normal form of a turn a pattern matched."""

    start: int
    end: int
    text: str


class _Pattern:
    """One expression, compiled when a text first holds one of its needles: most are never needed in a process's life."""

    def __init__(self, source: str, needles: tuple[str, ...]) -> None:
        self._source = source
        self._needles = needles

    @cached_property
    def _expression(self) -> re.Pattern[str]:
        return re.compile(self._source, re.MULTILINE)

    def hits(self, text: str) -> Iterator[Hit]:
        """All matches, line by line: no pattern crosses a line, and lines without a needle need not be searched."""
        for start, end in self._lines(text):
            for match in self._expression.finditer(text, start, end):
                yield Hit(match.start(), match.end(), match.group())

    def occurs_in(self, text: str) -> bool:
        return next(self.hits(text), None) is not None

    def _lines(self, text: str) -> list[tuple[int, int]]:
        if not self._needles:
            return [(0, len(text))]
        if len(text) < _SHORT:
            return [(0, len(text))] if any(needle in text for needle in self._needles) else []
        lines: set[tuple[int, int]] = set()
        for needle in self._needles:
            at = text.find(needle)
            while at >= 0:
                start = text.rfind("\n", 0, at) + 1
                end = text.find("\n", at)
                end = len(text) if end < 0 else end
                lines.add((start, end))
                at = text.find(needle, end)
        return sorted(lines)


PatternList = tuple[_Pattern, ...]


@dataclass(frozen=True)
class Patterns:
    """What one move sounds like."""

    anywhere: tuple[_Pattern, ...] = ()
    in_question: tuple[_Pattern, ...] = ()
    in_statement: tuple[_Pattern, ...] = ()
    unless: tuple[_Pattern, ...] = ()
    negatable: bool = False

    def cancelled(self, clause: str) -> bool:
        """Whether something in the clause says that the move is not meant."""
        return any(pattern.occurs_in(clause) for pattern in self.unless)


class Lexicon:
    """One language's lexicon, compiled."""

    def __init__(self, language: Language, source: str) -> None:
        entries: dict[str, Any] = _parsed(source)
        self.language = language
        self._macros: dict[str, str] = entries["macros"]
        self.negation = self._pattern(entries["negation"])
        self.stop_words = frozenset(entries["stop_words"].split())
        self.common_words = frozenset(entries["common_words"].split())
        self._key_words = tuple(entries.get("mend", "").split())
        self._words = self.common_words | frozenset(re.findall(r"[a-z]{4,}", source)) if self._key_words else frozenset()
        self._mend = lru_cache(maxsize=4096)(self._mend_word)
        self.moves = {name: self._patterns(entries[name]) for name in _MOVES}
        self.raw_orders = tuple(re.compile(item, re.IGNORECASE) for item in entries["instruct"]["raw"])
        self.facts = {topic: self._patterns(entries["ask_fact"][topic.value]) for topic in FactTopic}
        pressure = entries["pressure"]
        self.pressure = {kind: self._patterns(pressure[kind]) for kind in ("urgency", "scarcity", "fear", "guilt")}
        self.no_pressure = self._patterns({"unless": pressure["unless"]})
        step = entries["propose_step"]
        self.step_frames = self._list(step["frames"])
        self.step_actions = self._list(step["actions"])
        self.step_times = self._list(step["times"])
        self.step_channels = self._list(step["channels"])
        self.no_step = self._patterns({"unless": step["unless"]})
        offer = entries["unlisted_offer"]
        self.offering = self._list(offer["offering"])
        self.favours = {kind: self._list(items) for kind, items in offer["favours"].items()}
        self.whole_offers = {kind: self._list(items) for kind, items in offer["whole"].items()}
        self.no_offer = self._patterns({"unless": offer["unless"]})
        self.others = self._list(entries["others"])
        self.elsewhere = self._patterns({"unless": entries["elsewhere"]})

    def _patterns(self, entry: dict[str, Any]) -> Patterns:
        return Patterns(
            anywhere=self._list(entry.get("patterns", ())),
            in_question=self._list(entry.get("in_question", ())),
            in_statement=self._list(entry.get("in_statement", ())),
            unless=self._list(entry.get("unless", ())),
            negatable=bool(entry.get("negatable", False)),
        )

    def _list(self, sources: Any) -> tuple[_Pattern, ...]:
        return tuple(self._pattern(source) for source in sources)

    def _pattern(self, source: str) -> _Pattern:
        expanded = self._expanded(source)
        bounded = rf"(?<!\w)(?:{expanded})(?!\w)" if self.language is Language.EN else expanded
        return _Pattern(bounded, needles_of(expanded))

    def _expanded(self, source: str) -> str:
        expanded = source.removesuffix(" ...")
        while _MACRO.search(expanded):
            expanded = _MACRO.sub(lambda match: "(?:" + self._macros[match[1]] + ")", expanded)
        expanded = expanded.replace(" ...? ?", _GAP[self.language] + "?").replace(" ... ", _GAP[self.language])
        return _OPENING.sub("(?:", expanded)

    def mended(self, text: str) -> str:
        """The text with misspelt key words set right; only English has any."""
        return " ".join(self._mend(word) for word in text.split(" ")) if self._key_words else text

    def _mend_word(self, word: str) -> str:
        if len(word) < 5 or not word.isalpha() or word in self._words:
            return word
        limit = 2 if len(word) >= 9 else 1
        near = process.extractOne(word, self._key_words, scorer=OSA.distance, score_cutoff=limit)
        return near[0] if near and near[0][0] == word[0] else word


def _parsed(source: str) -> dict[str, Any]:
    """YAML by way of libyaml where PyYAML has it: twenty times faster, and the first reply waits for it."""
    parsed: dict[str, Any] = yaml.load(source, Loader=yaml.CSafeLoader) if yaml.__with_libyaml__ else yaml.safe_load(source)
    return parsed


@cache
def load_lexicon(language: Language) -> Lexicon:
    """The lexicon of a language, read once."""
    path = Path(__file__).with_name(f"lexicon.{language.value}.yaml")
    return Lexicon(language, path.read_text(encoding="utf-8"))
