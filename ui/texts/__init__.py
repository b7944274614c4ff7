"""Every word of the interface, in English and in Chinese.

Each part of the interface has a file a language beside this module, ``shell.en.yaml`` and ``shell.zh.yaml``, with the same keys
and slots in both. A file holds sections, a section holds entries.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from string import Formatter

import yaml

from core.scenarios import Language, member_of

__all__ = ["Texts", "language_of", "texts"]


class Texts:
    """The texts of one language. ``t("talk.round", n=3)`` fills the slots; an unknown key or slot is an error, never a blank."""

    def __init__(self, language: Language, entries: Mapping[str, str]) -> None:
        self.language = language
        self._entries = dict(entries)

    def __call__(self, key: str, /, **slots: object) -> str:
        return self._entries[key].format(**slots) if slots else self._entries[key]

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def section(self, name: str) -> dict[str, str]:
        """The entries ``name.…`` without their prefix, for a component that draws itself in the browser."""
        prefix = name + "."
        return {key.removeprefix(prefix): text for key, text in self._entries.items() if key.startswith(prefix)}

    def keys(self) -> frozenset[str]:
        return frozenset(self._entries)

    def slots(self, key: str) -> frozenset[str]:
        """Names of the slots in an entry."""
        return frozenset(name for _, name, _, _ in Formatter().parse(self._entries[key]) if name)


@cache
def texts(language: Language) -> Texts:
    """The texts of a language, from all of its files. Raises ValueError for a section that two files claim."""
    entries: dict[str, str] = {}
    owners: dict[str, str] = {}
    for path in sorted(Path(__file__).parent.glob(f"*.{language.value}.yaml")):
        tree = yaml.safe_load(path.read_text(encoding="utf-8"))
        for section, texts_of_section in tree.items():
            if section in owners:
                raise ValueError(f"section {section!r} stands in {owners[section]} and in {path.name}")
            owners[section] = path.name
            entries.update({f"{section}.{key}": text for key, text in texts_of_section.items()})
    return Texts(language, entries)


def language_of(cookie: str | None, accept_language: str | None) -> Language:
    """The language of a browser: the user's choice, else the first one that the browser asks for and we have, else English."""
    asked = [part.split(";")[0].strip().lower().split("-")[0] for part in (accept_language or "").split(",")]
    return next((found for code in [cookie, *asked] if (found := member_of(Language, code)) is not None), Language.EN)
