"""Exit statuses and streams, whatever happens."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tests.ui.cli.conftest import Cli, Spawn, command, environment
from ui.cli import run


def test_help_names_every_command(cli: Cli) -> None:
    shown = cli("--help", on_store=False)
    assert shown.status == 0
    assert shown.err == ""
    for name in ("serve", "doctor", "account", "scenarios", "import", "export", "baseline", "model"):
        assert f" {name} " in shown.out


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["account"],
        ["account", "add"],
        ["account", "add", "Mei"],
        ["account", "add", "Mei", "--role", "emperor"],
        ["scenarios", "list", "--nonsense"],
        ["export", "dialogues"],
        ["import", "dialogues"],
        ["serve", "--port", "seventy"],
        ["serve", "--port", "70000"],
        ["model", "serve", "/nowhere", "--port", "0"],
    ],
)
def test_wrong_usage_is_one_line_and_status_2(arguments: list[str], cli: Cli) -> None:
    refused = cli(*arguments, on_store=False)
    assert refused.status == 2
    assert len(refused.complaints) == 1
    assert refused.err.startswith("salesfloor: ")
    assert "--help" in refused.err


def test_every_command_takes_a_store(cli: Cli) -> None:
    commands = [
        ["serve"], ["doctor"], ["account", "add"], ["account", "list"], ["account", "disable"], ["account", "enable"],
        ["account", "link"], ["scenarios", "list"], ["scenarios", "validate"], ["scenarios", "import"], ["import", "dialogues"],
        ["export", "dialogues"], ["baseline", "create"], ["baseline", "list"], ["baseline", "status"], ["baseline", "close"],
        ["model", "list"], ["model", "check"], ["model", "serve"],
    ]  # fmt: skip
    for arguments in commands:
        assert "--store" in cli(*arguments, "--help", on_store=False).out, arguments


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("nonsense", "is not a URL"),
        ("mysql://somewhere/db", "not supported"),
        ("sqlite://", "names no file"),
        ("sqlite:////proc/nowhere/store.sqlite", "/proc/nowhere/store.sqlite"),
    ],
)
def test_a_store_that_cannot_be_is_refused(url: str, named: str, cli: Cli) -> None:
    refused = cli("account", "list", "--store", url, on_store=False)
    assert refused.status == 1
    assert len(refused.complaints) == 1
    assert named in refused.err
    assert refused.out == ""


def test_a_file_that_is_no_store_is_refused_and_left_alone(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear customer, " * 100)
    refused = cli("account", "list", "--store", f"sqlite:///{path}", on_store=False)
    assert refused.status == 1
    assert "is not a database" in refused.err
    assert path.read_text().startswith("Dear customer")


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"[models\n", "line 1"),
        (b"port = 'seven'\n", "port"),
        (b"colour = 'blue'\n", "no such setting"),
        (b"# caf\xe9\n", "not valid TOML"),
        (b"[models.embedded]\nbase_url = 'http://127.0.0.1:1/v1'\nmodel = 'x'\n", "reserved"),
        (b"[models.mine]\nbase_url = 'no address'\nmodel = 'x'\n", "models.mine.base_url"),
    ],
)
def test_a_broken_configuration_file_is_named(content: bytes, named: str, elsewhere: Path, cli: Cli) -> None:
    (elsewhere / "salesfloor.toml").write_bytes(content)
    refused = cli("account", "list")
    assert refused.status == 1
    assert len(refused.complaints) == 1
    assert "salesfloor.toml" in refused.err
    assert named in refused.err


def test_a_key_in_the_wrong_place_is_not_shown(elsewhere: Path, cli: Cli) -> None:
    text = "[models.mine]\nbase_url = 'http://127.0.0.1:1/v1'\nmodel = 'x'\napi_key = 'sk-very-secret'\n"
    (elsewhere / "salesfloor.toml").write_text(text)
    refused = cli("model", "list")
    assert refused.status == 1
    assert "models.mine.api_key" in refused.err
    assert "sk-very-secret" not in refused.err + refused.out


def test_a_configuration_file_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    monkeypatch.setenv("SALESFLOOR_CONFIG", "/nowhere/salesfloor.toml")
    refused = cli("account", "list")
    assert refused.status == 1
    assert "/nowhere/salesfloor.toml" in refused.err


def test_an_environment_variable_that_is_wrong_is_named(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    monkeypatch.setenv("SALESFLOOR_MAX_ROUNDS", "many")
    refused = cli("account", "list")
    assert refused.status == 1
    assert "SALESFLOOR_MAX_ROUNDS" in refused.err
    monkeypatch.delenv("SALESFLOOR_MAX_ROUNDS")
    monkeypatch.setenv("SALESFLOOR_MODELS", "{broken")
    assert cli("account", "list").status == 1


def test_the_unexpected_is_one_line_with_a_hint(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    def breaks(*_: object) -> None:
        raise RuntimeError("first line\nsecond line")

    monkeypatch.setattr("ui.cli.scenarios.load", breaks)
    failed = cli("scenarios", "validate", on_store=False)
    assert failed.status == 1
    said = "salesfloor: unexpected RuntimeError: first line second line; run it again with SALESFLOOR_DEBUG=1 to see where"
    assert failed.complaints == [said]
    monkeypatch.setenv("SALESFLOOR_DEBUG", "1")
    traced = cli("scenarios", "validate", on_store=False)
    assert traced.status == 1
    assert "Traceback" in traced.err
    assert traced.complaints[-1] == "salesfloor: unexpected RuntimeError: first line second line"


def test_an_interruption_ends_quietly(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ui.cli.scenarios.load", interrupted)
    assert run(["scenarios", "validate"]) == 130
    assert capsys.readouterr() == ("", "")


# -- as a process -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("locale", [{"LC_ALL": "C"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}])
def test_output_is_utf8_in_every_locale(locale: dict[str, str], url: str, spawn: Spawn) -> None:
    done = spawn("scenarios", "list", "language:zh", "id:fin-deposit-01", "--store", url, env=locale)
    assert done.returncode == 0, done.stderr
    assert "定期存款" in done.stdout.decode("utf-8")
    assert done.stderr == b""


def test_a_closed_pipe_ends_quietly(url: str) -> None:
    process = subprocess.Popen(
        command("scenarios", "list", "--store", url), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait(100) == 141
    assert said == b""


def test_ctrl_c_during_a_request_ends_quietly(elsewhere: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        (elsewhere / "salesfloor.toml").write_text(f"[models.slow]\nbase_url = 'http://127.0.0.1:{port}/v1'\nmodel = 'x'\n")
        process = subprocess.Popen(
            command("model", "check", "slow"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
        )
        silent.settimeout(100)
        connection, _ = silent.accept()
        with connection:
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=100)
    assert process.returncode == 130
    assert (out, err) == (b"", b"")


@pytest.fixture
def powerless() -> list[str]:
    """Words before a command that make permissions count: as root they would mean nothing."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("root may write everywhere, and there is no setpriv to give that up")
    return ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]


def test_a_store_that_may_not_be_written(filled: Path, tmp_path: Path, powerless: list[str]) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    path = folder / "salesfloor.sqlite"
    shutil.copy(filled, path)
    path.chmod(0o444)
    folder.chmod(0o555)
    for arguments in (["account", "add", "Mei", "--role", "admin"], ["scenarios", "list"], ["serve", "--port", "0"]):
        whole = [*powerless, *command(*arguments, "--store", f"sqlite:///{path}")]
        done = subprocess.run(whole, capture_output=True, env=environment(), check=False, timeout=100)
        assert (done.returncode, done.stdout) == (1, b"")
        complaints = done.stderr.decode().splitlines()
        assert len(complaints) == 1
        assert str(path) in complaints[0]
        assert "may not be written" in complaints[0]
    folder.chmod(0o755)
