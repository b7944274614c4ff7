"""Checks of the store and the scenario library. They look, and change nothing."""

from __future__ import annotations

import shutil
import stat
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from core.dialogues import utc_now
from core.errors import InvalidInput, StoreError
from core.settings import Settings
from data.dialogues import DialogueFilter, DialogueRepository
from data.library import Library, load
from data.scenarios import ScenarioRepository
from data.store import Store
from ui.cli._findings import Finding, fail, ok, warn

__all__ = ["check_library", "check_store"]

_LITTLE_SPACE = 500 * 1024**2
_NO_SPACE = 50 * 1024**2
_CLOCK_SLACK = timedelta(minutes=5)


def check_library() -> tuple[Library | None, list[Finding]]:
    """The shipped library, and whether it is sound."""
    try:
        library = load()
    except InvalidInput as error:
        more = f" (and {len(error.problems) - 1} more faults)" if len(error.problems) > 1 else ""
        return None, [fail("library", f"{error.problems[0]}{more}", "see 'salesfloor scenarios validate'")]
    return library, [ok("library", f"{len(library.scenarios())} scenarios, all valid")]


def check_store(settings: Settings, library: Library | None) -> Iterator[Finding]:
    """The store that the settings name."""
    try:
        store = Store(settings.store_url)
    except StoreError as error:
        yield fail("store", str(error).removeprefix("store "))
        return
    try:
        if store.path is not None:
            yield from _check_place(store.path)
        yield from _check_content(store, library)
    except StoreError as error:
        yield fail("store", str(error).removeprefix("store "))
    finally:
        store.close()


def _check_place(path: Path) -> Iterator[Finding]:
    folder = next(parent for parent in path.parents if parent.exists())
    if not path.exists():
        reason = _why_not_writable(folder)
        if reason is None:
            yield ok("store", f"none yet; the first start makes {path}")
        else:
            yield fail(
                "store", f"{path} cannot be made, because {folder} can't be written ({reason})", "name another with --store"
            )
    elif stat.S_IMODE(path.stat().st_mode) & 0o077:
        yield warn("store", f"other users of this machine can read {path}", f"chmod 600 {path}")
    free = shutil.disk_usage(folder).free
    said = f"{free / 1024**3:.1f} GB free in {folder}"
    if free < _NO_SPACE:
        yield fail("disk", said, "free some space")
    elif free < _LITTLE_SPACE:
        yield warn("disk", said, "free some space soon")
    else:
        yield ok("disk", said)


def _why_not_writable(folder: Path) -> str | None:
    # Tried, with a file that has no name: permissions alone do not tell, for root and for special file systems.
    try:
        with tempfile.TemporaryFile(dir=folder):
            return None
    except OSError as error:
        return str(error.strerror)


def _check_content(store: Store, library: Library | None) -> Iterator[Finding]:
    revision = store.current_revision()
    if revision is None:
        if store.path is None:
            yield ok("store", f"{store.place} can be reached and is empty; the first start fills it")
        elif store.path.exists():
            yield ok("store", f"{store.place} is empty; the first start fills it")
        return
    if not store.is_current():
        yield warn("store", f"{store.place} has schema {revision}, an older one", "the next start updates it, keeping a copy")
        return
    store.check_writable()
    yield ok("store", f"{store.place} can be written; schema {revision}")
    with store.reading() as session:
        in_step = library is not None and ScenarioRepository(session).is_in_step(library)
        latest = DialogueRepository(session).page(DialogueFilter(), limit=1).items
    if library is not None and not in_step:
        yield warn("scenarios", "the store is not in step with the shipped library", "the next start brings it up to date")
    elif library is not None:
        yield ok("scenarios", "the store has the shipped library")
    if latest and latest[0].started_at > utc_now() + _CLOCK_SLACK:
        yield warn(
            "clock", f"the newest dialogue began at {latest[0].started_at:%Y-%m-%d %H:%M} UTC, in the future", "set the clock"
        )
