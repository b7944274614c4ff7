"""Retry, in one place: nothing below this wrapper tries twice, nothing above it needs to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, wait_exponential, wait_random

from core.errors import ModelBusy, ModelError, ModelMisbehaved
from core.models._chat import ChatBackend, ChatEvent, ChatRequest, ChatRestart, ChatResult

__all__ = ["RetryPolicy", "Retrying"]


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how patiently to try. Times in seconds.

    The wait doubles from ``first_wait_s`` up to ``longest_wait_s``, with up to ``jitter_s`` added at random, so that many
    dialogues which failed together do not come back together. An endpoint that names its own wait (``Retry-After``) is obeyed
    up to ``longest_wait_s``; if it asks for more, the error is passed on at once: a person should not sit in front of a
    page that is silent for minutes.
    """

    attempts: int = 4
    first_wait_s: float = 0.5
    longest_wait_s: float = 30.0
    jitter_s: float = 0.5


class Retrying:
    """A back end that asks again when that may help (:attr:`core.errors.ModelError.retryable`).

    A stream that broke in the middle starts again after a :class:`ChatRestart`. An answer that was unusable
    (:class:`core.errors.ModelMisbehaved`) is asked for with another seed, since the same one would give the same answer.
    The result's usage counts all attempts; its times run from the first.
    """

    def __init__(
        self,
        backend: ChatBackend,
        policy: RetryPolicy | None = None,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._backend = backend
        self._policy = policy or RetryPolicy()
        self._sleep = sleep
        doubling = wait_exponential(multiplier=self._policy.first_wait_s, max=self._policy.longest_wait_s)
        self._backoff = doubling + wait_random(0.0, self._policy.jitter_s)

    @property
    def name(self) -> str:
        return self._backend.name

    @property
    def model(self) -> str:
        return self._backend.model

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatEvent, None]:
        started = time.perf_counter()
        async for attempt in AsyncRetrying(
            sleep=self._sleep,
            stop=stop_after_attempt(self._policy.attempts),
            wait=self._wait,
            retry=retry_if_exception(self._may_help),
            reraise=True,
        ):
            failure: ModelError | None = None
            begun = False
            before_ms = (time.perf_counter() - started) * 1000.0
            # The events are passed on outside of `with attempt`: that block keeps back every exception, and a consumer who
            # closes this generator would be kept waiting by it.
            try:
                async with aclosing(self._backend.stream(request)) as events:
                    async for event in events:
                        if isinstance(event, ChatResult):
                            yield _counted(event, attempt.retry_state.attempt_number, before_ms)
                            return
                        begun = not isinstance(event, ChatRestart)
                        yield event
                failure = ModelMisbehaved(self.name, "the stream ended without a result")
            except ModelError as error:
                failure = error
            if begun:
                yield ChatRestart(failure.detail)
            if isinstance(failure, ModelMisbehaved) and request.seed is not None:
                request = replace(request, seed=request.seed + 1)
            with attempt:
                raise failure

    async def check(self) -> str:
        return await self._backend.check()

    async def close(self) -> None:
        await self._backend.close()

    def _may_help(self, error: BaseException) -> bool:
        if not isinstance(error, ModelError) or not error.retryable:
            return False
        asked = error.retry_after_s if isinstance(error, ModelBusy) else None
        return asked is None or asked <= self._policy.longest_wait_s

    def _wait(self, state: RetryCallState) -> float:
        wait = float(self._backoff(state))
        error = state.outcome.exception() if state.outcome is not None else None
        asked = error.retry_after_s if isinstance(error, ModelBusy) else None
        return wait if asked is None else max(asked, 0.0) + min(wait, self._policy.jitter_s)


def _counted(result: ChatResult, attempts: int, before_ms: float) -> ChatResult:
    usage = result.usage
    return replace(
        result,
        usage=usage.model_copy(
            update={
                "attempts": attempts,
                "first_token_ms": None if usage.first_token_ms is None else usage.first_token_ms + before_ms,
                "latency_ms": None if usage.latency_ms is None else usage.latency_ms + before_ms,
            }
        ),
    )
