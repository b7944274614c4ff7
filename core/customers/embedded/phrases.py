"""The phrase banks: what the customer says where the scenario has no words for it, one YAML file for each language."""

from __future__ import annotations

import string
from functools import cache
from pathlib import Path
from typing import Literal, Self

import yaml
from pydantic import Field, ValidationError, model_validator

from core.errors import InvalidInput, Problem
from core.scenarios import DecisionFactor, FactTopic, Frozen, Language, ObjectionKind

__all__ = ["MOODS", "SLOTS", "Mood", "PhraseBank", "load_phrases"]

Mood = Literal["warm", "neutral", "cool", "hostile"]
MOODS: tuple[Mood, ...] = ("warm", "neutral", "cool", "hostile")

SLOTS = frozenset({"product", "label", "topic", "factor", "evidence", "number", "you"})
"""Slots that a phrase may have. Reasons have slots of their own."""

Phrases = tuple[str, ...]
ByMood = dict[Literal["warm", "neutral", "cool", "hostile", "any"], Phrases]


class PhraseBank(Frozen):
    """One language's phrases. ``phrases.LANG.yaml`` explains itself."""

    language: Language
    joiner: str = Field(description="What stands between two sentences.")
    list_separator: str
    phrases: dict[str, ByMood]
    again: dict[str, Phrases]
    leads: dict[str, dict[Mood, Phrases]]
    kinds: dict[ObjectionKind, Phrases]
    factors: dict[DecisionFactor, str]
    remarks: dict[DecisionFactor, Phrases]
    topics: dict[FactTopic, str]
    topic_labels: dict[FactTopic, str]
    fillers: dict[Mood, Phrases]
    reasons: dict[str, str]

    # ``joiner`` is a blank in English: stripping it would glue sentences together.
    model_config = Frozen.model_config | {"str_strip_whitespace": False}

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        for text in self.spoken():
            slots = {field for _, field, _, _ in string.Formatter().parse(text) if field is not None}
            if not slots <= SLOTS:
                raise ValueError(f"{text!r} has unknown slots {sorted(slots - SLOTS)}; use {sorted(SLOTS)}")
        tables: tuple[tuple[str, set[str], set[str]], ...] = (
            ("kinds", set(self.kinds), set(ObjectionKind)),
            ("factors", set(self.factors), set(DecisionFactor)),
            ("remarks", set(self.remarks), set(DecisionFactor)),
            ("topics", set(self.topics), set(FactTopic)),
            ("topic_labels", set(self.topic_labels), set(FactTopic)),
            ("fillers", set(self.fillers), set(MOODS)),
        )
        for name, given, wanted in tables:
            if given != wanted:
                raise ValueError(f"{name} lacks {sorted(wanted - given)}; write them")
        return self

    def spoken(self) -> list[str]:
        """Every phrase that a customer may say, as written."""
        lists: list[Phrases] = [*self.again.values(), *self.kinds.values(), *self.remarks.values(), *self.fillers.values()]
        lists += [group for moods in self.phrases.values() for group in moods.values()]
        lists += [group for leads in self.leads.values() for group in leads.values()]
        return [phrase for group in lists for phrase in group]


@cache
def load_phrases(language: Language) -> PhraseBank:
    """The bank that ships beside this module. Raises InvalidInput if it was edited into something that cannot be read."""
    path = Path(__file__).with_name(f"phrases.{language.value}.yaml")
    try:
        return PhraseBank.model_validate(yaml.safe_load(path.read_text("utf-8")))
    except (OSError, yaml.YAMLError) as error:
        raise InvalidInput(Problem(path.name, str(error), "restore the file")) from error
    except ValidationError as error:
        problems = [Problem(f"{path.name}: {'.'.join(map(str, item['loc']))}", item["msg"]) for item in error.errors()]
        raise InvalidInput(*problems) from error
