"""What two ways of saying the same thing have in common: word stems in English, pairs of characters in Chinese, and numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from core.customers.embedded.understanding.lexicon import load_lexicon
from core.customers.embedded.understanding.numbers import find_quantities
from core.customers.embedded.understanding.quantity import Quantity
from core.customers.embedded.understanding.text import normalise
from core.scenarios import Language

__all__ = ["Features", "features_of", "stem"]


@dataclass(frozen=True)
class Features:
    tokens: tuple[str, ...]
    """Stems of content words, or pairs of content characters, in order; numbers are left out."""
    quantities: tuple[Quantity, ...]
    negative: bool
    """Whether it denies something: "no", "never", "不"."""
    plain: str
    """Normal form with every number written in one way, for comparing wordings."""


_WORD = re.compile(r"[a-z]+")
_NEGATION_EN = re.compile(r"\b(?:not|no|never|without|none|nothing|neither|nor|zero|nobody|free|unable)\b")
_NEGATION_ZH = re.compile(r"[不没无免未非零]|(?<![特区])别(?!的|人|家|墅)")
_CJK_RUN = re.compile(r"[一-鿿]+|[a-z]{2,}")
_SUFFIXES = (
    "ations",
    "ation",
    "ments",
    "ment",
    "ingly",
    "ings",
    "ing",
    "ies",
    "ied",
    "edly",
    "ed",
    "ers",
    "er",
    "ness",
    "ly",
    "es",
    "s",
    "al",
)


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """A crude stem that makes inflections of one English word equal; only ever compared with other stems."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 3:
        return word
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            word = word[: -len(suffix)]
            if suffix in ("ies", "ied"):
                word += "y"
            break
    if len(word) > 3 and word[-1] in "ey":
        word = word[:-1]
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    return word


_IRREGULAR = {
    "paid": "pay", "withdrawn": "withdraw", "withdrew": "withdraw", "kept": "keep", "ran": "run", "broken": "break",
    "bought": "buy", "sold": "sell", "frozen": "freez", "built": "build", "sent": "send", "grew": "grow",
    "automatic": "automat", "taken": "take",
    "risen": "ris", "rose": "ris", "fell": "fall", "fallen": "fall", "lost": "los", "held": "hold",
}  # fmt: skip


@lru_cache(maxsize=8192)
def features_of(text: str, language: Language) -> Features:
    """The features of a phrase, given as it was written or in normal form."""
    normal = normalise(text, language)
    quantities = find_quantities(normal, language)
    plain, bare, at = "", "", 0
    for quantity in quantities:
        plain += normal[at : quantity.start] + f"{quantity.value:g}{quantity.dimension.value[0]}"
        bare += normal[at : quantity.start] + " "
        at = quantity.end
    plain += normal[at:]
    bare += normal[at:]
    if language is Language.EN:
        tokens = tuple(
            stem(word) for word in _WORD.findall(bare) if word not in load_lexicon(language).stop_words and len(word) > 1
        )
        negative = _NEGATION_EN.search(normal) is not None
    else:
        tokens = tuple(_pairs(bare, load_lexicon(language).stop_words))
        negative = _NEGATION_ZH.search(normal) is not None
    return Features(tokens, quantities, negative, plain)


def _pairs(text: str, stop: frozenset[str]) -> list[str]:
    """Overlapping pairs of content characters; a content character between stop characters stands alone."""
    pairs: list[str] = []
    for run in _CJK_RUN.findall(text):
        if run.isascii():
            pairs.append(run)
            continue
        for piece in re.split("[" + "".join(sorted(stop)) + "]+", run):
            if len(piece) == 1:
                pairs.append(piece)
            pairs.extend(piece[i : i + 2] for i in range(len(piece) - 1))
    return pairs
