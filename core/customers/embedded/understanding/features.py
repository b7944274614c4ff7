"""What two ways of saying the same thing have in common: word stems in English, pairs of characters in Chinese, and numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from core.customers.embedded.understanding.numbers import Quantity, find_quantities
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


_STOP_WORDS = frozenset(
    "a an the and or but if of to in on at for from with by as is are am was were be been being it its this that these those there "
    "here you your yours we our ours us i me my they their them he she his her so than then too very just also only even both each "
    "all any some such more most much many can could will would shall should may might must do does did done have has had having get "
    "gets got getting give gives given go goes going come comes take takes taken make makes made let lets put puts say says want need "
    "like about up down out over under into onto off after before while until when where what which who how why whatever not no nor "
    "never without none nothing one ones per every other another own same well really quite still again back away around way thing "
    "things lot bit please okay ok yes yeah right now today first within through between during because since however though although "
    "know tell see think mean look use used using keep keeps once even able actually simply easily whole full exactly fully someone "
    "something anyone anything everything people person customer customers "
    "percent % dollar dollars pound pounds euro euros".split()
)
_WORD = re.compile(r"[a-z]+")
_NEGATION_EN = re.compile(r"\b(?:not|no|never|without|none|nothing|neither|nor|zero|nobody|free|unable)\b")
_NEGATION_ZH = re.compile(r"[不没无免未非零]|(?<![特区])别(?!的|人|家|墅)")
_STOP_CHARACTERS = frozenset(
    "的了是在和有就也都一这那个您你我们他她它们可以能会要把被给对从到为与及或而且则但如果因此所其之于以并还再又很非常吧吗呢啊呀哦嘛得地着过"
    "让请说看来去想做用上下里中等每只才已经将由由跟同向比些种样么什怎哪谁几多少时候后前内外间时直接"
    "不没无免未非别零元块钱万千百十年月天日点个半左右大概大约"
)
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
    return _IRREGULAR.get(word, word)


_IRREGULAR = {"paid": "pay", "withdraw": "withdraw", "withdrawn": "withdraw", "withdrew": "withdraw", "kept": "keep", "insuranc": "insur",
              "federaly": "federal", "fre": "free", "ran": "run", "stor": "stor", "broken": "break", "bought": "buy", "sold": "sell",
              "lasted": "last", "fitt": "fit", "froz": "freez", "frozen": "freez", "built": "build", "sent": "send", "grew": "grow",
              "autom": "automat", "automatic": "automat", "decemb": "december", "protect": "protect", "taken": "take", "risen": "ris",
              "rose": "ris", "fel": "fall", "fallen": "fall", "lost": "los", "lose": "los", "held": "hold", "charg": "charg"}  # fmt: skip


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
        tokens = tuple(stem(word) for word in _WORD.findall(bare) if word not in _STOP_WORDS and len(word) > 1)
        negative = _NEGATION_EN.search(normal) is not None
    else:
        tokens = tuple(_pairs(bare))
        negative = _NEGATION_ZH.search(normal) is not None
    return Features(tokens, quantities, negative, plain)


def _pairs(text: str) -> list[str]:
    """Overlapping pairs of content characters; a content character between stop characters stands alone."""
    pairs: list[str] = []
    for run in _CJK_RUN.findall(text):
        if run.isascii():
            pairs.append(run)
            continue
        for piece in re.split("[" + "".join(sorted(_STOP_CHARACTERS)) + "]+", run):
            if len(piece) == 1:
                pairs.append(piece)
            pairs.extend(piece[i : i + 2] for i in range(len(piece) - 1))
    return pairs
