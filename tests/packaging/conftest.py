"""The wheel, and an environment that has nothing of ours but the wheel."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

_BUILD = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the working tree, built in this environment where the build back end is in it."""
    folder = tmp_path_factory.mktemp("dist")
    if find_spec("hatchling") is not None:
        build = [sys.executable, "-c", _BUILD, str(folder)]
    else:
        build = [str(Path(sys.executable).with_name("uv")), "build", "--wheel", "--quiet", "--out-dir", str(folder)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel in it; other packages come from the environment of the tests."""
    folder = tmp_path_factory.mktemp("installed") / "venv"
    venv.create(folder)
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "--disable-pip-version-check"]
    install = [*pip, "install", "--quiet", "--no-deps", "--no-index", "--no-compile", str(wheel)]
    done = subprocess.run(install, capture_output=True, text=True, check=False, timeout=200, env=clean_environment())
    assert done.returncode == 0, done.stderr
    # A line in a .pth file puts a folder on the path, and not what the .pth files in that folder name: an editable
    # installation of ours over there stays out.
    shared = sysconfig.get_path("purelib")
    (site_packages(folder) / "shared.pth").write_text(f"{shared}\n")
    return folder


def site_packages(environment: Path) -> Path:
    (found,) = environment.glob("lib/python*/site-packages")
    return found


def clean_environment(**changes: str) -> dict[str, str]:
    """Without this project's settings and without whatever would put the working tree on the path."""
    dropped = ("SALESFLOOR_", "PYTHONPATH", "VIRTUAL_ENV")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1", **changes}
