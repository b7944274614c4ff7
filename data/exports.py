"""Exports: dialogues as JSON Lines in the ``salesfloor`` format, dialogues and scores as tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sqlmodel import Session

from core.dialogues import Dialogue
from data.dialogues import DialogueFilter, DialogueRepository
from data.files import new_file
from data.frames import scores_frame, turns_frame
from data.salesfloor_format import to_line, write_dialogue
from data.scores import ScoreRepository
from data.spreadsheets import write_table
from data.store import Store

__all__ = ["dialogue_line", "dialogue_lines", "export_dialogues", "export_scores"]


def dialogue_line(session: Session, dialogue: Dialogue) -> str:
    """One dialogue with all its scores, as a line that ends in a newline."""
    return to_line(write_dialogue(dialogue, ScoreRepository(session).history(dialogue.id))) + "\n"


def dialogue_lines(session: Session, wanted: DialogueFilter | None = None) -> Iterator[str]:
    """A line for each dialogue that ``wanted`` lets through (all of them by default), oldest first."""
    for dialogue in DialogueRepository(session).iterate(wanted or DialogueFilter()):
        yield dialogue_line(session, dialogue)


def export_dialogues(store: Store, target: Path, wanted: DialogueFilter | None = None, file_format: str = "jsonl") -> int:
    """Write the dialogues to a file and return how many there were. The file appears whole or not at all.

    ``jsonl`` is the ``salesfloor`` format, which can be imported again; the formats of :data:`data.spreadsheets.TABLE_FORMATS`
    hold one turn a row. Raises StoreError if the store cannot be read or the file cannot be written, and InvalidInput for what an
    Excel workbook cannot hold.
    """
    if file_format != "jsonl":
        with store.reading() as session:
            frame = turns_frame(session, wanted)
        write_table(frame, target, file_format)
        return int(frame["dialogue_id"].nunique())
    count = 0
    with new_file(target) as partial, store.reading() as session, partial.open("w", encoding="utf-8", newline="\n") as file:
        for line in dialogue_lines(session, wanted):
            file.write(line)
            count += 1
    return count


def export_scores(
    store: Store,
    target: Path,
    wanted: DialogueFilter | None = None,
    file_format: str = "csv",
    *,
    intent_scorer: str | None = None,
    judge: str | None = None,
) -> int:
    """Write the scores to a table, one dialogue a row, and return how many there were. Dialogues without scores are left out.

    Raises as :func:`export_dialogues`.
    """
    with store.reading() as session:
        frame = scores_frame(session, wanted, intent_scorer=intent_scorer, judge=judge)
    write_table(frame, target, file_format)
    return len(frame)
