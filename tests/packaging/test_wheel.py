"""What is in the wheel, and that it works where only the wheel is."""

from __future__ import annotations

import os
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.packaging.conftest import ROOT, clean_environment, site_packages

PACKAGES = ("ui", "core", "annotation", "analysis", "data")
NOT_SHIPPED = {".pyc", ".pyo", ".pyi"}

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def names_in(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_has_every_file_of_the_packages(wheel: Path) -> None:
    wanted = {
        file.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for file in (ROOT / package).rglob("*")
        if file.is_file() and file.suffix not in NOT_SHIPPED
    }
    assert {Path(name).suffix for name in wanted} >= {".py", ".yaml", ".jinja", ".css", ".js", ".html", ".mako", ".svg"}
    missing = sorted(wanted - names_in(wheel))
    assert not missing
    assert {"app.py", "data/migrations/env.py", "data/library/tiers.yaml", "ui/static/salesfloor.css"} <= names_in(wheel)


def test_the_wheel_has_nothing_else(wheel: Path) -> None:
    names = names_in(wheel)
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == {"app.py", *PACKAGES}
    assert not [name for name in names if "test" in Path(name).name.lower() or Path(name).suffix in NOT_SHIPPED]


def test_the_wheel_names_the_command_and_the_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        entries = next(name for name in archive.namelist() if name.endswith("entry_points.txt"))
        assert "salesfloor = app:main" in archive.read(entries).decode()
        metadata = archive.read(entries.replace("entry_points.txt", "METADATA")).decode()
    assert "License-Expression: Apache-2.0" in metadata
    assert "Requires-Python: >=3.11" in metadata


@pytest.fixture
def run(installed: Path, tmp_path: Path) -> Run:
    """Runs a program of the environment from a folder that has nothing to do with the project."""

    def call(program: str, *arguments: str, before: tuple[str, ...] = (), **variables: str) -> subprocess.CompletedProcess[str]:
        home = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data"), "XDG_CONFIG_HOME": str(tmp_path / "config")}
        return subprocess.run(
            [*before, str(installed / "bin" / program), *arguments],
            cwd=tmp_path,
            env=clean_environment(**home, **variables),
            capture_output=True,
            text=True,
            check=False,
            timeout=110,
        )

    return call


def test_the_command_works_from_anywhere(run: Run, tmp_path: Path) -> None:
    shown = run("salesfloor", "--help")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "scenarios" in shown.stdout
    listed = run("salesfloor", "scenarios", "list", "language:zh", "tier:hard")
    assert listed.returncode == 0, listed.stderr
    assert "fin-deposit-01.hard.zh" in listed.stdout
    assert (tmp_path / "data" / "salesfloor" / "salesfloor.sqlite").is_file()


def test_each_package_is_the_installed_one(run: Run, installed: Path) -> None:
    asked = "import sys; from importlib.util import find_spec; print(*(find_spec(name).origin for name in sys.argv[1:]))"
    origins = run("python", "-c", asked, "app", *PACKAGES).stdout.split()
    assert len(origins) == 6
    assert all(Path(origin).is_relative_to(site_packages(installed)) for origin in origins)
    examined = run("salesfloor", "doctor")
    assert (
        f"ok    packages       app, ui, annotation, analysis, data, core from {site_packages(installed).resolve()}"
        in examined.stdout
    )


def test_the_pages_can_be_built_and_nothing_is_written_beside_them(run: Run, installed: Path, tmp_path: Path) -> None:
    def files() -> set[Path]:
        return {path.relative_to(installed) for path in installed.rglob("*")}

    before = files()
    built = run("python", "-W", "error::ResourceWarning", "-c", _BUILD_PAGES)
    assert built.returncode == 0, built.stderr
    assert files() == before
    assert {path.name for path in tmp_path.iterdir()} <= {"data"}


def test_it_works_where_nothing_may_be_written(run: Run, installed: Path) -> None:
    before: tuple[str, ...] = ()
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root may write everywhere, and there is no setpriv to give that up")
        before = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")
    folders = [site_packages(installed), *(path for path in site_packages(installed).rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        built = run("python", "-c", _BUILD_PAGES, before=before)
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert built.returncode == 0, built.stderr


_BUILD_PAGES = """
from core.settings import load_settings
from ui.server import build_app
from ui.wiring import open_services

with open_services(load_settings()) as services:
    build_app(services)
"""
