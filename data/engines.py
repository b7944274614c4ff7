"""Database engines: one kind for SQLite files, one for PostgreSQL."""

from __future__ import annotations

import json
import sqlite3
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Engine, QueuePool, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from core.errors import StoreError

__all__ = ["BEGIN_OPTION", "BUSY_TIMEOUT_S", "connect_sqlite", "make_engine", "parse_store_url", "sqlite_path"]

BUSY_TIMEOUT_S: Final = 30.0
"""How long a writer waits for another one."""

BEGIN_OPTION: Final = "salesfloor_begin"
"""Execution option: the statement that begins a transaction on SQLite."""


def parse_store_url(url: str) -> URL:
    """Check a store's URL. Raises StoreError for what is neither a SQLite file nor PostgreSQL."""
    try:
        parsed = make_url(url)
    except ArgumentError:
        mend = "write sqlite:///path/to/file.sqlite or postgresql+psycopg://user:password@host/database"
        raise StoreError(f"store {url!r} is not a URL; {mend}") from None
    shown = parsed.render_as_string(hide_password=True)
    if parsed.drivername in {"sqlite", "sqlite+pysqlite"}:
        if not parsed.database or parsed.database == ":memory:" or parsed.query:
            raise StoreError(f"store {shown} names no file; write sqlite:///path/to/file.sqlite")
        return parsed.set(drivername="sqlite")
    if parsed.drivername in {"postgresql", "postgresql+psycopg", "postgres"}:
        if find_spec("psycopg") is None:
            raise StoreError(f"store {shown} needs psycopg; install Salesfloor with the extra 'postgres'")
        return parsed.set(drivername="postgresql+psycopg")
    raise StoreError(f"store {shown}: {parsed.drivername!r} is not supported; use sqlite:/// or postgresql+psycopg://")


def sqlite_path(url: URL) -> Path | None:
    """The store's file, absolute; None for a database server."""
    return Path(str(url.database)).expanduser().absolute() if url.drivername == "sqlite" else None


def make_engine(url: URL) -> Engine:
    """Make the engine of a checked URL. Opens nothing yet."""
    path = sqlite_path(url)
    if path is None:
        return create_engine(url, json_serializer=_to_json, pool_size=10, max_overflow=30, pool_pre_ping=True)
    engine = create_engine(
        "sqlite://",
        creator=lambda: connect_sqlite(path),
        poolclass=QueuePool,
        pool_size=8,
        max_overflow=72,
        json_serializer=_to_json,
    )
    event.listen(engine, "begin", _begin)
    return engine


def connect_sqlite(path: Path, *, mode: str = "rw") -> sqlite3.Connection:
    """Open an existing SQLite file. ``mode`` 'rw' or 'ro'; a missing file is an error, never a new store."""
    # isolation_level None: the driver would otherwise begin transactions late, and never around reads or changes of the schema.
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode={mode}", uri=True, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        # FULL: a turn that was said to be saved survives a power cut, at the price of one fsync for each transaction.
        connection.execute("PRAGMA synchronous = FULL")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _begin(connection: Connection) -> None:
    # IMMEDIATE takes the write lock at once and waits for it. A transaction that began by reading could not wait: SQLite
    # refuses it as soon as somebody else has written.
    connection.exec_driver_sql(connection.get_execution_options().get(BEGIN_OPTION, "BEGIN IMMEDIATE"))


def _to_json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, as models can emit it
        return json.dumps(value, allow_nan=False)
    return text
