"""A back end that says what it was told to: for tests and demonstrations."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass

from core.dialogues import Usage
from core.errors import ModelError, ModelMisbehaved, ModelUnavailable
from core.models._chat import ChatDelta, ChatEvent, ChatRequest, ChatResult, FinishReason

__all__ = ["Drop", "ScriptedBackend", "Stall", "Step"]


@dataclass(frozen=True)
class Stall:
    """Say ``text`` up to its end, but stand still for ``seconds`` before the first piece."""

    text: str
    seconds: float


@dataclass(frozen=True)
class Drop:
    """Say ``text``, then lose the connection."""

    text: str


Step = str | ModelError | Stall | Drop
"""What answers one request: a text, an error to raise, a slow text, or a text that breaks off."""


class ScriptedBackend:
    """Answers requests in order from a list, or each by a function of the request.

    Every request is kept in ``requests``. A list that has run out raises ModelMisbehaved, which no retry gets around.
    ``token_seconds`` is the time between two pieces.
    """

    def __init__(
        self, steps: Sequence[Step] | Callable[[ChatRequest], Step], *, name: str = "scripted", token_seconds: float = 0.0
    ) -> None:
        self._steps = steps
        self._name = name
        self._token_seconds = token_seconds
        self.requests: list[ChatRequest] = []
        self.closed = False

    @property
    def name(self) -> str:
        return self._name

    @property
    def model(self) -> str:
        return self._name

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatEvent, None]:
        started = time.perf_counter()
        self.requests.append(request)
        step = self._next(request)
        if isinstance(step, ModelError):
            raise step
        text = step if isinstance(step, str) else step.text
        if isinstance(step, Stall):
            await asyncio.sleep(step.seconds)
        first_ms: float | None = None
        pieces = re.findall(r"\s*\S+|\s+$", text)
        for piece in pieces:
            await asyncio.sleep(self._token_seconds)
            if first_ms is None:
                first_ms = _ms_since(started)
            yield ChatDelta(piece)
        if isinstance(step, Drop):
            raise ModelUnavailable(self._name, "the connection was lost in the middle of the reply")
        if not text.strip():
            raise ModelMisbehaved(self._name, "the reply was empty")
        usage = Usage(
            prompt_tokens=sum(len(message.content.split()) for message in request.messages),
            completion_tokens=len(pieces),
            first_token_ms=first_ms,
            latency_ms=_ms_since(started),
        )
        yield ChatResult(text, FinishReason.STOP, usage)

    async def check(self) -> str:
        return f"{self._name}: a scripted model, always ready"

    async def close(self) -> None:
        self.closed = True

    def _next(self, request: ChatRequest) -> Step:
        if callable(self._steps):
            return self._steps(request)
        place = len(self.requests) - 1
        if place >= len(self._steps):
            return ModelMisbehaved(self._name, f"the script has only {len(self._steps)} replies")
        return self._steps[place]


def _ms_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000.0
