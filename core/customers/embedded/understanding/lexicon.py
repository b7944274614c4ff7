"""The lexicons: what each move sounds like, per language. Data files beside this module; their header explains the notation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from core.scenarios import FactTopic, Language

__all__ = ["Hit", "Lexicon", "Patterns", "load_lexicon"]

_GAP = {Language.EN: r" (?:[^,\n]{0,40} )?", Language.ZH: r"[^,\n]{0,12}"}
_MACRO = re.compile(r"<(\w+)>")
_OPENING = re.compile(r"(?<!\\)\((?!\?)")


@dataclass(frozen=True)
class Hit:
    """Where in the normal form of a turn a pattern matched."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class _Pattern:
    needle: str
    """A piece of text that every match contains; looked for first, because that is fast. May be empty."""
    expression: re.Pattern[str]

    def hits(self, text: str) -> Iterator[Hit]:
        if self.needle and self.needle not in text:
            return
        for match in self.expression.finditer(text):
            yield Hit(match.start(), match.end(), match.group())


@dataclass(frozen=True)
class Patterns:
    """What one move sounds like."""

    anywhere: tuple[_Pattern, ...] = ()
    in_question: tuple[_Pattern, ...] = ()
    in_statement: tuple[_Pattern, ...] = ()
    unless: tuple[_Pattern, ...] = ()
    negatable: bool = False

    @property
    def all(self) -> tuple[_Pattern, ...]:
        return self.anywhere

    def cancelled(self, clause: str) -> bool:
        """Whether something in the clause says that the move is not meant."""
        return any(pattern.expression.search(clause) for pattern in self.unless if not pattern.needle or pattern.needle in clause)


class Lexicon:
    """One language's lexicon, compiled."""

    def __init__(self, language: Language, entries: dict[str, Any]) -> None:
        self.language = language
        self._macros: dict[str, str] = entries["macros"]
        self.negation = self._compiled(entries["negation"])
        self.common_words = frozenset(entries["common_words"].split())
        self.mend = frozenset(entries.get("mend", "").split())
        self.moves = {
            name: self._patterns(entries[name])
            for name in ("greet", "ask_need", "ask_situation", "ask_concern", "close", "accept_no", "farewell", "empathise", "praise",
                         "insult", "instruct", "ask_other", "reassure")
        }  # fmt: skip
        self.raw_orders = tuple(re.compile(item, re.IGNORECASE) for item in entries["instruct"]["raw"])
        self.facts = {topic: self._patterns(entries["ask_fact"][topic.value]) for topic in FactTopic}
        pressure = entries["pressure"]
        self.pressure = {kind: self._patterns(pressure[kind]) for kind in ("urgency", "scarcity", "fear", "guilt")}
        self.no_pressure = self._patterns({"unless": pressure["unless"]})
        step = entries["propose_step"]
        self.step_frames = self._list(step["frames"])
        self.step_actions = self._list(step["actions"])
        self.step_specific = self._list(step["specific"])
        self.no_step = self._patterns({"unless": step["unless"]})
        offer = entries["unlisted_offer"]
        self.offering = self._list(offer["offering"])
        self.favours = {kind: self._list(items) for kind, items in offer["favours"].items()}
        self.whole_offers = {kind: self._list(items) for kind, items in offer["whole"].items()}
        self.no_offer = self._patterns({"unless": offer["unless"]})
        self.others = self._list(entries["others"])

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
        return _Pattern(_needle(self._expanded(source)), self._compiled(source))

    def _expanded(self, source: str) -> str:
        expanded = source
        while _MACRO.search(expanded):
            expanded = _MACRO.sub(lambda match: "(?:" + self._macros[match[1]] + ")", expanded)
        expanded = expanded.replace(" ...? ?", _GAP[self.language] + "?").replace(" ... ", _GAP[self.language])
        return _OPENING.sub("(?:", expanded)

    def _compiled(self, source: str) -> re.Pattern[str]:
        expanded = self._expanded(source)
        if self.language is Language.EN:
            expanded = rf"(?<!\w)(?:{expanded})(?!\w)"
        return re.compile(expanded, re.MULTILINE)


def _needle(expression: str) -> str:
    """The longest plain text on the top level of an expression, or an empty string when there is none for certain."""
    runs: list[str] = [""]
    depth, at = 0, 0
    while at < len(expression):
        char = expression[at]
        following = expression[at + 1 : at + 2]
        if char == "\\":
            at += 1
            runs.append("")
        elif char in "([":
            depth += 1
            runs.append("")
        elif char in ")]":
            depth -= 1
            runs.append("")
        elif char == "|" and depth == 0:
            return ""
        elif depth == 0 and char not in "^$.*+?{}<>" and following not in ("?", "*", "{"):
            runs[-1] += char
        else:
            if char == "{":
                at = expression.find("}", at)
            runs.append("")
        at += 1
    longest = max(runs, key=len)
    return longest if len(longest.strip()) > 1 else ""


@lru_cache(maxsize=None)
def load_lexicon(language: Language) -> Lexicon:
    """The lexicon of a language, read once."""
    path = Path(__file__).with_name(f"lexicon.{language.value}.yaml")
    return Lexicon(language, yaml.safe_load(path.read_text(encoding="utf-8")))
