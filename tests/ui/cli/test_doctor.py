from __future__ import annotations

import os
import socket
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from core.dialogues import utc_now
from data.dialogues import DialogueRepository
from data.store import Store
from tests.support.store_factory import new_dialogue
from tests.ui.cli.conftest import Cli, Result
from ui.cli import _check_machine, _check_store
from ui.cli._check_machine import check_machine, check_packages
from ui.cli._findings import Finding, Level


def levels(examined: Result) -> dict[str, set[str]]:
    """The levels found for each topic."""
    found: dict[str, set[str]] = {}
    for line in examined.lines:
        found.setdefault(line[6:19].strip(), set()).add(line[:4].strip())
    return found


def line_of(examined: Result, topic: str) -> str:
    return next(line for line in examined.lines if line[6:19].strip() == topic)


def test_a_sound_installation(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SALESFLOOR_PORT", "0")
    examined = cli("doctor")
    assert examined.status == 0, examined.out
    found = levels(examined)
    topics = {"configuration", "packages", "library", "disk", "store", "scenarios", "customer", "vllm", "port", "clock", "fonts"}
    assert topics | {"chromium"} == set(found)
    for topic in topics - {"disk", "fonts"}:
        assert found[topic] == {"ok"}, topic


def test_a_store_that_is_not_there_yet_stays_so(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "new" / "store.sqlite"
    examined = cli("doctor", "--store", f"sqlite:///{path}", on_store=False)
    assert levels(examined)["store"] == {"ok"}
    assert "the first start makes" in line_of(examined, "store")
    assert not path.parent.exists()


def test_a_store_that_cannot_be_made_fails(cli: Cli) -> None:
    examined = cli("doctor", "--store", "sqlite:////proc/nowhere/store.sqlite", on_store=False)
    assert examined.status == 1
    assert levels(examined)["store"] == {"fail"}


def test_an_empty_file_is_a_store_to_be(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "empty.sqlite"
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    assert "the first start fills it" in line_of(cli("doctor", "--store", f"sqlite:///{path}", on_store=False), "store")


def test_a_file_that_others_can_read_is_told(cli: Cli, store: Store) -> None:
    assert store.path is not None
    store.path.chmod(0o644)
    examined = cli("doctor")
    assert levels(examined)["store"] == {"ok", "warn"}
    assert f"chmod 600 {store.path}" in examined.out


def test_a_store_that_is_no_store_fails(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "letter.sqlite"
    path.write_text("Dear customer, " * 100)
    examined = cli("doctor", "--store", f"sqlite:///{path}", on_store=False)
    assert examined.status == 1
    assert "fail" in levels(examined)["store"]
    refused = cli("doctor", "--store", "mysql://x/y", on_store=False)
    assert refused.status == 1
    assert levels(refused)["store"] == {"fail"}


@pytest.mark.parametrize(("free", "level"), [(10, "fail"), (200 * 1024**2, "warn"), (10 * 1024**3, "ok")])
def test_disk_space(free: int, level: str, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    class Usage:
        def __init__(self, _: object) -> None:
            self.free = free

    monkeypatch.setattr(_check_store.shutil, "disk_usage", Usage)
    assert levels(cli("doctor"))["disk"] == {level}


def test_a_store_out_of_step_is_told(cli: Cli, store: Store) -> None:
    with store.session() as session:
        session.connection().exec_driver_sql("UPDATE scenario SET withdrawn_at = '2026-01-01 00:00:00' WHERE id LIKE 'fin-fund%'")
    assert levels(cli("doctor"))["scenarios"] == {"warn"}
    cli("scenarios", "list")
    assert levels(cli("doctor"))["scenarios"] == {"ok"}


def test_a_dialogue_from_the_future_is_told(cli: Cli, store: Store) -> None:
    with store.session() as session:
        DialogueRepository(session).add(new_dialogue(started_at=utc_now() + timedelta(days=3)))
    assert levels(cli("doctor"))["clock"] == {"ok", "warn"}


def test_a_clock_that_cannot_be_right_fails(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    monkeypatch.setattr(_check_machine, "utc_now", lambda: datetime(1970, 1, 1, tzinfo=UTC))
    examined = cli("doctor")
    assert examined.status == 1
    assert levels(examined)["clock"] == {"fail"}


def test_a_broken_configuration_fails_and_the_rest_is_still_examined(elsewhere: Path, cli: Cli) -> None:
    (elsewhere / "salesfloor.toml").write_text("port = 'seven'\ncolour = 'blue'\n")
    examined = cli("doctor")
    assert examined.status == 1
    failures = [line for line in examined.lines if line.startswith("fail")]
    assert len(failures) == 2
    assert all("salesfloor.toml" in line for line in failures)
    assert levels(examined)["library"] == {"ok"}


def test_the_configuration_in_force_is_named(elsewhere: Path, cli: Cli) -> None:
    (elsewhere / "salesfloor.toml").write_text("max_rounds = 10\n")
    assert str(elsewhere / "salesfloor.toml") in line_of(cli("doctor"), "configuration")


def test_models_that_are_away_fail(elsewhere: Path, cli: Cli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    (elsewhere / "salesfloor.toml").write_text(
        "customer = 'nobody'\njudge = 'nobody'\n"
        f"[models.away]\nbase_url = 'http://127.0.0.1:{port}/v1'\nmodel = 'x'\n"
        "[models.keyless]\nbase_url = 'http://127.0.0.1:9/v1'\nmodel = 'x'\napi_key_env = 'NO_SUCH_KEY'\n"
    )
    examined = cli("doctor")
    assert examined.status == 1
    found = levels(examined)
    assert (found["customer"], found["judge"], found["model"]) == ({"fail"}, {"fail"}, {"fail"})
    models = [line for line in examined.lines if line[6:19].strip() == "model"]
    assert len(models) == 2
    assert "NO_SUCH_KEY" in examined.out


@pytest.mark.parametrize("customer", ["transformers:/nowhere", "vllm:/nowhere"])
def test_a_folder_that_is_not_there_fails(customer: str, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    monkeypatch.setenv("SALESFLOOR_CUSTOMER", customer)
    examined = cli("doctor")
    assert examined.status == 1
    assert levels(examined)["customer"] == {"fail"}


@pytest.mark.parametrize("python", ["/nowhere/python", sys.executable])
def test_an_interpreter_without_vllm_fails(python: str, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    monkeypatch.setenv("SALESFLOOR_VLLM_PYTHON", python)
    examined = cli("doctor")
    assert examined.status == 1
    assert levels(examined)["vllm"] == {"fail"}


def test_a_port_that_is_taken_is_told(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setenv("SALESFLOOR_PORT", str(taken.getsockname()[1]))
        assert levels(cli("doctor"))["port"] == {"warn"}
    monkeypatch.setenv("SALESFLOOR_HOST", "no.such.host.invalid")
    assert levels(cli("doctor"))["port"] == {"fail"}


def test_a_package_that_is_not_ours_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    real = _check_machine.find_spec
    stranger = tmp_path / "core"
    stranger.mkdir()

    class Spec:
        origin = str(stranger / "__init__.py")
        submodule_search_locations = (str(stranger),)

    monkeypatch.setattr(_check_machine, "find_spec", lambda name: Spec() if name == "core" else real(name))
    monkeypatch.setattr(_check_machine, "packages_distributions", lambda: {"data": ["salesfloor", "othertool"]})
    findings = list(check_packages())
    assert [finding.level for finding in findings] == [Level.WARN, Level.FAIL]
    assert "othertool" in findings[0].said
    assert str(tmp_path) in findings[1].said


def test_a_machine_without_browser_and_fonts_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_check_machine.shutil, "which", lambda _: None)
    monkeypatch.setattr(_check_machine.sys, "platform", "linux")
    assert [finding.level for finding in check_machine()] == [Level.OK, Level.WARN, Level.WARN]


def test_a_finding_is_one_line() -> None:
    assert str(Finding(Level.WARN, "disk", "little\n  space", "free some")) == "warn  disk           little space; free some"
