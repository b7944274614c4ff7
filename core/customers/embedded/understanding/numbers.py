"""Quantities in running text, in English and Chinese, digits and words: ``20k``, ``three point six percent``, ``三厘六``."""

from __future__ import annotations

import re
from functools import lru_cache

from core.customers.embedded.understanding.numbers_en import read_english
from core.customers.embedded.understanding.numbers_zh import read_chinese
from core.customers.embedded.understanding.quantity import LARGEST, Quantity
from core.scenarios import Language

__all__ = ["find_quantities"]

_ENDLESS = re.compile(r"\d{16,}|[零〇一二两三四五六七八九十百千万亿]{16,}")


@lru_cache(maxsize=512)
def find_quantities(text: str, language: Language) -> tuple[Quantity, ...]:
    """All quantities of a lower-case, half-width text, in order, not overlapping."""
    text = _ENDLESS.sub(lambda match: " " * len(match[0]), text)
    found = read_english(text) if language is Language.EN else read_chinese(text)
    return tuple(quantity for quantity in found if quantity.value < LARGEST)
