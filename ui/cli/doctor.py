"""``salesfloor doctor``: is everything as it should be, and what to do where it is not."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import typer

from core.errors import InvalidInput
from core.settings import Settings, config_file, load_settings
from ui.cli._check_machine import check_machine, check_packages, check_port
from ui.cli._check_store import check_library, check_store
from ui.cli._common import StoreOption
from ui.cli._findings import Finding, Level, fail, ok
from ui.cli._output import out, progress

__all__ = ["doctor"]


def doctor(store: StoreOption = None) -> None:
    """Check the installation, the store and the models.

    Each line says ok, warn or fail, and what to do. Nothing is changed. Exit status 1 if anything fails.
    """
    failed = 0
    with progress("Looking …"):
        findings = list(_examine(store))
    for finding in findings:
        out(str(finding))
        failed += finding.level is Level.FAIL
    if failed:
        raise typer.Exit(1)


def _examine(store: str | None) -> Iterator[Finding]:
    from ui.cli._check_models import check_models  # noqa: PLC0415 (see _common)

    settings, findings = _configuration(store)
    yield from findings
    yield from check_packages()
    library, found = check_library()
    yield from found
    if settings is not None:
        yield from check_store(settings, library)
        yield from asyncio.run(check_models(settings))
        yield check_port(settings)
    yield from check_machine()


def _configuration(store: str | None) -> tuple[Settings | None, list[Finding]]:
    try:
        settings = load_settings(store=store)
    except InvalidInput as error:
        return None, [fail("configuration", str(problem)) for problem in error.problems]
    return settings, [ok("configuration", str(config_file() or "no file; the defaults and the environment are in force"))]
