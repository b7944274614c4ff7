"""Quantities in English: "20k", "three point six percent", "half a million", "two and a half hours"."""

from __future__ import annotations

import re

from core.customers.embedded.understanding.quantity import MINUTES, Dimension, Quantity

__all__ = ["read_english"]

_SMALL = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18,
    "nineteen": 19,
}  # fmt: skip
_TENS = {
    "twenty": 20, "thirty": 30, "forty": 40, "fourty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
_SCALES = {"hundred": 100.0, "thousand": 1e3, "grand": 1e3, "k": 1e3, "million": 1e6, "m": 1e6, "billion": 1e9, "dozen": 12.0}
_FRACTIONS = {"fifth": 20.0, "quarter": 25.0, "third": 100.0 / 3, "tenth": 10.0}
_EN_UNITS: dict[str, tuple[Dimension, str, float]] = {
    **dict.fromkeys(("%", "percent", "pct", "percentage", "p.c."), (Dimension.PERCENT, "", 1.0)),
    **dict.fromkeys(
        (
            "dollar",
            "dollars",
            "buck",
            "bucks",
            "usd",
            "pound",
            "pounds",
            "quid",
            "gbp",
            "euro",
            "euros",
            "eur",
            "aud",
            "cad",
            "sgd",
        ),
        (Dimension.MONEY, "", 1.0),
    ),
    **{form: (Dimension.TIME, "", minutes) for unit, minutes in MINUTES.items() for form in (unit, unit + "s")},
    **dict.fromkeys(("min", "mins"), (Dimension.TIME, "", MINUTES["minute"])),
    **dict.fromkeys(("hr", "hrs"), (Dimension.TIME, "", MINUTES["hour"])),
    **dict.fromkeys(("yr", "yrs", "yearly"), (Dimension.TIME, "", MINUTES["year"])),
    **dict.fromkeys(("mth", "mths", "mo"), (Dimension.TIME, "", MINUTES["month"])),
}
_EN_TOKEN = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|[a-z]+|[$£€%]")
_FILLERS = frozenset({"working", "business", "full", "whole", "calendar", "more", "extra"})
_NO_UNIT = frozenset(
    (
        "a", "an", "and", "or", "of", "to", "in", "on", "at", "for", "from", "with", "by", "is", "are", "was", "it", "its", "you",
        "your", "we", "our", "i", "my", "the", "that", "this", "than", "but", "so", "if", "as", "per", "up", "more", "less",
        "over",
        "under", "about", "only", "just", "each", "every", "not", "no", "can", "will", "would", "all", "be", "do", "off", "out",
        "other", "until", "before", "after", "which", "what", "when", "who", "how",
    )
)  # fmt: skip
"""Words behind a number that are no unit of it."""


def read_english(text: str) -> list[Quantity]:
    """All quantities of a lower-case text, in order."""
    tokens = [(match.group(), match.start(), match.end()) for match in _EN_TOKEN.finditer(text)]
    found: list[Quantity] = []
    at = 0
    while at < len(tokens):
        read = _english_at(tokens, at)
        if read is None:
            at += 1
        else:
            quantity, at = read
            found.append(quantity)
    return found


_Token = tuple[str, int, int]


def _english_at(tokens: list[_Token], at: int) -> tuple[Quantity, int] | None:
    start = at
    currency = tokens[at][0] in "$£€"
    if currency:
        at += 1
    number = _english_number(tokens, at)
    if number is None:
        return _english_fraction(tokens, at)
    value, at = number
    if currency:
        return Quantity(value, Dimension.MONEY, "", tokens[start][1], tokens[at - 1][2]), at
    dimension, unit, factor, at = _english_unit(tokens, at)
    if dimension is Dimension.TIME and _words(tokens, at, 3) == ["and", "a", "half"]:
        value, at = value + 0.5, at + 3
    return Quantity(value * factor, dimension, unit, tokens[start][1], tokens[at - 1][2]), at


def _words(tokens: list[_Token], at: int, count: int) -> list[str]:
    return [token[0] for token in tokens[at : at + count]]


def _english_fraction(tokens: list[_Token], at: int) -> tuple[Quantity, int] | None:
    """ "a fifth" is 20 per cent; "half an hour" half of one."""
    words = _words(tokens, at, 3)
    if len(words) >= 2 and words[0] in ("a", "one") and words[1] in _FRACTIONS:
        return Quantity(_FRACTIONS[words[1]], Dimension.PERCENT, "", tokens[at][1], tokens[at + 1][2]), at + 2
    if len(words) == 3 and words[0] == "half" and words[1] in ("a", "an") and words[2] in _EN_UNITS:
        dimension, unit, factor = _EN_UNITS[words[2]]
        return Quantity(0.5 * factor, dimension, unit, tokens[at][1], tokens[at + 2][2]), at + 3
    return None


def _english_number(tokens: list[_Token], at: int) -> tuple[float, int] | None:
    """Read digits or number words from ``at``; the value and the index behind it, or None."""
    if at >= len(tokens):
        return None  # a currency sign with nothing behind it
    word = tokens[at][0]
    if word[0].isdigit():
        value, at = float(word.replace(",", "")), at + 1
    elif word in ("half", "a") and _words(tokens, at, 3)[-1] in ("million", "hundred", "thousand", "dozen"):
        return _english_loose(tokens, at)
    elif word in _SMALL or word in _TENS:
        value, at = _english_words(tokens, at)
    elif word == "a" and at + 1 < len(tokens) and tokens[at + 1][0] in ("hundred", "thousand", "million", "dozen"):
        value, at = 1.0, at + 1
    else:
        return None
    return _english_scaled(tokens, at, value)


def _english_loose(tokens: list[_Token], at: int) -> tuple[float, int] | None:
    """ "half a million", "a hundred"."""
    words = _words(tokens, at, 3)
    if words[0] == "half" and len(words) == 3 and words[1] == "a":
        return 0.5 * _SCALES[words[2]], at + 3
    if words[0] == "a" and len(words) >= 2 and words[1] in _SCALES and words[1] != "k":
        return _english_scaled(tokens, at + 1, 1.0)
    return None


def _english_scaled(tokens: list[_Token], at: int, value: float) -> tuple[float, int]:
    """Apply "hundred", "k", "and a half million" and what is added below them."""
    if _words(tokens, at, 3) == ["and", "a", "half"]:
        value, at = value + 0.5, at + 3
    total = 0.0
    while at < len(tokens) and tokens[at][0] in _SCALES:
        scale = _SCALES[tokens[at][0]]
        if tokens[at][0] in ("k", "m") and tokens[at][1] != tokens[at - 1][2]:
            break
        value, at = value * scale, at + 1
        rest = at + 1 if at < len(tokens) and tokens[at][0] == "and" else at
        if rest < len(tokens) and (tokens[rest][0] in _SMALL or tokens[rest][0] in _TENS):
            small, behind = _english_words(tokens, rest)
            nested = behind < len(tokens) and tokens[behind][0] in _SCALES and _SCALES[tokens[behind][0]] > small
            if nested and _SCALES[tokens[behind][0]] < scale:
                total, value, at = total + value, small, behind
            elif small < scale:
                value, at = value + small, behind
    return total + value, at


def _english_words(tokens: list[_Token], at: int) -> tuple[float, int]:
    """Read "thirty", "ninety nine", "three point six"; there is at least one number word at ``at``."""
    word = tokens[at][0]
    at += 1
    if word in _TENS:
        value = float(_TENS[word])
        if at < len(tokens) and 0 < _SMALL.get(tokens[at][0], 0) < 10:
            value, at = value + _SMALL[tokens[at][0]], at + 1
    else:
        value = float(_SMALL[word])
    if at + 1 < len(tokens) and tokens[at][0] == "point":
        digits = ""
        behind = at + 1
        while behind < len(tokens) and _SMALL.get(tokens[behind][0], 10) < 10:
            digits += str(_SMALL[tokens[behind][0]])
            behind += 1
        if digits:
            return value + float("0." + digits), behind
    return value, at


def _english_unit(tokens: list[_Token], at: int) -> tuple[Dimension, str, float, int]:
    """Read the unit behind a number: its dimension, its name, the factor to the base unit, the index behind it."""
    words = _words(tokens, at, 3)
    if words[:2] == ["per", "cent"] or words[:2] == ["percentage", "points"]:
        return Dimension.PERCENT, "", 1.0, at + 2
    if words and words[0] in _FILLERS and len(words) > 1 and words[1] in _EN_UNITS:
        dimension, unit, factor = _EN_UNITS[words[1]]
        return dimension, unit, factor, at + 2
    if words and words[0] in _EN_UNITS:
        dimension, unit, factor = _EN_UNITS[words[0]]
        return dimension, unit, factor, at + 1
    if words and words[0].isalpha() and words[0] not in _NO_UNIT:
        return Dimension.UNIT, _singular(words[0]), 1.0, at + 1
    return Dimension.PLAIN, "", 1.0, at


_ABBREVIATIONS = {"metres": "m", "metre": "m", "meters": "m", "meter": "m", "pascals": "pa", "pascal": "pa", "cm": "cm"}
_ABBREVIATIONS |= {"centimetres": "cm", "centimetre": "cm", "centimeters": "cm", "kilograms": "kg", "kilos": "kg", "kilo": "kg"}
_ABBREVIATIONS |= {"decibels": "db", "decibel": "db", "litres": "l", "litre": "l", "liters": "l", "liter": "l", "grams": "g"}
_ABBREVIATIONS |= {"kilometres": "km", "kilometers": "km", "miles": "mile", "gigabytes": "gb", "millimetres": "mm", "watts": "w"}


def _singular(word: str) -> str:
    if word in _ABBREVIATIONS:
        return _ABBREVIATIONS[word]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
