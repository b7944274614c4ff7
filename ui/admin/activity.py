"""When each account was last seen in a browser."""

from __future__ import annotations

from datetime import datetime

from sqlmodel import Session, col, func, select

from data.tables import WebSessionRow

__all__ = ["last_seen"]


def last_seen(session: Session) -> dict[int, datetime]:
    """The latest time at which a browser of each account was noted, to within five minutes; who never signed in is left out."""
    statement = select(WebSessionRow.account_id, func.max(WebSessionRow.last_seen_at)).group_by(col(WebSessionRow.account_id))
    return {account_id: moment for account_id, moment in session.exec(statement) if moment is not None}
