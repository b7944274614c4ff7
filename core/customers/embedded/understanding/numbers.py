"""Quantities in running text, in English and Chinese, digits and words: ``20k``, ``three point six percent``, ``三厘六``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from core.scenarios import Language

__all__ = ["Dimension", "Quantity", "find_quantities"]


class Dimension(StrEnum):
    """What a quantity counts. Only quantities of one dimension are compared, or one without a unit with any other."""

    PERCENT = "percent"
    MONEY = "money"
    TIME = "time"
    """In minutes; a month has 30 days and a year 365."""
    REDUCTION = "reduction"
    """A Chinese 折: per cent off the price, so 八折 is 20."""
    UNIT = "unit"
    """Some other unit, named in :attr:`Quantity.unit`."""
    PLAIN = "plain"


TIME_TOLERANCE = 0.02
"""Relative: lets 24 months be two years, and 90 days three months."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with what it counts; ``start`` and ``end`` are offsets into the text it was read from."""

    value: float
    dimension: Dimension
    unit: str
    start: int
    end: int

    def equals(self, other: Quantity) -> bool:
        """Whether both say the same. A number without a unit equals one with a unit when it can hardly be a coincidence."""
        tolerance = TIME_TOLERANCE if self.dimension is Dimension.TIME else 1e-6
        if abs(self.value - other.value) > tolerance * max(abs(self.value), abs(other.value)):
            return False
        if self.dimension is other.dimension:
            return self.dimension is not Dimension.UNIT or self.unit == other.unit
        return Dimension.PLAIN in (self.dimension, other.dimension) and _is_telling(self.value)

    @property
    def is_telling(self) -> bool:
        """Whether the number is unlikely to turn up by chance: a fraction, or a large one."""
        return _is_telling(self.value)


def _is_telling(value: float) -> bool:
    return value != int(value) or value >= 100


@lru_cache(maxsize=512)
def find_quantities(text: str, language: Language) -> tuple[Quantity, ...]:
    """All quantities of a lower-case, half-width text, in order, not overlapping."""
    return tuple(_english(text) if language is Language.EN else _chinese(text))


MINUTES = {"minute": 1.0, "hour": 60.0, "day": 1440.0, "week": 10080.0, "month": 43200.0, "year": 525600.0}

# -- English --------------------------------------------------------------------------------------------------------------

_SMALL = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
        "eighteen nineteen".split()
    )
}
_TENS = {word: 10 * i for i, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2)}
_TENS["fourty"] = 40
_SCALES = {"hundred": 100.0, "thousand": 1e3, "grand": 1e3, "k": 1e3, "million": 1e6, "m": 1e6, "billion": 1e9, "dozen": 12.0}
_FRACTIONS = {"fifth": 20.0, "quarter": 25.0, "third": 100.0 / 3, "tenth": 10.0}
_EN_UNITS: dict[str, tuple[Dimension, str, float]] = {
    **{word: (Dimension.PERCENT, "", 1.0) for word in ("%", "percent", "pct", "percentage", "p.c.")},
    **{
        word: (Dimension.MONEY, "", 1.0)
        for word in "dollar dollars buck bucks usd pound pounds quid gbp euro euros eur aud cad sgd rupees yuan rmb".split()
    },
    **{form: (Dimension.TIME, "", minutes) for unit, minutes in MINUTES.items() for form in (unit, unit + "s")},
    **{word: (Dimension.TIME, "", MINUTES["minute"]) for word in ("min", "mins")},
    **{word: (Dimension.TIME, "", MINUTES["hour"]) for word in ("hr", "hrs")},
    **{word: (Dimension.TIME, "", MINUTES["year"]) for word in ("yr", "yrs", "yearly")},
    **{word: (Dimension.TIME, "", MINUTES["month"]) for word in ("mth", "mths", "mo")},
}
_EN_TOKEN = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|[a-z]+|[$£€%]")
_FILLERS = frozenset({"working", "business", "full", "whole", "calendar", "more", "extra", "whole"})
_NO_UNIT = frozenset(
    "a an and or of to in on at for from with by is are was it its you your we our i my the that this than but so if as per "
    "up more less over under about only just each every not no can will would all be do off out other until before after "
    "which what when who how".split()
)


def _english(text: str) -> list[Quantity]:
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


# -- Chinese --------------------------------------------------------------------------------------------------------------

