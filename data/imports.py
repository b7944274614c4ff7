"""Imports of dialogues: all or nothing for each file, harmless when repeated, and every bad line reported at once.

A format turns one record into a dialogue; reading files, checking, comparing with the store and writing are common to all.
The file is read twice: once to find its faults, without the store's lock, and once to write.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NoReturn, Protocol

from sqlmodel import Session

from core.dialogues import storable, utc_now
from core.errors import InvalidInput, Problem
from data.dialogues import DialogueRepository
from data.salesfloor_format import SalesfloorDialogue, read_dialogue, write_dialogue
from data.score_format import write_score
from data.scores import ScoreRepository
from data.store import Store

__all__ = ["DialogueFormat", "ImportReport", "SalesfloorFormat", "import_dialogues"]

MAX_LINE_BYTES: Final = 32 * 1024 * 1024
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
    """What an import did. ``scores`` counts scores added to dialogues that were there already."""

    file: str
    added: int
    unchanged: int
    scores: int = 0

    def __str__(self) -> str:
        if not self.added and not self.scores:
            return f"{self.file}: nothing new; all {self.unchanged} dialogues are in the store already"
        known = f", {self.unchanged} were there already" if self.unchanged else ""
        scores = f", {self.scores} scores added to those" if self.scores else ""
        return f"{self.file}: {self.added} dialogues added{known}{scores}"


def import_dialogues(store: Store, path: Path, dialogue_format: DialogueFormat | None = None) -> ImportReport:
    """Import a file of JSON Lines.

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
        for batch in _batches(_records(path)):
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
    for place, record in _records(path, problems):
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


def _records(path: Path, problems: list[Problem] | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
    """The JSON objects of a file with their places. Bad lines go to ``problems``, or raise InvalidInput if that is None."""
    found: list[Problem] = [] if problems is None else problems
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(iter(lambda: file.readline(MAX_LINE_BYTES + 1), b""), start=1):
                place = f"{path.name}:{number}"
                if len(raw) > MAX_LINE_BYTES:
                    found.append(Problem(place, f"the line has more than {MAX_LINE_BYTES:,} bytes", "is it JSON Lines?"))
                    break
                line = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
                if not line.strip():
                    continue
                try:
                    yield place, _parse(line)
                except (ValueError, RecursionError) as error:
                    found.append(Problem(place, _reason(error), "write one JSON object to a line, in UTF-8"))
    except OSError as error:
        found.append(Problem(str(path), f"cannot be read: {error.strerror}", "check the path"))
    if problems is None and found:
        raise InvalidInput(*found)


def _parse(line: bytes) -> dict[str, Any]:
    """Raises ValueError."""
    text = line.decode("utf-8")
    record = json.loads(text, object_pairs_hook=_distinct, parse_constant=_refuse_constant, parse_float=_finite)
    if not isinstance(record, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 (all faults of a line are ValueErrors)
    # Only an escape can smuggle such characters in.
    if "\\u" in text and any(storable(string) != string for string in _strings(record)):
        raise ValueError("it holds NUL characters or halves of surrogate pairs, which cannot be stored")
    return record


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield key
            yield from _strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from _strings(part)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    built = dict(pairs)
    if len(built) != len(pairs):
        keys = [key for key, _ in pairs]
        doubled = sorted({key for key in keys if keys.count(key) > 1})
        raise ValueError(f"key {doubled[0]!r} stands twice in one object")
    return built


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits} is too large for a number")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON; write null for a missing number")


def _reason(error: Exception) -> str:
    match error:
        case UnicodeDecodeError():
            return f"byte {error.start + 1} of the line is not UTF-8"
        case json.JSONDecodeError():
            return f"not JSON: {error.msg} at character {error.colno}"
        case RecursionError():
            return "it is nested too deeply"
    return str(error)


def _batches(records: Iterator[tuple[str, dict[str, Any]]]) -> Iterator[list[tuple[str, dict[str, Any]]]]:
    while batch := [record for _, record in zip(range(_BATCH), records, strict=False)]:
        yield batch
