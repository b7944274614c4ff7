"""Dialogues as other programs write them: chat messages, ShareGPT conversations, Inspect samples.

Each is turned into an object of the ``salesfloor`` format and read as one, so that further keys (``tier``, ``goal``,
``scenario_id`` …) mean the same in every file, and unknown ones are kept. What such files do not have is filled in: the id from
the record's content, so that importing it again finds it; the language from the script of the words; the goal is left empty.
"""

from __future__ import annotations

import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from core.dialogues import Role
from core.errors import InvalidInput, Problem
from data.imports import DialogueFormat, SalesfloorFormat
from data.record_files import first_record, is_archive
from data.salesfloor_format import SalesfloorDialogue, read_dialogue

__all__ = ["FORMATS", "ChatFormat", "InspectFormat", "OpenAIFormat", "ShareGPTFormat", "detect_format", "format_named"]

_SCRIPT_ROLES = ("system", "developer")
_SAME_ROLE = {"human": "user", "gpt": "assistant", "chatgpt": "assistant", "bot": "assistant", "model": "assistant"}
"""What other programs call the API's two speakers."""

_MODEL_KEYS = ("model", "model_name")


class ChatFormat(ABC):
    """A list of messages by API roles, one of which is the salesperson.

    Args:
        salesperson_role: the role that sells, as the file writes it: ``assistant`` by default.
        model: name of the salesperson's model, where the record does not say.
    """

    name: str

    def __init__(self, salesperson_role: str = "assistant", model: str | None = None) -> None:
        self._salesperson_role = _plain_role(salesperson_role)
        self._model = model

    def read(self, record: Mapping[str, Any], place: str, *, unknown_time: datetime) -> SalesfloorDialogue:
        """As :meth:`data.imports.DialogueFormat.read`."""
        key, messages, rest = self._parts(record, place)
        turns, scripts = self._turns(messages, f"{place}: {key}")
        model = next((str(rest.pop(name)) for name in _MODEL_KEYS if isinstance(rest.get(name), str)), None)
        stated: dict[str, Any] = {
            "id": f"{self.name}-{_fingerprint(record)}",
            "language": _language_of(turns),
            "goal": "",
            "salesperson": {"kind": "model", "name": self._model or model or "unknown"},
            **rest,
            "turns": turns,
        }
        if scripts:
            stated.setdefault("script", "\n\n".join(scripts))
        return read_dialogue(stated, place, unknown_time=unknown_time)

    @abstractmethod
    def _parts(self, record: Mapping[str, Any], place: str) -> tuple[str, list[tuple[str, Any]], dict[str, Any]]:
        """The key that holds the messages, role and content of each, and everything else. Raises InvalidInput."""

    def _turns(self, messages: list[tuple[str, Any]], place: str) -> tuple[list[dict[str, Any]], list[str]]:
        problems: list[Problem] = []
        turns: list[dict[str, Any]] = []
        scripts: list[str] = []
        others: dict[str, int] = {}
        for number, (role, content) in enumerate(messages):
            here = f"{place}[{number}]"
            text = _text_of(content)
            if text is None:
                problems.append(Problem(here, "its content is not text", "write text, or a list of text parts"))
            elif role in _SCRIPT_ROLES:
                scripts.append(text)
            elif not text.strip():
                problems.append(Problem(here, f"the {role} says nothing", "remove the message"))
            elif role in ("tool", "function", ""):
                fault = "it has no role" if not role else f"role {role!r} is no speaker"
                problems.append(Problem(here, fault, "only what salesperson and customer say can be imported"))
            else:
                if role != self._salesperson_role:
                    others.setdefault(role, number)
                turns.append(
                    {"role": (Role.SALESPERSON if role == self._salesperson_role else Role.CUSTOMER).value, "text": text}
                )
        for role, number in list(others.items())[1:]:
            fault = f"role {role!r} is a third speaker beside {self._salesperson_role!r} and {next(iter(others))!r}"
            problems.append(Problem(f"{place}[{number}]", fault, "a dialogue has two; split or rename"))
        if not problems and not any(turn["role"] == Role.SALESPERSON.value for turn in turns):
            fault = f"nobody sells: no message has role {self._salesperson_role!r}"
            problems.append(Problem(place, fault, "say which role does with --salesperson-role"))
        if problems:
            raise InvalidInput(*problems)
        return turns, scripts


class OpenAIFormat(ChatFormat):
    """``{"messages": [{"role", "content"}], …}``."""

    name = "openai"

    def _parts(self, record: Mapping[str, Any], place: str) -> tuple[str, list[tuple[str, Any]], dict[str, Any]]:
        return "messages", _messages(record, "messages", "role", "content", place), _without(record, "messages")


class ShareGPTFormat(ChatFormat):
    """``{"conversations": [{"from", "value"}], …}``; ``human`` and ``gpt`` are ``user`` and ``assistant``."""

    name = "sharegpt"

    def _parts(self, record: Mapping[str, Any], place: str) -> tuple[str, list[tuple[str, Any]], dict[str, Any]]:
        messages = _messages(record, "conversations", "from", "value", place)
        rest = _without(record, "conversations")
        if isinstance(rest.get("system"), str):
            messages.insert(0, ("system", rest.pop("system")))
        return "conversations", messages, rest


