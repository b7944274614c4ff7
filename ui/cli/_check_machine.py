"""Checks of the machine and of the installation."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path

import ui
from core.dialogues import utc_now
from core.settings import Settings
from ui.cli._findings import Finding, fail, ok, warn

__all__ = ["PACKAGES", "check_machine", "check_packages", "check_port"]

PACKAGES = ("app", "ui", "annotation", "analysis", "data", "core")
"""What this distribution brings, under names that others may have taken too."""

_DISTRIBUTION = "salesfloor"
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
"""No clock that is right shows an earlier time to this program."""


def check_packages() -> Iterator[Finding]:
    """Each of our packages is really ours, and no other distribution claims its name."""
    home = Path(ui.__file__).resolve().parent.parent
    mend = "run Salesfloor in an environment of its own"
    owners = packages_distributions()
    strangers = []
    for name in PACKAGES:
        found = _folder_of(name)
        if found != home:
            strangers.append(name)
            yield fail("packages", f"{name!r} is imported from {found or 'nowhere'}, not from {home}", mend)
        others = sorted({owner for owner in owners.get(name, ()) if owner.lower() != _DISTRIBUTION})
        if others:
            yield warn("packages", f"{name!r} is also a name of {', '.join(others)}", mend)
    if not strangers:
        yield ok("packages", f"{', '.join(PACKAGES)} from {home}")


def check_port(settings: Settings) -> Finding:
    """Whether ``serve`` could listen where it is told to."""
    place = f"{settings.host}:{settings.port}"
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except socket.gaierror as error:
        return fail("port", f"{place}: {error.strerror}", "name an address of this machine with --host")
    except OSError as error:
        return warn(
            "port", f"{place} can't be listened on ({error.strerror})", "is Salesfloor open there already? else use --port"
        )
    return ok("port", f"{place} is free")


def check_machine() -> Iterator[Finding]:
    """Clock, fonts, browser."""
    yield _check_clock()
    yield _check_font()
    browser = next((found for name in _BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        yield warn("chromium", "none found; only the browser tests need it", "install the package 'chromium'")
    else:
        yield ok("chromium", browser)


def _folder_of(name: str) -> Path | None:
    """The folder that a top-level module or package lies in."""
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        return None
    origin = Path(spec.origin).resolve()
    return origin.parent.parent if spec.submodule_search_locations is not None else origin.parent


def _check_clock() -> Finding:
    now = utc_now()
    written = datetime.fromtimestamp(Path(ui.__file__).stat().st_mtime, UTC)
    if now < max(_BEGINNING, written - timedelta(days=1)):
        return fail("clock", f"it shows {now:%Y-%m-%d %H:%M} UTC, before this program was written", "set the clock")
    return ok("clock", f"{now:%Y-%m-%d %H:%M} UTC")


def _check_font() -> Finding:
    if sys.platform in ("darwin", "win32"):
        return ok("fonts", "the system brings Chinese ones")
    command = shutil.which("fc-list")
    if command is None:
        return warn("fonts", "can't tell whether there is a Chinese one", "install fontconfig to find out")
    listed = subprocess.run([command, ":lang=zh", "family"], capture_output=True, check=False, timeout=60)  # noqa: S603
    families = sorted(set(listed.stdout.decode(errors="replace").splitlines()))
    if not families:
        mend = "install 'fonts-noto-cjk' to see Chinese in a browser on this machine"
        return warn("fonts", "there is no Chinese one", mend)
    return ok("fonts", f"Chinese: {families[0].split(',')[0]}" + (f" and {len(families) - 1} more" if len(families) > 1 else ""))
