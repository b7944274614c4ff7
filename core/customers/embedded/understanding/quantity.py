"""What a number in a text stands for, and when two of them say the same."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["LARGEST", "MINUTES", "Dimension", "Quantity"]


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


LARGEST = 1e15
"""Numbers from here on are noise, and are not read."""


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
        """Whether the number is unlikely to turn up by chance: a fraction, or a large one; durations never are."""
        return self.dimension is not Dimension.TIME and _is_telling(self.value)


def _is_telling(value: float) -> bool:
    return value != int(value) or value >= 100


MINUTES = {"minute": 1.0, "hour": 60.0, "day": 1440.0, "week": 10080.0, "month": 43200.0, "year": 525600.0}