class InspectFormat(ChatFormat):
    """A sample of an Inspect log, with the log's ``eval`` beside it.

    The sample's ``metadata`` is read as further keys of the dialogue; what the log says of itself is kept in ``meta.inspect``.
    """

    name = "inspect"

    def _parts(self, record: Mapping[str, Any], place: str) -> tuple[str, list[tuple[str, Any]], dict[str, Any]]:
        attachments = record.get("attachments")
        messages = [
            (role, _attached(content, attachments if isinstance(attachments, Mapping) else {}))
            for role, content in _messages(record, "messages", "role", "content", place)
        ]
        log = record["eval"] if isinstance(record.get("eval"), Mapping) else {}
        metadata = record["metadata"] if isinstance(record.get("metadata"), Mapping) else {}
        about = {
            "task": log.get("task"),
            "run_id": log.get("run_id"),
            "sample": record.get("id"),
            "epoch": record.get("epoch"),
            "scores": record.get("scores"),
        }
        rest: dict[str, Any] = {**metadata, "inspect": {key: value for key, value in about.items() if value is not None}}
        rest.setdefault("model", log.get("model"))
        if isinstance(record.get("started_at"), str) and "started_at" not in rest:
            rest["started_at"] = record["started_at"]
        if isinstance(record.get("uuid"), str):
            rest.setdefault("id", f"inspect-{record['uuid']}")
        return "messages", messages, {key: value for key, value in rest.items() if value is not None}


FORMATS: dict[str, type[ChatFormat] | type[SalesfloorFormat]] = {
    "salesfloor": SalesfloorFormat,
    **{kind.name: kind for kind in (OpenAIFormat, ShareGPTFormat, InspectFormat)},
}
"""Every format of dialogues that can be imported, by name."""


def format_named(name: str, *, salesperson_role: str = "assistant", model: str | None = None) -> DialogueFormat:
    """The format of that name; the options matter to those written by API roles. Raises KeyError for an unknown name."""
    kind = FORMATS[name]
    return kind(salesperson_role, model) if issubclass(kind, ChatFormat) else kind()


def detect_format(path: Path) -> str:
    """The name of the format that the file seems to be in: by its first record. Unclear files count as ``salesfloor``."""
    try:
        if is_archive(path):
            return InspectFormat.name
    except OSError:
        return SalesfloorFormat.name
    record = first_record(path) or {}
    if "turns" in record:
        return SalesfloorFormat.name
    if "messages" in record:
        return InspectFormat.name if isinstance(record.get("eval"), Mapping) else OpenAIFormat.name
    return ShareGPTFormat.name if "conversations" in record else SalesfloorFormat.name


# -- inside -----------------------------------------------------------------------------------------------------------


def _plain_role(role: str) -> str:
    lowered = role.strip().lower()
    return _SAME_ROLE.get(lowered, lowered)


def _messages(record: Mapping[str, Any], key: str, role: str, content: str, place: str) -> list[tuple[str, Any]]:
    messages = record.get(key)
    if not isinstance(messages, list):
        fault = f"{key} is missing" if messages is None else f"{key} is not a list"
        raise InvalidInput(Problem(place, fault, f"write {key} as a list of objects with {role!r} and {content!r}"))
    problems = [
        Problem(f"{place}: {key}[{number}]", "it is not an object", f"write an object with {role!r} and {content!r}")
        for number, message in enumerate(messages)
        if not isinstance(message, Mapping)
    ]
    if problems:
        raise InvalidInput(*problems)
    return [(_plain_role(str(message.get(role) or "")), message.get(content)) for message in messages]


def _without(record: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != key}


def _text_of(content: Any) -> str | None:
    """The text of a message: a string, or a list of parts of which only the spoken ones count. None: there is none."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    texts: list[str] = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping) and isinstance(part.get("text"), str) and part.get("type", "text") != "reasoning":
            texts.append(part["text"])
        elif not (isinstance(part, Mapping) and part.get("type") == "reasoning"):
            return None
    return "".join(texts)


def _attached(content: Any, attachments: Mapping[str, Any]) -> Any:
    """Inspect keeps long texts apart and puts ``attachment://HASH`` in their place."""
    if isinstance(content, str):
        return attachments.get(content.removeprefix("attachment://"), content) if content.startswith("attachment://") else content
    if isinstance(content, list):
        return [
            {**part, "text": _attached(part["text"], attachments)} if isinstance(part, Mapping) and "text" in part else part
            for part in content
        ]
    return content


def _fingerprint(record: Mapping[str, Any]) -> str:
    canonical = json.dumps(record, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:24]


def _language_of(turns: list[dict[str, Any]]) -> str:
    """``zh`` if Chinese characters are at least a fifth of the letters: one of them says about as much as a short word."""
    text = "".join(turn["text"] for turn in turns)
    chinese = len(re.findall(r"[\u3400-\u9fff]", text))
    return "zh" if chinese and chinese >= 0.2 * sum(character.isalpha() for character in text) else "en"
