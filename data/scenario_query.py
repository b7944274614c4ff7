"""The query language for scenarios: ``language:en tier:hard,very_hard domain:financial id:fin-deposit``.

Terms are separated by spaces, and all must hold. A comma lists alternatives. ``id:`` matches the beginning of the id.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from core.dialogues import storable
from core.errors import InvalidInput, Problem
from core.scenarios import Domain, Frozen, Language, Setting, Tier

__all__ = ["ScenarioQuery", "parse_query"]

_CLOSED: Final[dict[str, type[StrEnum]]] = {"language": Language, "tier": Tier, "domain": Domain, "setting": Setting}
_NOTHING: Final = "?"
"""No id begins with it."""
_KEYS: Final = ("language", "tier", "domain", "category", "setting", "id")


class ScenarioQuery(Frozen):
    """Which scenarios are wanted. Each field lists alternatives; an empty one lets everything through."""

    language: tuple[Language, ...] = ()
    tier: tuple[Tier, ...] = ()
    domain: tuple[Domain, ...] = ()
    category: tuple[str, ...] = ()
    setting: tuple[Setting, ...] = ()
    id_prefix: tuple[str, ...] = ()


def parse_query(text: str) -> ScenarioQuery:
    """Read a query; the empty query wants everything.

    Raises InvalidInput with one problem for each term that is wrong, naming what is allowed. Whether a category exists is
    for the library to know: :meth:`data.scenarios.ScenarioRepository.search` checks it.
    """
    problems: list[Problem] = []
    terms: dict[str, tuple[str, ...]] = {}
    for term in storable(text).split():
        key, colon, value = term.partition(":")
        values = tuple(dict.fromkeys(v.strip().lower() for v in value.split(",") if v.strip()))
        if not colon or key not in _KEYS:
            problems.append(
                Problem(f"query term {term!r}", f"{key!r} is not a key", f"write KEY:VALUE with a key of {', '.join(_KEYS)}")
            )
        elif not values:
            problems.append(Problem(f"query term {term!r}", "its value is missing", f"write {key}:VALUE"))
        elif key in terms and key != "id" and not set(values) & set(terms[key]):
            both = f"{key}:{','.join((*terms[key], *values))}"
            problems.append(
                Problem(f"query term {term!r}", "no scenario can have two values at once", f"for either of them write {both}")
            )
        else:
            terms[key] = _narrowed(terms.get(key), values, is_prefix=key == "id")
            problems += _unknown_values(term, key, values)
    if problems:
        raise InvalidInput(*problems)
    return ScenarioQuery.model_validate({("id_prefix" if key == "id" else key): values for key, values in terms.items()})


def _narrowed(earlier: tuple[str, ...] | None, values: tuple[str, ...], *, is_prefix: bool) -> tuple[str, ...]:
    """What satisfies both terms of one key."""
    if earlier is None:
        return values
    if not is_prefix:
        return tuple(value for value in earlier if value in values)
    longer = [max(a, b, key=len) for a in earlier for b in values if a.startswith(b) or b.startswith(a)]
    return tuple(dict.fromkeys(longer)) or (_NOTHING,)


def _unknown_values(term: str, key: str, values: tuple[str, ...]) -> list[Problem]:
    if key not in _CLOSED:
        return []
    allowed = [member.value for member in _CLOSED[key]]
    return [
        Problem(f"query term {term!r}", f"{value!r} is not a {key}", f"use one of {', '.join(allowed)}")
        for value in values
        if value not in allowed
    ]
