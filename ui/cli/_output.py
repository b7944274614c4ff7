"""What the commands print: results on standard output, remarks and complaints on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.cells import cell_len
from rich.console import Console

__all__ = ["columns", "complain", "note", "out", "progress"]


def out(line: str = "") -> None:
    """A result."""
    print(line)


def note(line: str) -> None:
    """A remark beside the result."""
    print(line, file=sys.stderr, flush=True)


def complain(line: str) -> None:
    """What went wrong. Standard output comes first, where both go to one place."""
    sys.stdout.flush()
    print(f"salesfloor: {line}", file=sys.stderr, flush=True)


def columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows as lines with aligned columns; Chinese characters are two cells wide."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = (cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(padded).rstrip()


@contextmanager
def progress(text: str) -> Iterator[None]:
    """A spinner while something takes its time; nothing where standard error is no terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(text):
        yield
