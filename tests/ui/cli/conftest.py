"""The command line in this process and as a process of its own, away from the settings of whoever runs the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from data.opening import open_store
from data.store import Store
from tests.support.store_factory import sqlite_url
from ui.cli import run

ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Result:
    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def complaints(self) -> list[str]:
        return self.err.splitlines()


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder without a configuration file, and data and configuration folders that are nobody's."""
    for name in list(os.environ):
        if name.startswith("SALESFLOOR_"):
            monkeypatch.delenv(name)
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data-home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config-home"))
    monkeypatch.setenv("COLUMNS", "120")
    return folder


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the shipped library in it, to be copied."""
    path = tmp_path_factory.mktemp("filled") / "salesfloor.sqlite"
    with open_store(f"sqlite:///{path}"):
        pass
    return path


@pytest.fixture
def url(tmp_path: Path, filled: Path) -> str:
    """The URL of a store that has the shipped library and nothing else."""
    folder = tmp_path / "store"
    folder.mkdir()
    shutil.copy(filled, folder / filled.name)
    return sqlite_url(folder)


@pytest.fixture
def store(url: str) -> Store:
    return Store(url)


Cli = Callable[..., Result]


@pytest.fixture
def cli(url: str, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Runs a command on the store, in this process."""

    def call(*arguments: str, on_store: bool = True) -> Result:
        capsys.readouterr()
        status = run([*arguments, *(["--store", url] if on_store else [])])
        said = capsys.readouterr()
        return Result(status, said.out, said.err)

    return call


def environment(**changes: str | None) -> dict[str, str]:
    changed: Mapping[str, str | None] = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **changes}
    return {name: value for name, value in changed.items() if value is not None}


def command(*arguments: str) -> list[str]:
    return [sys.executable, str(ROOT / "app.py"), *arguments]


Spawn = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def spawn() -> Spawn:
    """Runs a command as a process and returns what it said, in bytes."""

    def call(
        *arguments: str, said: bytes = b"", env: Mapping[str, str | None] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            command(*arguments), input=said, capture_output=True, env=environment(**(env or {})), check=False, timeout=100
        )

    return call
