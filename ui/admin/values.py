"""Values from the browser, checked: a page's components promise nothing about what a hand-made request sends."""

from __future__ import annotations

from typing import Any

from core.accounts import Role
from core.errors import InvalidInput, Problem

__all__ = ["account_id", "account_ids", "chosen_roles", "text"]


def text(value: Any, place: str, *, longest: int) -> str:
    """A text of at most ``longest`` characters, without the spaces around it. Raises InvalidInput."""
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > longest:
        raise InvalidInput(Problem(place, f"it is not a text of at most {longest} characters"))
    return value.strip()


def account_id(value: Any) -> int | None:
    """The account a list's value names; None: nothing was chosen. Raises InvalidInput."""
    if value is None or value == "":
        return None
    if not isinstance(value, str) or not (value.isascii() and value.isdigit() and len(value) <= 9):
        raise InvalidInput(Problem("account", "it is not one of the list"))
    return int(value)


def account_ids(value: Any, *, most: int = 500) -> list[int]:
    """The accounts that a list of values names, each once. Raises InvalidInput."""
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > most:
        raise InvalidInput(Problem("accounts", f"they are not a list of at most {most}"))
    found = [account_id(item) for item in value]
    return list(dict.fromkeys(number for number in found if number is not None))


def chosen_roles(value: Any) -> frozenset[Role]:
    """The roles that are ticked. Raises InvalidInput."""
    if value is None:
        return frozenset()
    if not isinstance(value, list) or any(not isinstance(item, str) or item not in frozenset(Role) for item in value):
        raise InvalidInput(Problem("roles", "they are not roles of the list"))
    return frozenset(Role(item) for item in value)
