"""Guards around every customer model: does a reply act as the seller, or recite the customer's script?

Both detectors prefer precision: a reply that is wrongly flagged is thrown away and asked for again, which costs the person a
wait and distorts the dialogue, while a slip that passes is seen by whoever reads it. So each rule names something that a
customer has no cause to say. Asking for a price, quoting another bank, or making a bid of one's own is a customer's right.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from core.customers._guard_rules import Rule, rules_for
from core.dialogues import TurnFlag
from core.scenarios import Language

__all__ = ["GUARDS_VERSION", "Finding", "find_role_inversion", "find_script_leak", "inspect_reply"]

GUARDS_VERSION = "1"
"""Goes up with every change of the rules; recorded with each dialogue."""


@dataclass(frozen=True)
class Finding:
    """``quote`` is the verbatim piece of the reply that gave it away."""

    flag: TurnFlag
    rule: str
    quote: str


def inspect_reply(text: str, language: Language, script: str | None = None) -> tuple[Finding, ...]:
    """Everything that is wrong with a customer's reply; empty if it passes. ``script`` is the customer's own, if there is one."""
    return find_role_inversion(text, language) + find_script_leak(text, language, script)


def find_role_inversion(text: str, language: Language) -> tuple[Finding, ...]:
    """Where the customer pitches, makes the seller's offers, offers help, or speaks for the company."""
    return _apply(rules_for(language).role_inversion, text, TurnFlag.ROLE_INVERSION)


def find_script_leak(text: str, language: Language, script: str | None = None) -> tuple[Finding, ...]:
    """Where the customer speaks of instructions, propensity or being a model, or recites a long piece of the script.

    The lines that the script quotes as the customer's own words may be said as they stand.
    """
    findings = _apply(rules_for(language).script_leak, text, TurnFlag.SCRIPT_LEAK)
    if script is not None:
        heading = _recited_heading(text, script)
        if heading is not None:
            findings += (Finding(TurnFlag.SCRIPT_LEAK, "heading", heading),)
        overlap = _longest_overlap(text, script, language)
        if overlap is not None:
            findings += (Finding(TurnFlag.SCRIPT_LEAK, "overlap", overlap),)
    return findings


def _apply(rules: tuple[Rule, ...], text: str, flag: TurnFlag) -> tuple[Finding, ...]:
    # Models write typographic apostrophes as often as plain ones; the two are of one length, so quotes stay verbatim.
    plain = text.replace("’", "'")
    findings = []
    for rule in rules:
        for found in rule.pattern.finditer(plain):
            if rule.unless is None or not rule.unless.search(_sentence_around(plain, found)):
                findings.append(Finding(flag, rule.name, text[found.start() : found.end()]))
                break
    return tuple(findings)


def _sentence_around(text: str, found: re.Match[str]) -> str:
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    start = max((end for end in ends if end <= found.start()), default=0)
    stop = min((end for end in ends if end >= found.end()), default=len(text))
    return text[start:stop]


_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|[。！？\n]")
_QUOTED = re.compile(r'"[^"\n]*"|“[^”\n]*”')
_HEADING = re.compile(r"^#+\s*(.+?)\s*$", re.MULTILINE)
_TOKENS = {Language.EN: re.compile(r"[a-z0-9]+(?:['.][a-z0-9]+)*"), Language.ZH: re.compile(r"[\u4e00-\u9fff]|[a-z0-9]+")}
_SHINGLE = {Language.EN: 3, Language.ZH: 6}
_LONG = {Language.EN: 12, Language.ZH: 20}
"""Tokens (words, characters) of overlap that no chance and no common phrase explains."""
_GAP = 3
"""Changed tokens over which an overlap goes on: "You are" becomes "I am", and it is still a recital."""


def _recited_heading(text: str, script: str) -> str | None:
    """A line of the reply that is a heading of the script."""
    headings = {_bare(heading) for heading in _HEADING.findall(script)}
    return next((line.strip() for line in text.splitlines() if _bare(line) in headings), None)


def _bare(line: str) -> str:
    return line.strip().strip("#*_:： ").casefold()


def _longest_overlap(text: str, script: str, language: Language) -> str | None:
    """The longest piece of the reply that stands, nearly word for word, in the script; None if it is short."""
    found = list(_TOKENS[language].finditer(text.replace("’", "'").lower()))
    tokens = [match.group() for match in found]
    size, known = _SHINGLE[language], _shingles(script, language)
    covered = [False] * len(tokens)
    for start in range(len(tokens) - size + 1):
        if tuple(tokens[start : start + size]) in known:
            covered[start : start + size] = [True] * size
    best: tuple[int, int] | None = None
    start = last = -1
    for place, inside in enumerate(covered):
        if not inside:
            continue
        if start < 0 or place - last > _GAP + 1:
            start = place
        last = place
        if best is None or last - start > best[1] - best[0]:
            best = (start, last)
    if best is None or best[1] - best[0] + 1 < _LONG[language]:
        return None
    return text[found[best[0]].start() : found[best[1]].end()]


@lru_cache(maxsize=64)
def _shingles(script: str, language: Language) -> frozenset[tuple[str, ...]]:
    shingles: set[tuple[str, ...]] = set()
    size = _SHINGLE[language]
    for line in _QUOTED.sub("\n", script.replace("’", "'")).splitlines():
        tokens = _TOKENS[language].findall(line.lower())
        shingles.update(tuple(tokens[start : start + size]) for start in range(len(tokens) - size + 1))
    return frozenset(shingles)
