"""What a database complains about, as one line that says what to do."""

from __future__ import annotations

import sqlite3

from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from core.errors import StoreError

__all__ = ["store_error"]

_SQLITE = {
    "SQLITE_NOTADB": "is not a database; name another file, or restore a backup",
    "SQLITE_CORRUPT": "is damaged; restore a backup (salesfloor.backup-….sqlite beside it)",
    "SQLITE_BUSY": "is locked by another program; close it and try again",
    "SQLITE_LOCKED": "is locked by another program; close it and try again",
    "SQLITE_READONLY": "is read-only; make the file and its folder writable for this user",
    "SQLITE_FULL": "cannot grow because the disk is full; free some space and try again",
    "SQLITE_CANTOPEN": "cannot be opened; check that the file exists and that this user may write to its folder",
    "SQLITE_IOERR": "could not be read or written (input/output error); check the disk",
    "SQLITE_PERM": "may not be opened by this user; check the permissions of the file",
    "SQLITE_AUTH": "may not be opened by this user; check the permissions of the file",
}
"""By primary result code: extended codes (``SQLITE_READONLY_DBMOVED``) share its start."""

_POSTGRES = {
    "3D000": "there is no such database; create it first (createdb)",
    "28000": "this user may not sign in; check the user in the URL",
    "28P01": "the password was refused; check the user and password in the URL",
    "53100": "the disk of the database server is full; free some space and try again",
    "53300": "the database server has no free connection; try again later",
    "25006": "the database is read-only; connect to the primary server",
    "42501": "this user lacks the right to do that; grant it the schema and its tables",
    "55P03": "the store is locked by another program; close it and try again",
    "57014": "the database server stopped the query because it took too long; try again",
}


def store_error(error: SQLAlchemyError | sqlite3.Error, place: str) -> StoreError:
    """Return the error to raise for ``error``. ``place`` names the store, without a password."""
    if isinstance(error, PoolTimeout):
        return StoreError(f"store {place}: all connections are busy; try again")
    original = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(original, sqlite3.Error):
        name = getattr(original, "sqlite_errorname", None) or ""
        for code, advice in _SQLITE.items():
            if name.startswith(code):
                return StoreError(f"store {place} {advice}")
    state = getattr(original, "sqlstate", None)
    if state in _POSTGRES:
        return StoreError(f"store {place}: {_POSTGRES[state]}")
    first_line = str(original).strip().splitlines()[0] if str(original).strip() else type(original).__name__
    if isinstance(error, IntegrityError):
        return StoreError(f"store {place} refused the change: {first_line}")
    if isinstance(error, OperationalError | InterfaceError) and state is None and not isinstance(original, sqlite3.Error):
        return StoreError(f"store {place} cannot be reached: {first_line}; check that the database server runs")
    return StoreError(f"store {place}: {first_line}")
