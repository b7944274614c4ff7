"""Files of records: JSON Lines, a JSON document, or an Inspect log. Each record comes with its place, for error messages.

Whatever a file holds, reading it gives records and problems, never another exception: text that is not UTF-8, JSON that breaks
off, numbers that no float holds, characters that no database stores, archives that would unpack to more than fits.
"""

from __future__ import annotations

import json
import math
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

from core.dialogues import storable
from core.errors import InvalidInput, Problem

__all__ = ["MAX_DOCUMENT_BYTES", "MAX_LINE_BYTES", "Record", "first_record", "is_archive", "read_records"]

MAX_LINE_BYTES: Final = 32 * 1024 * 1024
MAX_DOCUMENT_BYTES: Final = 512 * 1024 * 1024

Record = tuple[str, dict[str, Any]]
"""Where it stands, such as ``dialogues.jsonl:7``, and the JSON object."""

_BOM = b"\xef\xbb\xbf"
_SAMPLES = "samples/"


def read_records(path: Path, problems: list[Problem] | None = None) -> Iterator[Record]:
    """The records of a file: a line each, an element of a JSON list each, or a sample of an Inspect log each.

    A sample's record has the log's ``eval`` beside it, under that key. Bad records are passed over and told in ``problems``;
    if that is None, they raise InvalidInput once the others have been given out.
    """
    found: list[Problem] = [] if problems is None else problems
    try:
        if is_archive(path):
            yield from _archived(path, found)
        elif _is_document(path):
            yield from _document(path, found)
        else:
            yield from _lines(path, found)
    except OSError as error:
        found.append(Problem(str(path), f"cannot be read: {error.strerror or error}", "check the path"))
    if problems is None and found:
        raise InvalidInput(*found)


def first_record(path: Path) -> dict[str, Any] | None:
    """The first record that can be read, or None."""
    return next((record for _, record in read_records(path, [])), None)


def is_archive(path: Path) -> bool:
    """Whether the file is a ZIP archive, as Inspect's ``.eval`` logs are. Raises OSError."""
    with path.open("rb") as file:
        return file.read(4) == b"PK\x03\x04"


# -- JSON Lines -------------------------------------------------------------------------------------------------------


def _lines(path: Path, problems: list[Problem]) -> Iterator[Record]:
    with path.open("rb") as file:
        for number, raw in enumerate(iter(lambda: file.readline(MAX_LINE_BYTES + 1), b""), start=1):
            place = f"{path.name}:{number}"
            if len(raw) > MAX_LINE_BYTES:
                problems.append(Problem(place, f"the line has more than {MAX_LINE_BYTES:,} bytes", "is it JSON Lines?"))
                return
            line = raw.removeprefix(_BOM) if number == 1 else raw
            if not line.strip():
                continue
            value = _parsed(line, place, "write one JSON object to a line, in UTF-8", problems)
            if value is not None:
                yield place, value


# -- one JSON document ------------------------------------------------------------------------------------------------


def _is_document(path: Path) -> bool:
    """Whether the file is one JSON value over its whole length: a list, or an object that does not end on its first line."""
    with path.open("rb") as file:
        first = file.readline(MAX_LINE_BYTES + 1).removeprefix(_BOM)
        while first and not first.strip():
            first = file.readline(MAX_LINE_BYTES + 1)
        if first.lstrip().startswith(b"["):
            return True
        if path.suffix.lower() != ".json" and first.strip() != b"{":
            return False
        return first.lstrip().startswith(b"{") and not _is_record(first)


