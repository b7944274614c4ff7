from __future__ import annotations

import os
import re
import subprocess
import sys
import time

import pytest

from core.accounts import Role
from data.accounts import AccountRepository, sign_in
from data.store import Store
from tests.ui.cli.conftest import ROOT, Cli, Spawn, environment


def test_added_listed_disabled_enabled(cli: Cli) -> None:
    added = cli("account", "add", "美玲 Mei", "--role", "salesperson", "--role", "annotator")
    assert (added.status, added.lines) == (0, ["美玲 Mei added: salesperson, annotator"])
    assert "account link" in added.err
    assert re.fullmatch(r"美玲 Mei  salesperson, annotator  by link only  since \d{4}-\d\d-\d\d", cli("account", "list").lines[0])
    assert cli("account", "disable", "美玲 mei").lines == ["美玲 Mei is disabled"]
    assert "disabled" in cli("account", "list").out
    assert cli("account", "enable", "美玲 Mei").lines == ["美玲 Mei is enabled"]
    assert "disabled" not in cli("account", "list").out


def test_no_accounts_yet_is_said_on_standard_error(cli: Cli) -> None:
    listed = cli("account", "list")
    assert (listed.status, listed.out) == (0, "")
    assert "no accounts yet" in listed.err


def test_columns_are_aligned_in_cells(cli: Cli) -> None:
    for name in ("Bo", "王小明"):
        cli("account", "add", name, "--role", "salesperson")
    assert [line.index("salesperson") for line in cli("account", "list").lines] == [8, 5]  # 王小明 takes six cells


@pytest.mark.parametrize("action", ["disable", "enable", "link"])
def test_an_unknown_account_is_named(action: str, cli: Cli) -> None:
    refused = cli("account", action, "Nobody")
    assert (refused.status, refused.out) == (1, "")
    assert refused.complaints == ["salesfloor: no account 'Nobody'"]


def test_a_name_is_given_once(cli: Cli) -> None:
    assert cli("account", "add", "Mei", "--role", "admin").status == 0
    again = cli("account", "add", "MEI", "--role", "admin")
    assert (again.status, len(again.complaints)) == (1, 1)
    assert "choose another name" in again.err


def test_the_last_admin_stays(cli: Cli) -> None:
    cli("account", "add", "Ada", "--role", "admin")
    refused = cli("account", "disable", "Ada")
    assert refused.status == 1
    assert "last admin" in refused.err


def test_a_link_signs_in_once(cli: Cli, store: Store) -> None:
    cli("account", "add", "Mei", "--role", "salesperson")
    printed = cli("account", "link", "Mei")
    assert printed.status == 0
    assert len(printed.lines) == 1
    address, _, token = printed.out.strip().rpartition("/link/")
    assert address == "http://127.0.0.1:7860"
    with store.session() as session:
        assert AccountRepository(session).redeem_link(token).name == "Mei"


@pytest.mark.parametrize(
    ("given", "begins"),
    [("https://sales.example.org/", "https://sales.example.org/link/"), ("http://10.0.0.5:80", "http://10.0.0.5:80/link/")],
)
def test_a_link_can_name_the_public_address(given: str, begins: str, cli: Cli) -> None:
    cli("account", "add", "Mei", "--role", "salesperson")
    assert cli("account", "link", "Mei", "--address", given).out.startswith(begins)


def test_an_address_without_a_scheme_is_refused(cli: Cli) -> None:
    cli("account", "add", "Mei", "--role", "salesperson")
    refused = cli("account", "link", "Mei", "--address", "sales.example.org")
    assert (refused.status, refused.out) == (1, "")
    assert "--address" in refused.err


def test_a_link_fits_the_configured_host(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    cli("account", "add", "Mei", "--role", "salesperson")
    monkeypatch.setenv("SALESFLOOR_PORT", "9000")
    for host, shown in {"0.0.0.0": "127.0.0.1", "::": "[::1]", "192.168.1.4": "192.168.1.4"}.items():
        monkeypatch.setenv("SALESFLOOR_HOST", host)
        assert cli("account", "link", "Mei").out.startswith(f"http://{shown}:9000/link/")


@pytest.mark.parametrize("line_end", ["", "\n", "\r\n"])
def test_a_password_from_standard_input(line_end: str, url: str, store: Store, spawn: Spawn) -> None:
    said = f"ångström 密码 {line_end}".encode()
    done = spawn("account", "add", "Mei", "--role", "salesperson", "--password-stdin", "--store", url, said=said)
    assert done.returncode == 0, done.stderr
    assert sign_in(store, "Mei", "ångström 密码 ") is not None
    assert b"ngstr" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("said", "named"), [(b"short", b"at least 8"), (b"", b"at least 8"), (b"\xff\xfe\xff\xfe\xff\xfe", b"UTF-8")]
)
def test_a_password_that_will_not_do_adds_no_account(said: bytes, named: bytes, url: str, store: Store, spawn: Spawn) -> None:
    done = spawn("account", "add", "Mei", "--role", "salesperson", "--password-stdin", "--store", url, said=said)
    assert done.returncode == 1
    assert named in done.stderr
    assert done.stderr.count(b"\n") == 1
    with store.reading() as session:
        assert AccountRepository(session).list() == ()


# -- on a terminal ----------------------------------------------------------------------------------------------------

_ON_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


def converse(url: str, *answers: str) -> tuple[int, str]:
    """Add an account on a terminal, giving each answer when a question ends in a colon; return status and screen."""
    ours, theirs = os.openpty()
    arguments = (str(ROOT / "app.py"), "account", "add", "Mei", "--role", "salesperson", "--store", url)
    process = subprocess.Popen(
        [sys.executable, "-c", _ON_TERMINAL, *arguments],
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, env=environment(),
    )  # fmt: skip
    os.close(theirs)
    screen = b""
    deadline = time.monotonic() + 100
    pending = list(answers)
    while time.monotonic() < deadline:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # the other end is gone
            break
        if not piece:
            break
        screen += piece
        if screen.endswith(b": ") and pending:
            os.write(ours, pending.pop(0).encode())
    os.close(ours)
    return process.wait(20), screen.decode()


def test_a_password_typed_on_a_terminal_is_hidden(url: str, store: Store) -> None:
    status, screen = converse(url, "correct horse\n", "correct horse\n")
    assert status == 0, screen
    assert "correct horse" not in screen
    assert sign_in(store, "Mei", "correct horse") is not None


def test_two_passwords_that_differ_add_no_account(url: str, store: Store) -> None:
    status, screen = converse(url, "correct horse\n", "correct house\n")
    assert status == 1
    assert "not the same" in screen
    assert sign_in(store, "Mei", "correct horse") is None


def test_no_password_on_a_terminal_means_by_link(url: str, store: Store) -> None:
    status, screen = converse(url, "\n")
    assert status == 0, screen
    with store.reading() as session:
        account = AccountRepository(session).by_name("Mei")
    assert (account.has_password, account.roles) == (False, {Role.SALESPERSON})


def test_ctrl_c_at_the_question_ends_quietly(url: str, store: Store) -> None:
    status, screen = converse(url, "\x03")
    assert status == 130
    assert "Traceback" not in screen
    with store.reading() as session:
        assert AccountRepository(session).list() == ()
