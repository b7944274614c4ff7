"""The store: one SQLite file, or a PostgreSQL database.

::

    store = Store("sqlite:///salesfloor.sqlite")
    store.migrate()
    with store.session() as session:          # a write transaction: committed at the end, rolled back on an error
        AccountRepository(session).add("Mei", {Role.SALESPERSON})
    with store.reading() as session:          # a consistent view, and no lock that a writer would wait for
        AccountRepository(session).list()
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import SQLAlchemyError
from sqlmodel import Session

from core.errors import StoreError
from data import schema
from data.engines import BEGIN_OPTION, BUSY_TIMEOUT_S, make_engine, parse_store_url, sqlite_path
from data.sql_errors import store_error

__all__ = ["Store"]


class Store:
    """Opens sessions on a store. Safe to share between threads; opens nothing before it is used.

    Raises StoreError for a URL that is neither a SQLite file nor PostgreSQL.
    """

    def __init__(self, url: str) -> None:
        self._url = parse_store_url(url)
        self._path = sqlite_path(self._url)
        self._engine = make_engine(self._url)
        self._read_engine = self._reading_engine()
        self._writing = threading.Lock()

    @property
    def path(self) -> Path | None:
        """The SQLite file, or None on PostgreSQL."""
        return self._path

    @property
    def place(self) -> str:
        """Where the store is, for people: a path, or a URL without its password."""
        return str(self._path) if self._path else self._url.render_as_string(hide_password=True)

    @contextlib.contextmanager
    def session(self) -> Iterator[Session]:
        """One write transaction: committed when the block ends, rolled back when it raises.

        Keep it short, and never hold it over a model call or a password hash: on SQLite one writer writes at a time.
        Raises StoreError for what the database could not do.
        """
        with self._turn_to_write(), self._transaction(self._engine) as session:
            yield session

    @contextlib.contextmanager
    def reading(self) -> Iterator[Session]:
        """One read transaction on a consistent view of the store. Nothing is written, nobody waits for it.

        Raises StoreError for what the database could not do.
        """
        with self._transaction(self._read_engine) as session:
            yield session

    def current_revision(self) -> str | None:
        """The schema's revision in the store; None if the store is missing or empty. Raises StoreError."""
        if self._path is not None and not self._path.exists():
            return None
        with self._connected() as connection:
            return schema.read_revision(connection, self.place)

    def is_current(self) -> bool:
        """Whether the store has the schema of this program. Raises StoreError as :meth:`current_revision`."""
        return self.current_revision() == schema.head_revision()

    def check_writable(self) -> None:
        """Raises StoreError if this program may not write to the store. Changes nothing; the schema must be there."""
        with self.session() as session:
            session.connection().execute(text("UPDATE account SET name = name WHERE id = -1"))

    def migrate(self) -> Path | None:
        """Create the store or bring its schema up to date; return the path of the backup copy if one was made.

        A SQLite file is made for its owner alone, in a folder for its owner alone; before the schema of an existing one is
        changed, a copy is left beside it. Several processes may do this at once. Raises StoreError.
        """
        if self._path is not None:
            self._create_file(self._path)
        with self._connected() as connection, connection.begin():
            schema.lock_for_migration(connection)
            revision = schema.read_revision(connection, self.place)
            if revision == schema.head_revision():
                return None
            backup = self._back_up(revision)
            schema.upgrade(connection)
            self._check_foreign_keys(connection)
        return backup

    def close(self) -> None:
        """Close all connections. The store can be used again afterwards."""
        self._engine.dispose()

    # -- inside -------------------------------------------------------------------------------------------------------

    def _reading_engine(self) -> Engine:
        if self._path is None:
            return self._engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        return self._engine.execution_options(**{BEGIN_OPTION: "BEGIN DEFERRED"})

    @contextlib.contextmanager
    def _turn_to_write(self) -> Iterator[None]:
        """Wait for this process's other writers in a queue of our own.

        SQLite would have them come back and look, ever more seldom: with dozens of them the unlucky wait for seconds. What is
        left to SQLite are the writers of other processes.
        """
        if self._path is None:
            yield
            return
        if not self._writing.acquire(timeout=BUSY_TIMEOUT_S):
            raise StoreError(
                f"store {self.place} is busy: another change has been going on for {BUSY_TIMEOUT_S:.0f} s; try again"
            )
        try:
            yield
        finally:
            self._writing.release()

    @contextlib.contextmanager
    def _transaction(self, engine: Engine) -> Iterator[Session]:
        # expire_on_commit: repositories hand out domain objects, and nobody reads rows after the end of the block.
        try:
            with Session(engine, expire_on_commit=False) as session, session.begin():
                yield session
        except SQLAlchemyError as error:
            raise self._explain(error) from error

    @contextlib.contextmanager
    def _connected(self) -> Iterator[Connection]:
        """A connection without foreign-key checks: a batch migration drops and rebuilds tables that others refer to."""
        try:
            with self._engine.connect() as connection:
                sqlite = connection.connection.dbapi_connection if self._path is not None else None
                if isinstance(sqlite, sqlite3.Connection):
                    sqlite.execute("PRAGMA foreign_keys = OFF")
                try:
                    yield connection
                finally:
                    connection.rollback()
                    if isinstance(sqlite, sqlite3.Connection):
                        sqlite.execute("PRAGMA foreign_keys = ON")
        except (SQLAlchemyError, sqlite3.Error) as error:
            raise self._explain(error) from error

    def _create_file(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            schema.enter_wal(path)
        except (FileExistsError, NotADirectoryError) as error:
            raise StoreError(
                f"store {path}: its folder cannot be made, because a file is in the way; name another path"
            ) from error
        except IsADirectoryError as error:
            raise StoreError(f"store {path} is a folder; name a file in it") from error
        except PermissionError as error:
            raise StoreError(f"store {path} may not be written by this user; change its permissions, or name another") from error
        except OSError as error:
            raise StoreError(f"store {path} cannot be made: {error.strerror}; name another path") from error
        except sqlite3.Error as error:
            raise self._explain(error) from error

    def _back_up(self, revision: str | None) -> Path | None:
        if self._path is None or revision is None:
            return None
        try:
            return schema.back_up(self._path, revision)
        except OSError as error:
            raise StoreError(f"store {self.place} was not changed: its backup copy failed ({error.strerror})") from error

    def _check_foreign_keys(self, connection: Connection) -> None:
        if self._path is None:
            return
        broken = connection.execute(text("PRAGMA foreign_key_check")).first()
        if broken is not None:
            raise StoreError(f"store {self.place} was not changed: a row of table {broken[0]!r} refers to nothing")

    def _explain(self, error: SQLAlchemyError | sqlite3.Error) -> StoreError:
        if self._path is not None and not self._path.exists():
            return StoreError(f"there is no store at {self._path}; start Salesfloor once, or name another with --store")
        return store_error(error, self.place)
