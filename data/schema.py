"""The schema's revisions: which one a store has, and bringing it up to date."""

from __future__ import annotations

import os
import sqlite3
import time
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text

from core.errors import StoreError
from data.engines import BUSY_TIMEOUT_S, connect_sqlite

__all__ = ["back_up", "enter_wal", "head_revision", "lock_for_migration", "read_revision", "upgrade"]

_MIGRATIONS = Path(__file__).with_name("migrations")
_ADVISORY_LOCK = 0x5A1E5F100
"""Key of PostgreSQL's lock that one migrating process holds at a time."""


@cache
def head_revision() -> str:
    """The newest revision that this program knows."""
    head = ScriptDirectory(str(_MIGRATIONS)).get_current_head()
    if head is None:
        raise AssertionError(f"{_MIGRATIONS} holds no revision")
    return head


def read_revision(connection: Connection, place: str) -> str | None:
    """The store's revision; None for an empty store.

    Raises StoreError if the database belongs to another program, or to a newer Salesfloor.
    """
    tables = set(inspect(connection).get_table_names())
    if "alembic_version" not in tables:
        if tables:
            named = ", ".join(sorted(tables)[:3])
            raise StoreError(f"store {place} holds another program's tables ({named}); name another file or database")
        return None
    revision: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    known = {script.revision for script in ScriptDirectory(str(_MIGRATIONS)).walk_revisions()}
    if revision is not None and revision not in known:
        raise StoreError(
            f"store {place} has schema {revision!r}, and this program knows up to {head_revision()!r}; "
            f"it was written by a newer Salesfloor: upgrade Salesfloor, or name another store"
        )
    return revision


def upgrade(connection: Connection) -> None:
    """Apply all missing revisions on a connection that is in a transaction; the caller commits."""
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def lock_for_migration(connection: Connection) -> None:
    """Wait until no other process migrates. On SQLite the transaction itself is the lock."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})


def enter_wal(path: Path) -> None:
    """Switch a SQLite file to write-ahead logging, which lasts. Raises sqlite3.Error."""
    connection = connect_sqlite(path)
    try:
        deadline = time.monotonic() + BUSY_TIMEOUT_S
        while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            # SQLite does not wait for other connections here, so that two starts at once would trip over each other.
            try:
                connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
    finally:
        connection.close()


def back_up(path: Path, revision: str) -> Path:
    """Copy a SQLite store beside itself before a migration and return the copy's path.

    The copy is named by its revision and the time, readable by its owner only, and takes its name only once it is complete.
    Raises sqlite3.Error or OSError.
    """
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
    target = path.with_name(f"{path.stem}.backup-{revision}-{stamp}{path.suffix}")
    partial = target.with_name(target.name + ".partial")
    os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        source, copy = connect_sqlite(path, mode="ro"), sqlite3.connect(partial)
        try:
            source.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")  # one file, with nothing beside it
        finally:
            copy.close()
            source.close()
        partial.replace(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    return target
