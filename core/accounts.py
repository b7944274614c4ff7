"""Accounts and roles, and what each role may open."""

from __future__ import annotations

from enum import StrEnum

from pydantic import AwareDatetime

from core.scenarios import Frozen, Language

__all__ = ["Account", "Audience", "Role"]


class Role(StrEnum):
    SALESPERSON = "salesperson"
    ANNOTATOR = "annotator"
    RESEARCHER = "researcher"
    ADMIN = "admin"


class Audience(StrEnum):
    """Who a set of pages is for. Each audience has its own application behind its own gate."""

    PRACTICE = "practice"
    ADMIN = "admin"


_MAY_OPEN: dict[Audience, frozenset[Role]] = {
    Audience.PRACTICE: frozenset({Role.SALESPERSON, Role.ADMIN}),
    Audience.ADMIN: frozenset({Role.ADMIN}),
}


class Account(Frozen):
    """A person who signs in. The password's hash never leaves the store."""

    id: int
    name: str
    roles: frozenset[Role]
    language: Language | None = None
    has_password: bool = False
    disabled: bool = False
    created_at: AwareDatetime

    def may_open(self, audience: Audience) -> bool:
        return not self.disabled and bool(self.roles & _MAY_OPEN[audience])
