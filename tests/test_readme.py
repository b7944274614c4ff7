"""What README shows is executed, and what it names exists."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from core.settings import load_settings

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_python_example_runs_as_printed() -> None:
    code = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert code is not None
    done = subprocess.run([sys.executable, "-c", code[1]], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("salesperson: Hello!")
    assert lines[1].startswith("customer: ")
    assert re.fullmatch(r"final score \d+\.\d+", lines[-1])


def test_the_configuration_example_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = re.search(r"```toml\n(.*?)```", README, re.DOTALL)
    assert text is not None
    file = tmp_path / "salesfloor.toml"
    file.write_text(text[1], encoding="utf-8")
    monkeypatch.setenv("SALESFLOOR_CONFIG", str(file))
    settings = load_settings()
    assert settings.customer in settings.models
    assert settings.models["customerlm"].reply_format == "text"


def test_every_file_that_readme_links_to_is_there() -> None:
    targets = re.findall(r"\]\(([^)#:]+)\)", README)
    assert targets
    missing = [target for target in targets if not (ROOT / target).exists()]
    assert not missing


def test_every_command_that_readme_names_exists() -> None:
    section = README.split("## The command line")[1].split("##")[0]
    helped = subprocess.run(
        [sys.executable, "app.py", "--help"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    ).stdout
    for name in re.findall(r"`([a-z]+)[ `]", section):
        if name not in {"salesfloor", "python"}:
            assert name in helped, name
