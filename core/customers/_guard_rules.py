"""Reads the wordings that give a customer away from ``guards.<language>.yaml`` beside this module."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict

from core.scenarios import Language

__all__ = ["Rule", "Rules", "rules_for"]


@dataclass(frozen=True)
class Rule:
    """``unless`` is looked for in the sentence around a match and calls it off."""

    name: str
    pattern: re.Pattern[str]
    unless: re.Pattern[str] | None


@dataclass(frozen=True)
class Rules:
    role_inversion: tuple[Rule, ...]
    script_leak: tuple[Rule, ...]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    pattern: str
    unless: str | None = None


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    fragments: dict[str, str]
    role_inversion: list[_Entry]
    script_leak: list[_Entry]


@cache
def rules_for(language: Language) -> Rules:
    path = Path(__file__).with_name(f"guards.{language.value}.yaml")
    file = _File.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))

    def compiled(pattern: str) -> re.Pattern[str]:
        for name, fragment in file.fragments.items():
            pattern = pattern.replace(f"<{name}>", fragment)
        return re.compile(pattern, re.IGNORECASE)

    def rules(entries: list[_Entry]) -> tuple[Rule, ...]:
        return tuple(
            Rule(entry.name, compiled(entry.pattern), None if entry.unless is None else compiled(entry.unless))
            for entry in entries
        )

    return Rules(rules(file.role_inversion), rules(file.script_leak))