_DIGITS = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "俩": 2}
_PLACES = {"十": 10, "百": 100, "千": 1000}
_NUMERALS = "零〇一二两三四五六七八九十百千万亿"
_ZH_NUMBER = (
    rf"(?:\d+(?:,\d{{3}})*(?:\.\d+)?\s?(?:百万|千万|亿|万|千|百|k)?(?:\d{{1,4}}(?=元|块))?"
    rf"|[{_NUMERALS}]*[{_NUMERALS}](?:点[零〇一二两三四五六七八九]+)?(?:万|千|百|亿)?)"
)
_ZH_UNITS: tuple[tuple[str, Dimension, str, float], ...] = (
    ("%", Dimension.PERCENT, "", 1.0),
    ("个百分点", Dimension.PERCENT, "", 1.0),
    ("个点", Dimension.PERCENT, "", 1.0),
    ("成", Dimension.PERCENT, "", 10.0),
    ("折", Dimension.REDUCTION, "", 1.0),
    ("元", Dimension.MONEY, "", 1.0),
    ("块", Dimension.MONEY, "", 1.0),
    ("人民币", Dimension.MONEY, "", 1.0),
    ("分钟", Dimension.TIME, "", MINUTES["minute"]),
    ("个小时", Dimension.TIME, "", MINUTES["hour"]),
    ("小时", Dimension.TIME, "", MINUTES["hour"]),
    ("个钟头", Dimension.TIME, "", MINUTES["hour"]),
    ("个工作日", Dimension.TIME, "", MINUTES["day"]),
    ("工作日", Dimension.TIME, "", MINUTES["day"]),
    ("天", Dimension.TIME, "", MINUTES["day"]),
    ("日", Dimension.TIME, "", MINUTES["day"]),
    ("个星期", Dimension.TIME, "", MINUTES["week"]),
    ("个礼拜", Dimension.TIME, "", MINUTES["week"]),
    ("星期", Dimension.TIME, "", MINUTES["week"]),
    ("周年", Dimension.TIME, "", MINUTES["year"]),
    ("周", Dimension.TIME, "", MINUTES["week"]),
    ("个月", Dimension.TIME, "", MINUTES["month"]),
    ("期", Dimension.TIME, "", MINUTES["month"]),
    ("年", Dimension.TIME, "", MINUTES["year"]),
)
_ZH_QUANTITY = re.compile(
    rf"百分之(?P<share>{_ZH_NUMBER})|(?P<mille>[一二三四五六七八九\d])厘(?P<part>[一二三四五六七八九\d])?"
    rf"|(?P<half>半)(?P<halfunit>年|个月|个小时|小时|天)|(?P<number>{_ZH_NUMBER})"
)
_ZH_HALF = re.compile(r"半")
_NOT_NUMBERS = ("万一", "千万", "一千零一", "百万", "一一")
_ZH_OTHER_UNIT = re.compile(
    "公里|千米|厘米|毫米|平方米|立方米|平米|平方|公斤|千克|毫升|千瓦|分贝|英寸|[米里升度斤克瓦帕寸吋家个次种项条座辆台张款道层档只倍岁人位名节堂门件块粒]"
    "|(?:kwh|km|cm|mm|kg|ml|db|pa|mah|gb|tb|kw|l|w|m|g)(?![a-z])"
)
_ZH_METRES = re.compile(r"[零一二三四五六七八九\d]{1,2}(?![零一二三四五六七八九十百千万\d])")


def _chinese(text: str) -> list[Quantity]:
    found: list[Quantity] = []
    at = 0
    while (match := _ZH_QUANTITY.search(text, at)) is not None:
        quantity = _chinese_at(text, match)
        at = match.end() if quantity is None else max(quantity.end, match.end())
        if quantity is not None:
            found.append(quantity)
    return found


