"""From arguments to an exit status: 0 done, 1 failed with one line for each problem, 2 wrong usage, 130 interrupted."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence

import typer
from typer.main import get_command

from core.errors import InvalidInput, SalesfloorError
from ui.cli._app import app
from ui.cli._output import complain

__all__ = ["CLOSED_PIPE", "INTERRUPTED", "run"]

INTERRUPTED = 130
CLOSED_PIPE = 141
"""What a shell reports for a program that wrote into a pipe nobody reads any more."""

_PROGRAM = "salesfloor"


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit status. Never raises, and never shows a traceback unless SALESFLOOR_DEBUG is set."""
    _write_utf8()
    try:
        status = _invoke(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return CLOSED_PIPE
    return status


def _invoke(arguments: Sequence[str]) -> int:
    command = get_command(app)
    try:
        with command.make_context(_PROGRAM, list(arguments)) as context:
            command.invoke(context)
    except typer.Exit as stop:
        return stop.exit_code
    except (typer.Abort, EOFError):
        return INTERRUPTED
    except typer.TyperException as error:
        complain(_usage(error))
        return error.exit_code
    except SalesfloorError as error:
        _trace()
        for line in _lines(error):
            complain(line)
        return 1
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 (the last resort: whatever it is, the user gets one line)
        traced = _trace()
        hint = "" if traced else "; run it again with SALESFLOOR_DEBUG=1 to see where"
        complain(f"unexpected {type(error).__name__}: {_one_line(str(error)) or 'no details'}{hint}")
        return 1
    return 0


def _usage(error: typer.TyperException) -> str:
    context = getattr(error, "ctx", None)
    path = _PROGRAM if context is None else context.command_path
    said = _one_line(error.format_message()).rstrip(".")
    return f"{said or 'a command is missing'}; see '{path} --help'"


def _lines(error: SalesfloorError) -> list[str]:
    problems = [str(problem) for problem in error.problems] if isinstance(error, InvalidInput) else [str(error)]
    return [_one_line(problem) for problem in problems]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _trace() -> bool:
    wanted = bool(os.environ.get("SALESFLOOR_DEBUG"))
    if wanted:
        traceback.print_exc()
    return wanted


def _write_utf8() -> None:
    """Whatever the locale: what is printed holds Chinese, and may be redirected into files."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")


def _drop_output() -> None:
    """Python flushes standard output once more when it ends; let that go nowhere, and not into the closed pipe."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError):
        pass  # not a real stream
    finally:
        os.close(nowhere)
