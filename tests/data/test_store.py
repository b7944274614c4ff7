"""Opening, migrating, backing up, and what the store says when it can't."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import create_engine, text
from sqlmodel import Session

from core.dialogues import utc_now
from core.errors import StoreError
from data import schema
from data.engines import connect_sqlite
from data.store import Store
from data.tables import AccountRow, metadata
from tests.support.store_factory import sqlite_url


def add_account(session: Session, name: str) -> None:
    session.add(AccountRow(name=name, name_key=name, created_at=utc_now()))


def test_an_upgraded_empty_store_equals_the_tables(store: Store) -> None:
    with store.session() as session:
        context = MigrationContext.configure(session.connection(), opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, metadata) == []


def test_constraints_are_named_as_in_the_tables(sqlite_store: Store, tmp_path: Path) -> None:
    """Alembic does not compare check constraints; SQLite tells the whole statement."""
    reference = create_engine(f"sqlite:///{tmp_path / 'reference.sqlite'}")
    metadata.create_all(reference)
    names = "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name != 'alembic_version'"

    def checks(sql: str) -> list[str]:
        return sorted(line.strip().rstrip(",") for line in sql.replace("\t", "\n").split("\n") if "CONSTRAINT" in line)

    with reference.connect() as connection, sqlite_store.reading() as session:
        wanted = {name: checks(sql) for name, sql in connection.execute(text(names))}
        assert {name: checks(sql) for name, sql in session.connection().execute(text(names))} == wanted
    reference.dispose()


def test_migrating_again_changes_nothing(store: Store) -> None:
    assert store.current_revision() == schema.head_revision()
    assert store.is_current()
    assert store.migrate() is None


def test_a_missing_store_has_no_revision_and_is_not_made_by_asking(tmp_path: Path) -> None:
    store = Store(sqlite_url(tmp_path))
    assert store.current_revision() is None
    with pytest.raises(StoreError, match="there is no store at"), store.reading() as session:
        session.connection()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_the_file_is_the_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = Store(sqlite_url(tmp_path / "new"))
        store.migrate()
        with store.session() as session:
            add_account(session, "a")
            session.flush()
            beside = {file.name: stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "new").iterdir()}
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    assert set(beside.values()) == {0o600}
    assert "salesfloor.sqlite-wal" in beside
    store.close()


def test_sqlite_is_set_up_for_safety(sqlite_store: Store) -> None:
    with sqlite_store.reading() as session:
        pragma = {
            name: session.connection().execute(text(f"PRAGMA {name}")).scalar()
            for name in ("journal_mode", "foreign_keys", "synchronous")
        }
    assert pragma == {"journal_mode": "wal", "foreign_keys": 1, "synchronous": 2}


def test_foreign_keys_are_on_again_after_migrating(sqlite_store: Store) -> None:
    sqlite_store.migrate()
    with pytest.raises(StoreError, match="refused the change"), sqlite_store.session() as session:
        session.connection().execute(text("INSERT INTO account_role VALUES (99, 'admin')"))


def test_a_failing_block_leaves_nothing_behind(store: Store) -> None:
    def fail() -> None:
        with store.session() as session:
            add_account(session, "a")
            session.flush()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with store.reading() as session:
        assert session.connection().execute(text("SELECT count(*) FROM account")).scalar() == 0


def test_reading_sees_one_moment(store: Store) -> None:
    count = text("SELECT count(*) FROM account")
    with store.reading() as reader:
        assert reader.connection().execute(count).scalar() == 0
        with store.session() as writer:
            add_account(writer, "a")
        assert reader.connection().execute(count).scalar() == 0
    with store.reading() as reader:
        assert reader.connection().execute(count).scalar() == 1


def test_two_processes_may_start_on_a_fresh_store(url: str) -> None:
    code = "import sys; from data.store import Store; s = Store(sys.argv[1]); s.migrate(); assert s.is_current(); print('ready')"
    processes = [
        subprocess.Popen([sys.executable, "-c", code, url], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    results = [process.communicate(timeout=90) for process in processes]
    assert [out.strip() for out, _ in results] == ["ready"] * 3, [err for _, err in results]


def test_many_threads_may_migrate_at_once(url: str) -> None:
    stores = [Store(url) for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(lambda store: store.migrate(), stores)) == [None] * 6
    for store in stores:
        assert store.is_current()
        store.close()


# -- backups ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def next_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that is one revision ahead of the store; its migration fails where the store holds an account 'poison'."""

    def upgrade(session_connection: object) -> None:
        operations = Operations(MigrationContext.configure(session_connection))  # type: ignore[arg-type]
        operations.execute("ALTER TABLE account ADD COLUMN motto VARCHAR")
        poisoned = operations.get_bind().execute(text("SELECT count(*) FROM account WHERE name = 'poison'")).scalar()
        operations.execute("UPDATE alembic_version SET version_num = '9999'")
        if poisoned:
            raise sqlite3.OperationalError("a step of the migration failed")

    monkeypatch.setattr(schema, "head_revision", lambda: "9999")
    monkeypatch.setattr(schema, "upgrade", upgrade)


def store_of_today(folder: Path, name: str) -> Store:
    """A store made by the program as it is, although the fixture has moved the program ahead."""
    code = (
        "import sys; from data.store import Store; from data.tables import AccountRow; from core.dialogues import utc_now\n"
        "s = Store(sys.argv[1]); s.migrate()\n"
        "with s.session() as x: x.add(AccountRow(name=sys.argv[2], name_key=sys.argv[2], created_at=utc_now()))"
    )
    subprocess.run([sys.executable, "-c", code, sqlite_url(folder), name], check=True, timeout=60)
    return Store(sqlite_url(folder))