def _chinese_at(text: str, match: re.Match[str]) -> Quantity | None:
    if match["share"]:
        return Quantity(_chinese_value(match["share"]), Dimension.PERCENT, "", match.start(), match.end())
    if match["mille"]:
        value = _chinese_value(match["mille"]) + (_chinese_value(match["part"]) / 10 if match["part"] else 0.0)
        return Quantity(round(value, 6), Dimension.PERCENT, "", match.start(), match.end())
    if match["half"]:
        _, _, _, factor = next(unit for unit in _ZH_UNITS if unit[0] == match["halfunit"])
        return Quantity(0.5 * factor, Dimension.TIME, "", match.start(), match.end())
    raw = match["number"]
    value, end = _chinese_value(raw), match.end()
    for name, dimension, unit, factor in _ZH_UNITS:
        if text.startswith(name, end):
            return _with_unit(text, match, value, (name, dimension, unit, factor))
    other = _ZH_OTHER_UNIT.match(text, end)
    if raw in _NOT_NUMBERS or (len(raw) == 1 and not raw.isdigit() and other is None):
        return None
    if text.startswith("个半小时", end):
        return Quantity((value + 0.5) * 60, Dimension.TIME, "", match.start(), end + 4)
    if other is None:
        return Quantity(value, Dimension.PLAIN, "", match.start(), end)
    unit = _ZH_ALIASES.get(other.group(), other.group())
    metres = _ZH_METRES.match(text, other.end()) if unit == "米" else None
    if metres is not None:
        # 两米八二 is 2.82 metres.
        return Quantity(float(f"{value:g}.{_digits(metres.group())}"), Dimension.UNIT, unit, match.start(), metres.end())
    return Quantity(value, Dimension.UNIT, unit, match.start(), other.end())


_ZH_ALIASES = {
    "l": "升",
    "km": "公里",
    "kwh": "度",
    "w": "瓦",
    "kw": "千瓦",
    "m": "米",
    "cm": "厘米",
    "mm": "毫米",
    "kg": "公斤",
    "千克": "公斤",
}
_ZH_ALIASES |= {"g": "克", "ml": "毫升", "db": "分贝", "pa": "帕", "吋": "英寸", "寸": "英寸", "千米": "公里"}


def _digits(numerals: str) -> str:
    return "".join(char if char.isdigit() else str(_DIGITS[char]) for char in numerals)


def _with_unit(text: str, match: re.Match[str], value: float, unit: tuple[str, Dimension, str, float]) -> Quantity:
    name, dimension, unit_name, factor = unit
    end = match.end() + len(name)
    if name == "块" and text.startswith("钱", end):
        end += 1
    if name == "日" and text.startswith("均", end):
        dimension, factor = Dimension.UNIT, 1.0
    if dimension is Dimension.REDUCTION:
        value = 100.0 - (value * 10 if value < 10 else value)
    elif dimension is Dimension.TIME and _ZH_HALF.match(text, end):
        value, end = value + 0.5, end + 1
    elif name == "成" and _ZH_HALF.match(text, end):
        value, end = value + 0.5, end + 1
    return Quantity(value * factor, dimension, unit_name, match.start(), end)


def _chinese_value(raw: str) -> float:
    """The value of digits with a Chinese scale ("20万"), or of Chinese numerals ("一千六百五十", "两万五", "一点六五")."""
    raw = raw.replace(",", "").replace(" ", "")
    if raw[0].isdigit():
        digits = re.match(r"\d+(?:\.\d+)?", raw)
        head = digits.group() if digits else "0"
        value = float(head)
        for char in raw[len(head) :]:
            value *= {"百": 1e2, "千": 1e3, "k": 1e3, "万": 1e4, "亿": 1e8}.get(char, 1.0)
        return value
    whole, _, fraction = raw.partition("点")
    scale = 1.0
    if fraction and fraction[-1] in "百千万亿":
        scale, fraction = {"百": 1e2, "千": 1e3, "万": 1e4, "亿": 1e8}[fraction[-1]], fraction[:-1]
    value = _numerals(whole)
    if fraction:
        value += float("0." + "".join(str(_DIGITS.get(char, 0)) for char in fraction))
    return round(value * scale, 9)


def _numerals(raw: str) -> float:
    if not any(char in "十百千万亿" for char in raw):
        return float("".join(str(_DIGITS[char]) for char in raw) or 0)
    total, section, digit, place = 0.0, 0.0, 0.0, 1.0
    for char in raw:
        if char in _DIGITS:
            digit = digit * 10 + _DIGITS[char] if place == 0 else float(_DIGITS[char])
        elif char in _PLACES:
            place = float(_PLACES[char])
            section += (digit or 1.0) * place
            digit = 0.0
        else:
            place = 1e4 if char == "万" else 1e8
            total = (total + section + (digit or (0.0 if section else 1.0))) * place
            section, digit = 0.0, 0.0
    # 两万五 and 一千八 leave out the last place: the digit counts a tenth of the place before it.
    implied = digit * place / 10 if place >= 100 and raw[-1] in _DIGITS and "零" not in raw[-2:-1] else digit
    return total + section + implied
