"""Imports of dialogues: all or nothing for each file, harmless when repeated, and every bad line reported at once.

A format turns one record into a dialogue; reading files, checking, comparing with the store and writing are common to all.
The file is read twice: once to find its faults, without the store's lock, and once to write.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Protocol

from sqlmodel import Session

from core.dialogues import utc_now
from core.errors import InvalidInput, Problem
from data.dialogues import DialogueRepository
from data.record_files import Record, read_records
from data.salesfloor_format import SalesfloorDialogue, read_dialogue, write_dialogue
from data.score_format import write_score
from data.scores import ScoreRepository
from data.store import Store

__all__ = ["DialogueFormat", "ImportReport", "SalesfloorFormat", "import_dialogues"]

_BATCH: Final = 100


class DialogueFormat(Protocol):
    """How one kind of file writes a dialogue."""

    @property
    def name(self) -> str: ...

    def read(self, record: Mapping[str, Any], place: str, *, unknown_time: datetime) -> SalesfloorDialogue:
        """Turn a record into a dialogue; ``unknown_time`` stands where the record does not say when it began.

        The same record must always give the same dialogue, id included. Raises InvalidInput, problems beginning with ``place``.
        """
        ...


class SalesfloorFormat:
    name = "salesfloor"

    def read(self, record: Mapping[str, Any], place: str, *, unknown_time: datetime) -> SalesfloorDialogue:
        return read_dialogue(record, place, unknown_time=unknown_time)


@dataclass(frozen=True)
class ImportReport:
    """What an import did. ``what`` it brought; ``scores`` counts scores added to dialogues that were there already."""

    file: str
    added: int
    unchanged: int
    scores: int = 0
    what: str = "dialogue"

    def __str__(self) -> str:
        if not self.added and not self.scores:
            all_of_them = f"its one {self.what} is" if self.unchanged == 1 else f"all {self.unchanged} {self.what}s are"
            return f"{self.file}: nothing new; {all_of_them} in the store already"
        known = f", {self.unchanged} {'was' if self.unchanged == 1 else 'were'} there already" if self.unchanged else ""
        scores = f", {_counted(self.scores, 'score')} added to those" if self.scores else ""
        return f"{self.file}: {_counted(self.added, self.what)} added{known}{scores}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def import_dialogues(store: Store, path: Path, dialogue_format: DialogueFormat | None = None) -> ImportReport:
    """Import a file of dialogues, in the ``salesfloor`` format unless another is given.

    A dialogue that is in the store already must be the same there; scores that it lacks are added. Raises InvalidInput with
    the problems of all lines, and StoreError; either way nothing was changed.
    """
    reader = dialogue_format or SalesfloorFormat()
    _check(path, reader)
    added = unchanged = scores = 0
    now = utc_now()
    with store.session() as session:
        problems: list[Problem] = []
        dialogues, cards = DialogueRepository(session), ScoreRepository(session)
        for batch in _batches(read_records(path)):
            read = [(place, record, reader.read(record, place, unknown_time=now)) for place, record in batch]
            existing = {dialogue.id: dialogue for dialogue in dialogues.find([item.dialogue.id for _, _, item in read])}
            for place, record, item in read:
                there = existing.get(item.dialogue.id)
                if there is None:
                    dialogues.insert(item.dialogue)
                    added += 1
                    for card in item.scores:
                        cards.add(item.dialogue.id, card)
                    continue
                again = reader.read(record, place, unknown_time=there.started_at)
                if write_dialogue(again.dialogue) != write_dialogue(there):
                    fault = f"the store has another dialogue with id {there.id!r}"
                    problems.append(Problem(place, fault, "give it an id of its own, or delete that one"))
                    continue
                unchanged += 1
                scores += _add_missing_scores(session, again)
            session.flush()
            session.expunge_all()
        dialogues.adopt()
        if problems:
            raise InvalidInput(*problems)
    return ImportReport(path.name, added, unchanged, scores)


def _add_missing_scores(session: Session, item: SalesfloorDialogue) -> int:
    cards = ScoreRepository(session)
    have = [write_score(card) for card in cards.history(item.dialogue.id)]
    missing = [card for card in item.scores if write_score(card) not in have]
    for card in missing:
        cards.add(item.dialogue.id, card)
    return len(missing)


def _check(path: Path, reader: DialogueFormat) -> None:
    """Raise InvalidInput with every problem in the file."""
    problems: list[Problem] = []
    first_seen: dict[str, str] = {}
    now = utc_now()
    for place, record in read_records(path, problems):
        try:
            dialogue = reader.read(record, place, unknown_time=now).dialogue
        except InvalidInput as error:
            problems += error.problems
            continue
        if dialogue.id in first_seen:
            problems.append(Problem(place, f"id {dialogue.id!r} was used at {first_seen[dialogue.id]}", "give each its own id"))
        first_seen.setdefault(dialogue.id, place)
    if not problems and not first_seen:
        problems.append(Problem(path.name, "it holds no dialogues", "check that it is the right file"))
    if problems:
        raise InvalidInput(*problems)


def _batches(records: Iterator[Record]) -> Iterator[list[Record]]:
    while batch := [record for _, record in zip(range(_BATCH), records, strict=False)]:
        yield batch