@pytest.mark.usefixtures("next_revision")
def test_a_migration_leaves_a_copy_of_the_old_store(tmp_path: Path) -> None:
    store = store_of_today(tmp_path, "Mei")
    backup = store.migrate()
    assert backup is not None
    assert backup.name.startswith("salesfloor.backup-0001-")
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    with sqlite3.connect(backup) as copy:
        assert copy.execute("SELECT name FROM account").fetchall() == [("Mei",)]
        assert "motto" not in [row[1] for row in copy.execute("PRAGMA table_info(account)")]
        assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    copy.close()
    assert sorted(file.suffix for file in tmp_path.iterdir() if "backup" in file.name) == [".sqlite"]
    with store.reading() as session:
        assert session.connection().execute(text("SELECT name, motto FROM account")).all() == [("Mei", None)]
    store.close()


@pytest.mark.usefixtures("next_revision")
def test_a_migration_that_fails_halfway_changes_nothing(tmp_path: Path) -> None:
    store = store_of_today(tmp_path, "poison")
    with pytest.raises(StoreError, match="a step of the migration failed"):
        store.migrate()
    with sqlite3.connect(tmp_path / "salesfloor.sqlite") as file:
        assert file.execute("SELECT version_num FROM alembic_version").fetchone() == ("0001",)
        assert "motto" not in [row[1] for row in file.execute("PRAGMA table_info(account)")]
    file.close()
    store.close()


def test_a_fresh_store_needs_no_backup(tmp_path: Path) -> None:
    store = Store(sqlite_url(tmp_path))
    assert store.migrate() is None
    assert not [file for file in tmp_path.iterdir() if "backup" in file.name]
    store.close()


# -- what goes wrong --------------------------------------------------------------------------------------------------


def failure_of(url: str) -> str:
    store = Store(url)
    try:
        with pytest.raises(StoreError) as caught:
            store.migrate()
    finally:
        store.close()
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("salesfloor.sqlite", "is not a URL; write sqlite:///"),
        ("sqlite://", "names no file"),
        ("sqlite:///:memory:", "names no file"),
        ("mysql://localhost/x", "'mysql' is not supported"),
    ],
)
def test_urls_that_are_no_store(url: str, message: str) -> None:
    with pytest.raises(StoreError, match=message):
        Store(url)


def test_a_password_is_never_shown() -> None:
    pytest.importorskip("psycopg")
    store = Store("postgresql+psycopg://me:hunter2@127.0.0.1:1/none")
    assert "hunter2" not in store.place
    with pytest.raises(StoreError, match="cannot be reached") as caught:
        store.migrate()
    assert "hunter2" not in str(caught.value)


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "salesfloor.sqlite").write_text("Dear diary, " * 100)
    assert "is not a database" in failure_of(sqlite_url(tmp_path))
    assert (tmp_path / "salesfloor.sqlite").read_text().startswith("Dear diary")


def test_another_programs_database(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "salesfloor.sqlite") as other:
        other.execute("CREATE TABLE recipe (id INTEGER)")
    other.close()
    assert "holds another program's tables (recipe)" in failure_of(sqlite_url(tmp_path))


def test_a_store_of_a_newer_program(sqlite_store: Store) -> None:
    with sqlite_store.session() as session:
        session.connection().execute(text("UPDATE alembic_version SET version_num = '2099'"))
    with pytest.raises(StoreError, match=r"schema '2099'.*newer Salesfloor"):
        sqlite_store.migrate()
    with pytest.raises(StoreError, match="schema '2099'"):
        sqlite_store.current_revision()


def test_a_folder_in_place_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "salesfloor.sqlite").mkdir()
    assert "is a folder" in failure_of(sqlite_url(tmp_path))


def test_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    assert "a file is in the way" in failure_of(sqlite_url(tmp_path / "data"))
    assert "a file is in the way" in failure_of(sqlite_url(tmp_path / "data" / "deeper"))


def test_a_locked_store(sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sqlite_store.path is not None
    sqlite_store.close()
    monkeypatch.setattr("data.engines.BUSY_TIMEOUT_S", 0.05)
    other = connect_sqlite(sqlite_store.path)
    other.execute("BEGIN IMMEDIATE")
    try:
        with pytest.raises(StoreError, match="is locked by another program"), sqlite_store.session() as session:
            session.connection()
        with sqlite_store.reading() as session:
            assert session.connection().execute(text("SELECT count(*) FROM account")).scalar() == 0
    finally:
        other.close()


def test_a_read_only_store(sqlite_store: Store) -> None:
    def write() -> None:
        with sqlite_store.session() as session:
            connection = session.connection()
            connection.exec_driver_sql("PRAGMA query_only = ON")
            try:
                connection.execute(text("DELETE FROM account"))
            finally:
                connection.exec_driver_sql("PRAGMA query_only = OFF")

    with pytest.raises(StoreError, match="is read-only; make the file"):
        write()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write anything")
def test_a_folder_that_may_not_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        assert "may not be written by this user" in failure_of(sqlite_url(tmp_path))
    finally:
        tmp_path.chmod(0o700)


def test_a_full_disk(sqlite_store: Store) -> None:
    def fill() -> None:
        with sqlite_store.session() as session:
            connection = session.connection()
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
            for number in range(100):
                add_account(session, f"{number} " + "x" * 5000)
            session.flush()

    with pytest.raises(StoreError, match="the disk is full; free some space"):
        fill()
