"""The packages have common names: what is imported must be ours, however the program is started."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.packaging.conftest import ROOT, clean_environment

PACKAGES = ("ui", "core", "annotation", "analysis", "data")


@pytest.mark.parametrize("name", ["app", *PACKAGES])
def test_what_the_tests_import_is_this_project(name: str) -> None:
    spec = find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    assert Path(spec.origin).is_relative_to(ROOT)


def test_app_py_works_from_anywhere(tmp_path: Path) -> None:
    for name in ("core", "ui"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise RuntimeError('not ours')\n")
    done = subprocess.run(
        [sys.executable, str(ROOT / "app.py"), "--version"],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("salesfloor ")


def test_nothing_imports_the_entry() -> None:
    """Under ``python app.py`` it is ``__main__``: importing it would make a second copy."""
    for package in PACKAGES:
        for file in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                imported = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom) and node.level == 0:
                    imported = [node.module or ""]
                assert "app" not in imported, file


def test_every_package_has_its_marker() -> None:
    for package in PACKAGES:
        assert (ROOT / package / "__init__.py").is_file()