def _is_record(line: bytes) -> bool:
    """Whether the line is whole by itself, and not a whole Inspect log."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return not _is_log(value)


def _is_log(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("samples"), list) and isinstance(value.get("eval"), dict)


def _document(path: Path, problems: list[Problem]) -> Iterator[Record]:
    size = path.stat().st_size
    if size > MAX_DOCUMENT_BYTES:
        fault = f"one JSON document of {size:,} bytes; at most {MAX_DOCUMENT_BYTES:,} are read at once"
        problems.append(Problem(path.name, fault, "write it as JSON Lines, one record a line"))
        return
    try:
        value = _load(path.read_bytes().removeprefix(_BOM))
    except (ValueError, RecursionError) as error:
        problems.append(Problem(path.name, _reason(error), "write JSON in UTF-8, or one JSON object to a line"))
        return
    if _is_log(value):
        yield from _elements(path.name, "samples", value["samples"], problems, lambda sample: {**sample, "eval": value["eval"]})
    elif isinstance(value, list):
        yield from _elements(path.name, "", value, problems)
    elif isinstance(value, dict):
        yield path.name, value
    else:
        problems.append(Problem(path.name, "it is neither a JSON object nor a list of them", "check that it is the right file"))


def _elements(
    name: str,
    prefix: str,
    values: list[Any],
    problems: list[Problem],
    finish: Callable[[dict[str, Any]], dict[str, Any]] = lambda value: value,
) -> Iterator[Record]:
    for number, value in enumerate(values):
        place = f"{name}: {prefix}[{number}]"
        if not isinstance(value, dict):
            problems.append(Problem(place, "it is not a JSON object", "write an object for each dialogue"))
        else:
            yield place, finish(value)


# -- Inspect's archives -----------------------------------------------------------------------------------------------


def _archived(path: Path, problems: list[Problem]) -> Iterator[Record]:
    again = "is the file whole? Inspect writes it anew with: inspect log convert --to json"
    try:
        with zipfile.ZipFile(path) as archive:
            samples = [entry for entry in archive.infolist() if _is_sample(entry)]
            header = _entry(archive, "header.json", path, problems) or _entry(archive, "_journal/start.json", path, problems)
            if header is None or not isinstance(header.get("eval"), dict):
                problems.append(Problem(path.name, "it holds no header.json with an 'eval'", "name an Inspect log"))
                return
            for entry in samples:
                sample = _entry(archive, entry.filename, path, problems)
                if sample is not None:
                    yield f"{path.name}: {entry.filename}", {**sample, "eval": header["eval"]}
    except (zipfile.BadZipFile, EOFError, zlib.error, NotImplementedError, RuntimeError, OSError, ValueError) as error:
        # RuntimeError: encrypted. NotImplementedError: a compression that this Python does not know. OSError, ValueError: the
        # archive points to places outside itself.
        problems.append(Problem(path.name, f"the archive cannot be read: {error}", again))


def _is_sample(entry: zipfile.ZipInfo) -> bool:
    return entry.filename.startswith(_SAMPLES) and entry.filename.endswith(".json")


def _entry(archive: zipfile.ZipFile, name: str, path: Path, problems: list[Problem]) -> dict[str, Any] | None:
    if name not in archive.NameToInfo:
        return None
    place = f"{path.name}: {name}"
    with archive.open(name) as file:
        # What the archive says of the size may be a lie; what is read is not.
        content = file.read(MAX_LINE_BYTES + 1)
    if len(content) > MAX_LINE_BYTES:
        problems.append(Problem(place, f"it unpacks to more than {MAX_LINE_BYTES:,} bytes", "leave that sample out"))
        return None
    return _parsed(content, place, "is the log whole?", problems)


# -- JSON that can be stored ------------------------------------------------------------------------------------------


def _parsed(content: bytes, place: str, mend: str, problems: list[Problem]) -> dict[str, Any] | None:
    try:
        value = _load(content)
    except (ValueError, RecursionError) as error:
        problems.append(Problem(place, _reason(error), mend))
        return None
    if isinstance(value, dict):
        return value
    problems.append(Problem(place, "it is not a JSON object", mend))
    return None


def _load(content: bytes) -> Any:
    """Raises ValueError, RecursionError."""
    text = content.decode("utf-8")
    value = json.loads(text, object_pairs_hook=_distinct, parse_constant=_refuse_constant, parse_float=_finite)
    # Only an escape can smuggle such characters in.
    if "\\u" in text and any(storable(string) != string for string in _strings(value)):
        raise ValueError("it holds NUL characters or halves of surrogate pairs, which cannot be stored")
    return value


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
            return f"byte {error.start + 1} is not UTF-8"
        case json.JSONDecodeError():
            where = f"character {error.colno}" if error.lineno == 1 else f"line {error.lineno}, character {error.colno}"
            return f"not JSON: {error.msg} at {where}"
        case RecursionError():
            return "it is nested too deeply"
    return str(error)
