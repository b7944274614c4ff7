"""Exports: dialogues as JSON Lines in the ``salesfloor`` format."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sqlmodel import Session

from core.dialogues import Dialogue
from core.errors import StoreError
from data.dialogues import DialogueFilter, DialogueRepository
from data.salesfloor_format import to_line, write_dialogue
from data.scores import ScoreRepository
from data.store import Store

__all__ = ["dialogue_line", "dialogue_lines", "export_dialogues"]


def dialogue_line(session: Session, dialogue: Dialogue) -> str:
    """One dialogue with all its scores, as a line that ends in a newline."""
    return to_line(write_dialogue(dialogue, ScoreRepository(session).history(dialogue.id))) + "\n"


def dialogue_lines(session: Session, wanted: DialogueFilter | None = None) -> Iterator[str]:
    """A line for each dialogue that ``wanted`` lets through (all of them by default), oldest first."""
    for dialogue in DialogueRepository(session).iterate(wanted or DialogueFilter()):
        yield dialogue_line(session, dialogue)


def export_dialogues(store: Store, target: Path, wanted: DialogueFilter | None = None) -> int:
    """Write the dialogues to a file and return how many there were. The file appears whole or not at all.

    Raises StoreError if the store cannot be read, or the file cannot be written.
    """
    count = 0
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", newline="\n", dir=target.parent, prefix=f".{target.name}.", delete=False
        ) as file:
            partial = Path(file.name)
            try:
                with store.reading() as session:
                    for line in dialogue_lines(session, wanted):
                        file.write(line)
                        count += 1
                file.flush()
                os.fsync(file.fileno())
                partial.replace(target)
            except BaseException:
                partial.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise StoreError(f"{target} cannot be written: {error.strerror}; name another file with -o") from error
    return count
