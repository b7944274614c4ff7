"""The command line: ``salesfloor``. One module a noun; :func:`run` turns whatever happens into an exit status and one line."""

from ui.cli._app import app
from ui.cli._run import run

__all__ = ["app", "run"]
