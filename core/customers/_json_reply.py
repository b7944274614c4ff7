"""The structured reply of a chat-model customer: what it says, and whether it ends the conversation."""

from __future__ import annotations

import json

from pydantic import BaseModel, StrictBool, StrictStr, ValidationError

from core.models import JsonSchema

__all__ = ["REPLY_SCHEMA", "ReplyExtractor", "StructuredReply", "parse_reply"]

REPLY_SCHEMA = JsonSchema(
    "customer_reply",
    {
        "type": "object",
        "properties": {
            "reply": {"type": "string", "description": "What the customer says aloud."},
            "ends_conversation": {"type": "boolean", "description": "True only if the customer ends the conversation here."},
        },
        "required": ["reply", "ends_conversation"],
        "additionalProperties": False,
    },
)


class StructuredReply(BaseModel):
    reply: StrictStr
    ends_conversation: StrictBool = False


def parse_reply(text: str) -> StructuredReply:
    """Read the finished answer. What stands around the object, such as a code fence, is passed over.

    Raises ValueError saying what is wrong.
    """
    start = text.find("{")
    if start < 0:
        raise ValueError("it is no JSON object")
    try:
        value = json.JSONDecoder(strict=False).raw_decode(text, start)[0]
    except json.JSONDecodeError as error:
        raise ValueError(f"its JSON breaks off or is wrong ({error.msg})") from error
    if isinstance(value.get("reply"), str):
        # Halves of surrogate pairs are valid JSON, but no text: they could not be stored or sent.
        value["reply"] = value["reply"].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    try:
        return StructuredReply.model_validate(value)
    except ValidationError as error:
        field = error.errors()[0]
        raise ValueError(f"{field['loc'][0]}: {field['msg']}") from error


class ReplyExtractor:
    """Takes the answer in pieces of any size and gives out the text under ``"reply"`` as far as it has come in.

    Reads only as much JSON as that needs: strings, and how deep in other values it is. Whether the whole is well formed is
    :func:`parse_reply`'s to say, once it is there.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._string: _String | None = None
        self._key: str | None = None
        self._expects_key = False
        self._done = False

    def feed(self, piece: str) -> str:
        """Return the text of the reply that ``piece`` brought."""
        out: list[str] = []
        for character in piece:
            if self._done:
                break
            if self._string is not None:
                self._in_string(character, out)
            else:
                self._between(character)
        return "".join(out)

    def _in_string(self, character: str, out: list[str]) -> None:
        assert self._string is not None
        wanted = self._depth == 1 and not self._expects_key and self._key == "reply"
        ended = self._string.feed(character)
        if wanted:
            out.append(self._string.take())
            self._done = ended
        if ended:
            if self._depth == 1 and self._expects_key:
                self._key = self._string.take()
            self._string = None

    def _between(self, character: str) -> None:
        match character:
            case '"' if self._depth:
                self._string = _String()
            case "{" | "[" if self._depth or character == "{":
                self._depth += 1
                self._expects_key = self._depth == 1
            case "}" | "]" if self._depth:
                self._depth -= 1
                self._done = self._depth == 0
            case ":" if self._depth == 1:
                self._expects_key = False
            case "," if self._depth == 1:
                self._expects_key = True
            case _:
                pass


_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class _String:
    """Decodes a JSON string character by character, from after its opening quote."""

    def __init__(self) -> None:
        self._ready: list[str] = []
        self._escape: str | None = None
        self._high: int | None = None

    def feed(self, character: str) -> bool:
        """Take one character; True when it was the closing quote."""
        if self._escape is not None:
            self._in_escape(character)
        elif character == "\\":
            self._escape = ""
        elif character == '"':
            self._flush_half()
            return True
        else:
            self._flush_half()
            self._ready.append(character)
        return False

    def take(self) -> str:
        """What has been decoded since the last call. The first half of a surrogate pair waits for the second."""
        text = "".join(self._ready)
        self._ready.clear()
        return text

    def _in_escape(self, character: str) -> None:
        assert self._escape is not None
        if not self._escape and character != "u":
            self._flush_half()
            self._ready.append(_ESCAPES.get(character, character))
            self._escape = None
            return
        self._escape += character
        if len(self._escape) == len("uXXXX"):
            digits, self._escape = self._escape[1:], None
            try:
                self._unit(int(digits, 16))
            except ValueError:
                self._ready.append("\ufffd")

    def _unit(self, unit: int) -> None:
        if self._high is not None and 0xDC00 <= unit <= 0xDFFF:
            self._ready.append(chr(0x10000 + ((self._high - 0xD800) << 10) + (unit - 0xDC00)))
            self._high = None
            return
        self._flush_half()
        if 0xD800 <= unit <= 0xDBFF:
            self._high = unit
        else:
            self._ready.append("\ufffd" if 0xDC00 <= unit <= 0xDFFF else chr(unit))

    def _flush_half(self) -> None:
        if self._high is not None:
            self._ready.append("\ufffd")
            self._high = None
