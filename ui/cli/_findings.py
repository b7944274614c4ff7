"""What a check of the installation found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Finding", "Level", "fail", "ok", "warn"]


class Level(StrEnum):
    OK = "ok"
    WARN = "warn"
    """It works, yet somebody should know."""
    FAIL = "fail"
    """Something will not work."""


@dataclass(frozen=True)
class Finding:
    """``mend`` says what to do, and is empty where there is nothing to do."""

    level: Level
    topic: str
    said: str
    mend: str = ""

    def __str__(self) -> str:
        return f"{self.level.value:<4}  {self.topic:<13}  {' '.join(self.said.split())}" + (f"; {self.mend}" if self.mend else "")


def ok(topic: str, said: str) -> Finding:
    return Finding(Level.OK, topic, said)


def warn(topic: str, said: str, mend: str = "") -> Finding:
    return Finding(Level.WARN, topic, said, mend)


def fail(topic: str, said: str, mend: str = "") -> Finding:
    return Finding(Level.FAIL, topic, said, mend)
