"""``salesfloor import dialogues`` and ``salesfloor export dialogues``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from data.dialogues import DialogueFilter
from data.exports import dialogue_lines, export_dialogues
from data.imports import DialogueFormat, SalesfloorFormat, import_dialogues
from data.runs import RunRepository
from data.store import Store
from ui.cli._common import StoreOption, opened_store
from ui.cli._output import note, out, progress

__all__ = ["export_app", "import_app"]

import_app = typer.Typer(help="Bring dialogues in.", no_args_is_help=True)
export_app = typer.Typer(help="Take dialogues out.", no_args_is_help=True)

_IMPORT_FORMATS: dict[str, type[SalesfloorFormat]] = {"salesfloor": SalesfloorFormat}
_EXPORT_FORMATS = ("jsonl",)


def _import_format(name: str) -> str:
    known = ("auto", *_IMPORT_FORMATS)
    if name not in known:
        raise typer.BadParameter(f"there is no format {name!r} in this version; use one of {', '.join(known)}")
    return name


def _export_format(name: str) -> str:
    if name not in _EXPORT_FORMATS:
        raise typer.BadParameter(f"there is no format {name!r} in this version; use {', '.join(_EXPORT_FORMATS)}")
    return name


# Typer makes groups of commands out of those with one command only where there is a callback.
@import_app.callback()
def _import() -> None:
    pass


@export_app.callback()
def _export() -> None:
    pass


@import_app.command("dialogues")
def import_file(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A file of JSON Lines, one dialogue a line.", show_default=False)],
    file_format: Annotated[
        str, typer.Option("--format", metavar="FORMAT", callback=_import_format, help="auto or salesfloor.")
    ] = "auto",
    store: StoreOption = None,
) -> None:
    """Import dialogues. A file comes in whole or not at all, every bad line is named, and importing it again changes nothing."""
    reader: DialogueFormat = _IMPORT_FORMATS["salesfloor" if file_format == "auto" else file_format]()
    with opened_store(store) as opened, progress(f"Importing {path.name} …"):
        report = import_dialogues(opened, path, reader)
    out(str(report))


@export_app.command("dialogues")
def export_file(
    target: Annotated[Path, typer.Option("-o", "--output", metavar="PATH", help="The file to write; '-': standard output.")],
    run: Annotated[
        str | None, typer.Option("--run", metavar="NAME", help="Only the dialogues of this run.", show_default=False)
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All dialogues; so it is without --run, too.")] = False,
    _: Annotated[str, typer.Option("--format", metavar="FORMAT", callback=_export_format, help="jsonl.")] = "jsonl",
    store: StoreOption = None,
) -> None:
    """Export dialogues with their scores as JSON Lines, oldest first. The file appears whole or not at all."""
    if run is not None and everything:
        raise typer.BadParameter("name a run, or say --all, not both", param_hint="--run")
    with opened_store(store) as opened:
        wanted = DialogueFilter() if run is None else DialogueFilter(run_id=_run_id(opened, run))
        if str(target) == "-":
            with opened.reading() as session:
                for line in dialogue_lines(session, wanted):
                    print(line, end="")
            return
        with progress(f"Exporting to {target} …"):
            count = export_dialogues(opened, target, wanted)
    note(f"{target}: {count} {'dialogue' if count == 1 else 'dialogues'}")


def _run_id(store: Store, name: str) -> int:
    with store.reading() as session:
        return RunRepository(session).id_of(name)
