"""The commands, put together."""

from __future__ import annotations

from typing import Annotated

import typer

from core import __version__
from ui.cli import accounts, baselines, dialogues, doctor, models, scenarios, serve
from ui.cli._output import out

__all__ = ["app"]

app = typer.Typer(
    name="salesfloor",
    help="Practise, run and measure selling in conversation. Without a command, the pages are served.",
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("serve")(serve.serve)
app.add_typer(accounts.app, name="account")
app.add_typer(scenarios.app, name="scenarios")
app.add_typer(dialogues.import_app, name="import")
app.add_typer(dialogues.export_app, name="export")
app.add_typer(baselines.app, name="baseline")
app.add_typer(models.app, name="model")
app.command("doctor")(doctor.doctor)


def _show_version(wanted: bool) -> None:
    if wanted:
        out(f"salesfloor {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _begin(
    context: typer.Context,
    _: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Say which version this is.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        serve.serve()
