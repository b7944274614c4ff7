"""``salesfloor scenarios``: the library of what is sold to whom."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from core.errors import InvalidInput, Problem
from data.library import SHIPPED_LIBRARY, Library, load
from data.scenarios import SHIPPED, LibraryChanges, ScenarioRepository
from ui.cli._common import StoreOption, opened_store
from ui.cli._output import columns, note, out

__all__ = ["app"]

app = typer.Typer(help="List scenarios, check a library of them, add one.", no_args_is_help=True)


@app.command("list")
def list_scenarios(
    query: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[QUERY]",
            help="Terms that must all hold: language:en tier:hard,very_hard domain:financial category:deposit setting:single"
            " id:PREFIX.",
            show_default=False,
        ),
    ] = None,
    store: StoreOption = None,
) -> None:
    """List the scenarios, one id a line, followed by its title."""
    with opened_store(store) as opened, opened.reading() as session:
        found = ScenarioRepository(session).search(" ".join(query or ())).items
    if not found:
        note("No scenario fits.")
        return
    for line in columns([(item.id, item.title) for item in found]):
        out(line)


@app.command("validate")
def validate(
    path: Annotated[
        Path | None, typer.Argument(metavar="[PATH]", help="A library's folder. Default: the shipped one.", show_default=False)
    ] = None,
    _: StoreOption = None,
) -> None:
    """Check a library: every fault is named by file, line and field. The store is not touched."""
    library = _load(path)
    out(f"{path or 'The shipped library'}: all is well: {_contents(library)}")


@app.command("import")
def import_library(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A library's folder.", show_default=False)],
    name: Annotated[
        str | None,
        typer.Option("--name", help="What to call the library in the store. Default: its folder's name.", show_default=False),
    ] = None,
    withdraw_missing: Annotated[
        bool,
        typer.Option(
            "--withdraw-missing", help="Take what an earlier import of this library had, and the folder no longer has, off offer."
        ),
    ] = False,
    store: StoreOption = None,
) -> None:
    """Add a library's scenarios to the store, or bring them up to date. Doing so again changes nothing."""
    source = (name if name is not None else path.resolve().name).strip()
    if not source or source == SHIPPED:
        raise InvalidInput(Problem("--name", f"{source!r} cannot be a library's name", "give it another one with --name"))
    library = _load(path)
    with opened_store(store) as opened, opened.session() as session:
        changes = ScenarioRepository(session).upsert(library, source=source, withdraw_missing=withdraw_missing)
    out(f"{source}: {_changes(changes)}")


def _load(path: Path | None) -> Library:
    """Raises InvalidInput whose places begin with the folder, as it was written."""
    try:
        return load(SHIPPED_LIBRARY if path is None else path)
    except InvalidInput as error:
        folder = SHIPPED_LIBRARY if path is None else path
        raise InvalidInput(*(_within(folder, problem) for problem in error.problems)) from error


def _within(folder: Path, problem: Problem) -> Problem:
    if problem.place.startswith(str(folder)):
        return problem
    return Problem(f"{folder}/{problem.place}", problem.fault, problem.mend)


def _contents(library: Library) -> str:
    return (
        f"{len(library.products)} products, {len(library.customers)} customers, {len(library.portfolios)} portfolios,"
        f" {len(library.scenarios())} scenarios"
    )


def _changes(changes: LibraryChanges) -> str:
    if not changes:
        return f"nothing new; all {changes.unchanged} scenarios are in the store already"
    kinds = ("added", "changed", "restored", "withdrawn")
    parts = [f"{len(getattr(changes, kind))} {kind}" for kind in kinds if getattr(changes, kind)]
    return ", ".join([*parts, f"{changes.unchanged} unchanged"])
