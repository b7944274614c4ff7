"""``salesfloor import`` and ``salesfloor export``: dialogues and scores."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from data.dialogues import DialogueFilter
from data.exports import dialogue_lines, export_dialogues, export_scores
from data.foreign_formats import FORMATS, detect_format, format_named
from data.imports import import_dialogues
from data.runs import RunRepository
from data.score_imports import import_scores
from data.spreadsheets import TABLE_FORMATS
from data.store import Store
from ui.cli._common import StoreOption, opened_store
from ui.cli._output import note, out, progress

__all__ = ["export_app", "import_app"]

import_app = typer.Typer(help="Bring dialogues and scores in.", no_args_is_help=True)
export_app = typer.Typer(help="Take dialogues and scores out.", no_args_is_help=True)

_DIALOGUE_FILES = ("jsonl", *TABLE_FORMATS)


def _one_of(*known: str) -> Callable[[str | None], str | None]:
    def check(name: str | None) -> str | None:
        if name is not None and name not in known:
            raise typer.BadParameter(f"there is no format {name!r}; use one of {', '.join(known)}")
        return name

    return check


OutputOption = Annotated[Path, typer.Option("-o", "--output", metavar="PATH", help="The file to write.", show_default=False)]
RunOption = Annotated[
    str | None, typer.Option("--run", metavar="NAME", help="Only the dialogues of this run.", show_default=False)
]
AllOption = Annotated[bool, typer.Option("--all", help="All dialogues; so it is without --run, too.")]


@import_app.command("dialogues")
def import_dialogue_file(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH", help="JSON Lines with one dialogue a line, a JSON list, or an Inspect log.", show_default=False
        ),
    ],
    file_format: Annotated[
        str,
        typer.Option("--format", metavar="FORMAT", callback=_one_of("auto", *FORMATS), help=f"auto, {', '.join(FORMATS)}."),
    ] = "auto",
    salesperson_role: Annotated[
        str,
        typer.Option("--salesperson-role", metavar="ROLE", help="Which role sells, in files that know API roles only."),
    ] = "assistant",
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="NAME", help="The model that sold, where the file does not say.", show_default=False),
    ] = None,
    store: StoreOption = None,
) -> None:
    """Import dialogues. A file comes in whole or not at all, every bad line is named, and importing it again changes nothing."""
    found = detect_format(path) if file_format == "auto" else file_format
    reader = format_named(found, salesperson_role=salesperson_role, model=model)
    with opened_store(store) as opened, progress(f"Importing {path.name} …"):
        report = import_dialogues(opened, path, reader)
    out(str(report))


@import_app.command("scores")
def import_score_file(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="CSV with one dialogue a row.", show_default=False)],
    scorer: Annotated[str, typer.Option("--scorer", metavar="NAME", help="What the scores are kept under.")] = "imported",
    store: StoreOption = None,
) -> None:
    """Import scores of dialogues that are in the store. Columns: dialogue_id, model; tier, language, propensity, s_buy, s_sell
    and the four sub-dimensions are optional. A file comes in whole or not at all, and importing it again changes nothing.
    """
    with opened_store(store) as opened, progress(f"Importing {path.name} …"):
        report = import_scores(opened, path, scorer=scorer)
    out(str(report))


@export_app.command("dialogues")
def export_dialogue_file(
    target: Annotated[
        Path, typer.Option("-o", "--output", metavar="PATH", help="The file to write; '-': standard output (jsonl only).")
    ],
    run: RunOption = None,
    everything: AllOption = False,
    file_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            callback=_one_of(*_DIALOGUE_FILES),
            help="jsonl (one dialogue a line, with scores; can be imported again), csv, xlsx or parquet (one turn a row)."
            " Default: what the file's name says, else jsonl.",
            show_default=False,
        ),
    ] = None,
    store: StoreOption = None,
) -> None:
    """Export dialogues, oldest first. The file appears whole or not at all."""
    file_format = file_format or _format_of(target, _DIALOGUE_FILES)
    with opened_store(store) as opened:
        wanted = _wanted(opened, run, everything)
        if str(target) == "-":
            if file_format != "jsonl":
                raise typer.BadParameter(f"{file_format} needs a file; only jsonl goes to standard output", param_hint="-o")
            with opened.reading() as session:
                for line in dialogue_lines(session, wanted):
                    print(line, end="")
            return
        with progress(f"Exporting to {target} …"):
            count = export_dialogues(opened, target, wanted, file_format)
    note(f"{target}: {count} {'dialogue' if count == 1 else 'dialogues'}")


@export_app.command("scores")
def export_score_file(
    target: OutputOption,
    run: RunOption = None,
    everything: AllOption = False,
    file_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            callback=_one_of(*TABLE_FORMATS),
            help="csv, xlsx or parquet. Default: what the file's name says, else csv.",
            show_default=False,
        ),
    ] = None,
    intent: Annotated[
        str | None, typer.Option("--intent", metavar="SCORER", help="Whose intent counts.", show_default=False)
    ] = None,
    judge: Annotated[
        str | None, typer.Option("--judge", metavar="SCORER", help="Whose sub-dimensions count.", show_default=False)
    ] = None,
    store: StoreOption = None,
) -> None:
    """Export scores, one dialogue a row. Of each scorer the latest score counts; dialogues without one are left out."""
    with opened_store(store) as opened, progress(f"Exporting to {target} …"):
        count = export_scores(
            opened,
            target,
            _wanted(opened, run, everything),
            file_format or _format_of(target, TABLE_FORMATS),
            intent_scorer=intent,
            judge=judge,
        )
    note(f"{target}: scores of {count} {'dialogue' if count == 1 else 'dialogues'}")


def _format_of(target: Path, known: tuple[str, ...]) -> str:
    ending = target.suffix.lower().removeprefix(".")
    return ending if ending in known else known[0]


def _wanted(store: Store, run: str | None, everything: bool) -> DialogueFilter:
    if run is not None and everything:
        raise typer.BadParameter("name a run, or say --all, not both", param_hint="--run")
    if run is None:
        return DialogueFilter()
    with store.reading() as session:
        return DialogueFilter(run_id=RunRepository(session).id_of(run))
