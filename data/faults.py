"""Faults that validation finds, in words for the person who wrote the file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["dotted", "explained"]


def dotted(path: Iterable[str | int]) -> str:
    """``concerns[1].kind``."""
    text = ""
    for key in path:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else key
    return text


_FAULTS = {
    "missing": ("it is missing", "add it"),
    "extra_forbidden": ("there is no such key", "remove it, or correct its spelling"),
    "string_type": ("it should be text", "put it into quotes"),
}


def explained(item: Mapping[str, Any]) -> tuple[str, str]:
    """Fault and mend of one of pydantic's errors."""
    kind = str(item["type"])
    if kind in _FAULTS:
        return _FAULTS[kind]
    if kind == "value_error":
        fault, _, mend = str(item["ctx"]["error"]).partition("; ")
        return fault, mend
    given = repr(item["input"])
    return str(item["msg"]), f"got {given if len(given) <= 80 else given[:77] + '…'}"
