"""Small helpers that several repositories share."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, SQLModel

__all__ = ["Page", "insert_missing", "is_duplicate", "required_id"]

T = TypeVar("T")

_DUPLICATE_SQLITE = {"SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY"}
_DUPLICATE_POSTGRES = "23505"


@dataclass(frozen=True)
class Page(Generic[T]):
    """One page of a list, and how many items the whole list has."""

    items: tuple[T, ...]
    total: int


def is_duplicate(error: IntegrityError) -> bool:
    """Whether a unique constraint refused the row."""
    original = error.orig
    if isinstance(original, sqlite3.Error):
        return original.sqlite_errorname in _DUPLICATE_SQLITE
    return getattr(original, "sqlstate", None) == _DUPLICATE_POSTGRES


def insert_missing(session: Session, table: type[SQLModel], values: Mapping[str, Any]) -> None:
    """Insert a row unless one with its key is there, also when another transaction inserts it at the same moment."""
    insert = postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert
    session.exec(insert(table).values(dict(values)).on_conflict_do_nothing())


def required_id(row_id: int | None) -> int:
    """The id of a row that has been flushed."""
    if row_id is None:
        raise AssertionError("the row has not been flushed")
    return row_id
