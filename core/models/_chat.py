"""Chat as every back end speaks it: a request goes in, a stream of events comes out."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, Protocol

from core.dialogues import Usage
from core.settings import Sampling

__all__ = [
    "ChatBackend",
    "ChatDelta",
    "ChatEvent",
    "ChatMessage",
    "ChatRequest",
    "ChatRestart",
    "ChatResult",
    "FinishReason",
    "JsonSchema",
    "Progress",
]

Progress = Callable[[str], None]
"""Told what a slow start is doing, one short English line at a time."""


@dataclass(frozen=True)
class ChatMessage:
    """``role`` is the API's word for the speaker, not the domain's."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class JsonSchema:
    """The form that a structured reply must have. ``name`` is shown to the model by some endpoints."""

    name: str
    schema: Mapping[str, Any]


@dataclass(frozen=True)
class ChatRequest:
    """One question to a model.

    ``seed`` makes the answer repeatable as far as the endpoint can; None leaves it to chance.
    ``json_schema`` asks for a structured reply; None for plain text.
    """

    messages: tuple[ChatMessage, ...]
    sampling: Sampling = field(default_factory=Sampling)
    seed: int | None = None
    json_schema: JsonSchema | None = None


class FinishReason(StrEnum):
    STOP = "stop"
    """The model came to its end."""
    LENGTH = "length"
    """``max_tokens`` or the context ran out: the text breaks off."""


@dataclass(frozen=True)
class ChatDelta:
    """More of the text; never empty."""

    text: str


@dataclass(frozen=True)
class ChatRestart:
    """What was streamed so far is withdrawn: the request failed in the middle and may be made again."""

    reason: str


@dataclass(frozen=True)
class ChatResult:
    """The finished answer, whole. Always the last event of a stream; ``text`` is never blank."""

    text: str
    finish_reason: FinishReason
    usage: Usage


ChatEvent = ChatDelta | ChatRestart | ChatResult


class ChatBackend(Protocol):
    """A chat model, wherever it runs. Belongs to one event loop; any number of streams may run at once."""

    @property
    def name(self) -> str:
        """The configured name: what errors and records call this model."""
        ...

    @property
    def model(self) -> str:
        """What the endpoint calls the model, or the folder it was loaded from."""
        ...

    def stream(self, request: ChatRequest) -> AsyncGenerator[ChatEvent, None]:
        """Stream the answer: deltas, then one :class:`ChatResult`. Closing the generator stops the model.

        Raises :class:`core.errors.ModelError`; the request may then be made again.
        """
        ...

    async def check(self) -> str:
        """One line on health and model. Raises ModelError, saying what is wrong and how to mend it."""
        ...

    async def close(self) -> None:
        """Free what the back end holds: connections, memory, child processes. Closing twice is harmless."""
        ...
