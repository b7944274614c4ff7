"""YAML files written by people: read strictly, with the line of every value, so that a fault can be shown where it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from core.errors import Problem
from data.faults import dotted, explained

__all__ = ["MAX_FILE_BYTES", "Document", "KeyPath", "read_yaml"]

M = TypeVar("M", bound=BaseModel)
KeyPath = tuple[str | int, ...]

MAX_FILE_BYTES = 512 * 1024
"""Largest file that is read. The largest of the shipped library has about 10 kB."""

_MAX_DEPTH = 16
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass
class Document:
    """A file's value, the line of each part of it, and what was wrong with it (then ``value`` may be None)."""

    name: str
    value: Any = None
    lines: dict[KeyPath, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def place(self, path: KeyPath = ()) -> str:
        """``customers/fin-deposit-01.en.yaml:42: concerns[1].kind``."""
        known = next((path[:n] for n in range(len(path), -1, -1) if path[:n] in self.lines), None)
        line = "" if known is None else f":{self.lines[known]}"
        return f"{self.name}{line}" + (f": {dotted(path)}" if path else "")

    def blame(self, path: KeyPath, fault: str, mend: str = "") -> None:
        """Add a problem at ``path``."""
        self.problems.append(Problem(self.place(path), fault, mend))

    def parse(self, model: type[M], path: KeyPath = ()) -> M | None:
        """Validate the part at ``path`` as ``model``. On faults: add a problem for each and return None."""
        part = self.value
        for key in path:
            part = part[key]
        try:
            return model.model_validate(part)
        except ValidationError as error:
            for item in error.errors():
                self.blame((*path, *item["loc"]), *explained(item))
            return None


def read_yaml(path: Path, name: str) -> Document:
    """Read a file. Never raises for what is in it, or for its absence: ``problems`` of the result has every fault found.

    Refused are duplicate keys, anchors and aliases, tags, tabs as indentation, byte order marks and what is not UTF-8.
    """
    document = Document(name)
    text = _read_text(path, document)
    if text is None:
        return document
    try:
        if _refuse_exotic(text, document):
            return document
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            document.value = None if node is None else _build(loader, node, (), document)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = name if mark is None else f"{name}:{mark.line + 1}"
        line = "" if mark is None else (text.splitlines() or [""])[min(mark.line, text.count("\n"))]
        tab = "\t" in line[: len(line) - len(line.lstrip())]
        mend = "indent with spaces, never with tabs" if tab else "mend the YAML (quote text that holds ': ' or '#')"
        document.problems.append(Problem(where, str(error.problem or error.context), mend))
    except yaml.YAMLError as error:
        document.problems.append(Problem(name, f"not YAML: {' '.join(str(error).split())}", "remove the unprintable character"))
    if document.value is None and not document.problems:
        document.problems.append(Problem(name, "it is empty", "fill it or remove it"))
    return document


def _read_text(path: Path, document: Document) -> str | None:
    try:
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            fault, mend = f"it has {size:,} bytes, of {MAX_FILE_BYTES:,} at most", "split or shorten it"
            document.problems.append(Problem(document.name, fault, mend))
            return None
        raw = path.read_bytes()
    except OSError as error:
        document.problems.append(Problem(document.name, f"cannot be read: {error.strerror}", "check the file"))
        return None
    if raw.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        document.problems.append(Problem(document.name, "it begins with a byte order mark", "save it as UTF-8 without BOM"))
        return None
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        fault = f"byte {raw[error.start]:#04x} is not UTF-8"
        document.problems.append(Problem(f"{document.name}:{line}", fault, "save the file as UTF-8"))
        return None


def _refuse_exotic(text: str, document: Document) -> bool:
    """Look at the stream of events, which needs no recursion, before anything is built from it."""
    depth = 0
    found: list[tuple[int, str]] = []
    for event in yaml.parse(text, Loader=_Loader):
        line = 1 if event.start_mark is None else event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            found.append((line, "anchors and aliases (&, *) are not supported; write the text out"))
        elif getattr(event, "tag", None) is not None:
            found.append((line, "tags (!) are not supported; put the text into quotes"))
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _MAX_DEPTH:
                found.append((line, f"nested deeper than {_MAX_DEPTH} levels"))
                break
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
    document.problems += [Problem(f"{document.name}:{line}", fault) for line, fault in found]
    return bool(found)


def _build(loader: Any, node: yaml.Node, path: KeyPath, document: Document) -> Any:
    document.lines[path] = node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode):
        return [_build(loader, child, (*path, index), document) for index, child in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode):
        built: dict[Any, Any] = {}
        for key_node, child in node.value:
            key = loader.construct_object(key_node, deep=True)
            line = key_node.start_mark.line + 1
            if not isinstance(key, str):
                document.problems.append(Problem(f"{document.name}:{line}", f"key {key!r} is not text", "put it into quotes"))
                continue
            if key in built:
                first = document.lines[(*path, key)]
                place = f"{document.name}:{line}: {dotted((*path, key))}"
                document.problems.append(Problem(place, f"the key is there already, in line {first}", "keep one of the two"))
                continue
            built[key] = _build(loader, child, (*path, key), document)
            document.lines[(*path, key)] = line
        return built
    return loader.construct_object(node)
