"""Any OpenAI-compatible chat endpoint: vLLM, llama.cpp, a cloud."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator
from typing import Any
from urllib.parse import urlsplit

import openai

from core.dialogues import Usage
from core.errors import ModelMisbehaved, ModelRejected, ModelUnavailable
from core.models._chat import ChatDelta, ChatEvent, ChatMessage, ChatRequest, ChatResult, FinishReason
from core.models._openai_errors import failure_of, room_for_reply, wants_max_completion_tokens
from core.settings import ModelEndpoint, Sampling

__all__ = ["OpenAICompatible"]

_FAILURES = (openai.OpenAIError, json.JSONDecodeError, UnicodeDecodeError)
"""What the client raises: its own errors, and what it lets through when a chunk is no JSON."""

_LOOPBACK = {"127.0.0.1", "localhost", "::1"}


class OpenAICompatible:
    """A chat model behind an OpenAI-compatible endpoint.

    Tries once: retrying is :class:`core.models.Retrying`'s business. What it does do is speak the endpoint's dialect: where
    a server counts ``max_tokens`` against its context, or knows the limit by another name, the request is put accordingly.
    """

    def __init__(self, name: str, endpoint: ModelEndpoint, *, api_key: str | None = None) -> None:
        self._name = name
        self._endpoint = endpoint
        self._secret = api_key
        base_url = str(endpoint.base_url)
        address = urlsplit(base_url)
        self._place = f"{address.hostname}:{address.port}" if address.port else str(address.hostname)
        self._limit_parameter = "max_tokens"
        timeout = openai.Timeout(endpoint.timeout_s, connect=endpoint.connect_timeout_s)
        self._client = openai.AsyncOpenAI(
            base_url=base_url,
            # Without a key of its own the client would send OPENAI_API_KEY to whatever server is configured.
            api_key=api_key or "none",
            timeout=timeout,
            max_retries=0,
            # A proxy configured for the outside world knows nothing of a server on this machine.
            http_client=openai.DefaultAsyncHttpxClient(timeout=timeout, trust_env=address.hostname not in _LOOPBACK),
        )

    @property
    def name(self) -> str:
        return self._name

    @property
    def model(self) -> str:
        return self._endpoint.model

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatEvent, None]:
        started = time.perf_counter()
        reply = _Reply()
        first_ms: float | None = None
        try:
            chunks = await self._open(request)
            try:
                async for chunk in chunks:
                    piece = self._take(chunk, reply)
                    if not piece:
                        continue
                    if first_ms is None:
                        first_ms = _ms_since(started)
                    yield ChatDelta(piece)
            finally:
                await chunks.close()
        except _FAILURES as error:
            raise self._failure(error) from error
        self._refuse_unusable(reply)
        usage = Usage(
            prompt_tokens=reply.prompt_tokens,
            completion_tokens=reply.completion_tokens,
            first_token_ms=first_ms,
            latency_ms=_ms_since(started),
        )
        reason = FinishReason.LENGTH if reply.finish_reason == "length" else FinishReason.STOP
        yield ChatResult(reply.text, reason, usage)

    async def check(self) -> str:
        """Ask which models are served; where the endpoint does not tell, or not of this one, ask the model for one token."""
        started = time.perf_counter()
        try:
            served = [model.id async for model in self._client.models.list()]
        except (openai.NotFoundError, openai.PermissionDeniedError):
            served = []
        except _FAILURES as error:
            raise self._failure(error) from error
        if self.model in served:
            return f"{self._name}: {self._place} serves {self.model!r} ({_ms_since(started):.0f} ms)"
        probe = ChatRequest((ChatMessage("user", "Hello"),), Sampling(max_tokens=1))
        try:
            chunks = await self._open(probe)
            await chunks.close()
        except openai.NotFoundError as error:
            if served:
                known = ", ".join(repr(model) for model in served[:5])
                detail = f"{self._place} does not serve {self.model!r} but {known}; mend 'model' in the configuration"
                raise ModelRejected(self._name, detail) from error
            raise self._failure(error) from error
        except _FAILURES as error:
            raise self._failure(error) from error
        return f"{self._name}: {self._place} answers as {self.model!r} ({_ms_since(started):.0f} ms)"

    async def close(self) -> None:
        await self._client.close()

    async def _open(self, request: ChatRequest) -> openai.AsyncStream[Any]:
        body: dict[str, Any] = {
            "model": self._endpoint.model,
            "messages": [{"role": message.role, "content": message.content} for message in request.messages],
            "temperature": request.sampling.temperature,
            "top_p": request.sampling.top_p,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if request.seed is not None:
            body["seed"] = request.seed
        if request.json_schema is not None:
            form = {"name": request.json_schema.name, "schema": dict(request.json_schema.schema), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        limit = request.sampling.max_tokens
        # Which overload this is, no type checker can tell from a dict.
        create: Any = self._client.chat.completions.create
        while True:
            try:
                stream: openai.AsyncStream[Any] = await create(**body, **{self._limit_parameter: limit})
                return stream
            except openai.BadRequestError as error:
                room = room_for_reply(error)
                if room is not None and room < limit:
                    limit = room
                elif self._limit_parameter == "max_tokens" and wants_max_completion_tokens(error):
                    self._limit_parameter = "max_completion_tokens"
                else:
                    raise

    def _take(self, chunk: Any, reply: _Reply) -> str:
        try:
            return reply.take(chunk)
        except (AttributeError, TypeError) as error:
            raise ModelMisbehaved(self._name, f"{self._place} sent a piece of the reply in an unknown form") from error

    def _refuse_unusable(self, reply: _Reply) -> None:
        if reply.finish_reason is None:
            # A server that dies between two chunks closes the stream as if all were well.
            raise ModelUnavailable(self._name, f"{self._place} broke off in the middle of the reply")
        if reply.finish_reason == "content_filter":
            raise ModelMisbehaved(self._name, f"the content filter of {self._place} stopped the reply")
        if not reply.text.strip():
            cut = " before max_tokens ran out" if reply.finish_reason == "length" else ""
            raise ModelMisbehaved(self._name, f"the reply was empty: {self._place} sent no text{cut}")

    def _failure(self, error: Exception) -> Exception:
        return failure_of(error, name=self._name, place=self._place, model=self.model, secret=self._secret)


class _Reply:
    """What has come in. The client hands malformed chunks on as they are, so each field is looked at before it is used."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self.finish_reason: str | None = None
        self.prompt_tokens: int | None = None
        self.completion_tokens: int | None = None

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def take(self, chunk: Any) -> str:
        """Take in a chunk and return its text. Raises TypeError or AttributeError where it is none."""
        if chunk.usage is not None:
            self.prompt_tokens = chunk.usage.prompt_tokens
            self.completion_tokens = chunk.usage.completion_tokens
        if not isinstance(chunk.choices, list):
            raise TypeError("a chunk without choices")
        piece = ""
        for choice in chunk.choices[:1]:
            if choice.finish_reason is not None:
                self.finish_reason = choice.finish_reason
            piece = choice.delta.content or ""
        if not isinstance(piece, str):
            raise TypeError("a chunk whose content is no text")
        if piece:
            self._pieces.append(piece)
        return piece


def _ms_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000.0
