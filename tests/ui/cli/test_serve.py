"""``salesfloor serve`` as people start it: a process, its first lines, and its end."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from core.accounts import Role
from data.accounts import AccountRepository
from data.store import Store
from tests.ui.cli.conftest import Cli, command, environment
from ui.cli.serve import first_admin


@contextmanager
def serving(*arguments: str, **variables: str | None) -> Iterator[tuple[subprocess.Popen[bytes], list[str]]]:
    """A server process, and what it printed up to the line that ends its greeting."""
    process = subprocess.Popen(command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(**variables))
    assert process.stdout is not None
    printed: list[str] = []
    try:
        for raw in process.stdout:
            printed.append(raw.decode().rstrip("\n"))
            if "/link/" in printed[-1] or "sign-in link:" in printed[-1]:
                break
        yield process, printed
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def address_of(printed: list[str]) -> str:
    return next(found[0] for line in printed if (found := re.findall(r"is open at (http://\S+)", line)))


@pytest.mark.slow
def test_the_first_start_and_the_second(tmp_path: Path, url: str) -> None:
    data = {"SALESFLOOR_DATA_DIR": str(tmp_path / "data")}
    with serving("serve", "--port", "0", "--store", url, **data) as (process, printed):
        text = "\n".join(printed)
        assert url.removeprefix("sqlite:///") in text
        assert re.search(r"^Customer +embedded \(.*not the benchmark's simulator\)$", text, re.MULTILINE)
        assert re.search(r"^Intent scorer +embedded", text, re.MULTILINE)
        assert re.search(r"^Judge +embedded", text, re.MULTILINE)
        address = address_of(printed)
        link = printed[-1].strip()
        assert link.startswith(f"{address}/link/")
        with httpx.Client(base_url=address, headers={"origin": address}, timeout=20) as browser:
            assert browser.get("/").status_code in (302, 303, 307)
            opened = browser.post(link.removeprefix(address))
            assert opened.status_code in (302, 303)
            assert "sf_session" in browser.cookies
        process.send_signal(signal.SIGINT)
        rest, said = process.communicate(timeout=30)
        assert process.returncode == 130
        assert rest == b""
        assert said.decode().splitlines() == ["Opening the pages …"]
    with serving("serve", "--port", "0", "--store", url, **data) as (process, printed):
        assert "/link/" not in "\n".join(printed)
        hint = f"salesfloor account link admin --store {url} --address {address_of(printed)}"
        assert printed[-1] == f"For a new sign-in link: {hint}"


@pytest.mark.slow
def test_without_arguments_the_pages_are_served(tmp_path: Path, url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    data = {"SALESFLOOR_DATA_DIR": str(tmp_path / "data"), "SALESFLOOR_PORT": str(port), "SALESFLOOR_STORE": url}
    with serving(**data, SALESFLOOR_SINGLE_USER="true") as (_, printed):
        assert address_of(printed) == f"http://127.0.0.1:{port}"
        assert any(line.startswith("Single-user mode") for line in printed)
        with httpx.Client(base_url=address_of(printed), timeout=20, follow_redirects=True) as browser:
            page = browser.get("/", headers={"accept": "text/html"})
            assert (page.status_code, page.url.path) == (200, "/practice/")


def test_a_port_that_is_taken_makes_no_admin(url: str, store: Store, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run(
            command("serve", "--port", str(port), "--store", url),
            capture_output=True,
            env=environment(SALESFLOOR_DATA_DIR=str(tmp_path / "data")),
            check=False,
            timeout=100,
        )
    assert done.returncode == 1
    complaint = done.stderr.decode().splitlines()[-1]
    assert complaint.startswith("salesfloor: ")
    assert str(port) in complaint
    with store.reading() as session:
        assert AccountRepository(session).list() == ()


def test_an_unknown_customer_is_refused(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    monkeypatch.setenv("SALESFLOOR_CUSTOMER", "nobody")
    refused = cli("serve")
    assert (refused.status, len(refused.complaints)) == (1, 1)
    assert "'nobody'" in refused.err


def test_the_first_admin_is_made_once(store: Store) -> None:
    made = first_admin(store)
    assert made is not None
    name, token = made
    assert name == "admin"
    assert first_admin(store) is None
    with store.session() as session:
        account = AccountRepository(session).redeem_link(token)
    assert (account.name, account.roles, account.has_password) == ("admin", {Role.ADMIN}, False)


def test_somebody_else_called_admin_is_not_promoted(store: Store) -> None:
    with store.session() as session:
        AccountRepository(session).add("Admin", {Role.SALESPERSON})
    made = first_admin(store)
    assert made is not None
    assert made[0] == "admin2"
    with store.reading() as session:
        assert AccountRepository(session).by_name("admin").roles == {Role.SALESPERSON}


@pytest.mark.slow
def test_the_first_page_does_not_keep_one_waiting(tmp_path: Path, url: str) -> None:
    """A guard against gross slowness only: how long it takes on an idle machine is for a measurement to say."""
    began = time.monotonic()
    with serving("serve", "--port", "0", "--store", url, SALESFLOOR_DATA_DIR=str(tmp_path / "data")) as (_, printed):
        httpx.get(f"{address_of(printed)}/sign-in", timeout=20).raise_for_status()
        assert time.monotonic() - began < 40
