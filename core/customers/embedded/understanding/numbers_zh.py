"""Quantities in Chinese: "百分之三点六", "三厘六", "20万", "两年半", "八五折"."""

from __future__ import annotations

import re

from core.customers.embedded.understanding.quantity import MINUTES, Dimension, Quantity

__all__ = ["read_chinese"]

_DIGITS = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "俩": 2}
_PLACES = {"十": 10, "百": 100, "千": 1000}
_NUMERALS = "零〇一二两三四五六七八九十百千万亿"
_ZH_NUMBER = (
    rf"(?:\d+(?:,\d{{3}})*(?:\.\d+)?\s?(?:百万|千万|亿|万|千|百|k)?(?:\d{{1,4}}(?=元|块))?"
    # No number begins with 万 or 亿; 万一 is "in case".
    rf"|(?![万亿])[{_NUMERALS}]+(?:点[零〇一二两三四五六七八九]+)?(?:万|千|百|亿)?)"
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


def read_chinese(text: str) -> list[Quantity]:
    """All quantities of a half-width text, in order."""
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
    metres = _ZH_METRES.match(text, other.end()) if unit == "米" and value == int(value) else None
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
    elif (dimension is Dimension.TIME and _ZH_HALF.match(text, end)) or (name == "成" and _ZH_HALF.match(text, end)):
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
