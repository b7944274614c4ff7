"""Retrying: when, how often, how long apart, and what becomes of a stream that broke."""

import asyncio
from contextlib import aclosing

import pytest

from core.errors import ContextOverflow, ModelBusy, ModelError, ModelMisbehaved, ModelRejected, ModelUnavailable
from core.models import (
    ChatDelta,
    ChatEvent,
    ChatMessage,
    ChatRequest,
    ChatRestart,
    ChatResult,
    Drop,
    Retrying,
    RetryPolicy,
    ScriptedBackend,
    Stall,
    Step,
)

ASK = ChatRequest((ChatMessage("user", "Hello"),), seed=100)


class Clock:
    def __init__(self) -> None:
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)


async def run(steps: list[Step], policy: RetryPolicy | None = None) -> tuple[list[ChatEvent], ScriptedBackend, Clock]:
    backend, clock = ScriptedBackend(steps), Clock()
    events: list[ChatEvent] = []
    async with aclosing(Retrying(backend, policy, sleep=clock.sleep).stream(ASK)) as stream:
        async for event in stream:
            events.append(event)
    return events, backend, clock


def away() -> ModelUnavailable:
    return ModelUnavailable("scripted", "no connection")


async def test_a_good_reply_passes_through() -> None:
    events, backend, clock = await run(["Good day to you."])
    assert [type(event) for event in events] == [ChatDelta] * 4 + [ChatResult]
    assert not clock.waits
    assert len(backend.requests) == 1
    result = events[-1]
    assert isinstance(result, ChatResult)
    assert result.usage.attempts == 1


async def test_a_failure_before_the_first_piece_is_not_seen() -> None:
    events, _, clock = await run([away(), away(), "Hello."])
    assert [type(event) for event in events] == [ChatDelta, ChatResult]
    assert len(clock.waits) == 2
    result = events[-1]
    assert isinstance(result, ChatResult)
    assert result.usage.attempts == 3


async def test_a_broken_stream_starts_again_with_a_marker() -> None:
    events, _, _ = await run([Drop("I would like"), "I would rather not."])
    kinds = [type(event) for event in events]
    assert kinds == [ChatDelta] * 3 + [ChatRestart] + [ChatDelta] * 4 + [ChatResult]
    after = "".join(event.text for event in events[4:] if isinstance(event, ChatDelta))
    result = events[-1]
    assert isinstance(result, ChatResult)
    assert after == result.text == "I would rather not."


@pytest.mark.parametrize("error", [ModelRejected("m", "key"), ContextOverflow("m", "long")])
async def test_what_will_not_help_is_not_tried(error: ModelError) -> None:
    backend = ScriptedBackend([error, "never"])
    with pytest.raises(type(error)):
        _ = [event async for event in Retrying(backend, sleep=Clock().sleep).stream(ASK)]
    assert len(backend.requests) == 1


async def test_gives_up_with_the_last_error_after_all_attempts() -> None:
    backend, clock = ScriptedBackend([away() for _ in range(9)]), Clock()
    with pytest.raises(ModelUnavailable):
        _ = [event async for event in Retrying(backend, RetryPolicy(attempts=3), sleep=clock.sleep).stream(ASK)]
    assert len(backend.requests) == 3
    assert len(clock.waits) == 2


async def test_waits_grow_and_are_spread() -> None:
    policy = RetryPolicy(attempts=8, first_wait_s=1.0, longest_wait_s=8.0, jitter_s=0.5)
    backend, clock = ScriptedBackend([away() for _ in range(9)]), Clock()
    with pytest.raises(ModelUnavailable):
        _ = [event async for event in Retrying(backend, policy, sleep=clock.sleep).stream(ASK)]
    for wait, low in zip(clock.waits, [1.0, 2.0, 4.0, 7.9, 7.9, 7.9, 7.9], strict=True):
        assert low <= wait <= min(low + 0.6, 8.5)
    assert len(set(clock.waits[:3])) == 3


async def test_obeys_the_wait_that_the_endpoint_names() -> None:
    _, _, clock = await run([ModelBusy("m", "slow down", 7.0), "Hello."])
    assert 7.0 <= clock.waits[0] <= 7.5


async def test_does_not_sit_through_a_wait_of_minutes() -> None:
    backend = ScriptedBackend([ModelBusy("m", "slow down", 600.0), "never"])
    with pytest.raises(ModelBusy) as caught:
        _ = [event async for event in Retrying(backend, sleep=Clock().sleep).stream(ASK)]
    assert caught.value.retry_after_s == 600.0
    assert len(backend.requests) == 1


async def test_an_unusable_answer_is_asked_for_with_another_seed() -> None:
    _, backend, _ = await run([ModelMisbehaved("m", "empty"), away(), "Hello."])
    assert [request.seed for request in backend.requests] == [100, 101, 101]


async def test_closing_the_stream_stops_it_at_once() -> None:
    backend = ScriptedBackend(["one two three four", "never"])
    async with aclosing(Retrying(backend).stream(ASK)) as events:
        async for _ in events:
            break
    assert len(backend.requests) == 1


async def test_can_be_cancelled_while_it_waits() -> None:
    backend = ScriptedBackend([away(), Stall("late", 60.0)])

    async def consume() -> None:
        async for _ in Retrying(backend, RetryPolicy(first_wait_s=0.01, jitter_s=0.0)).stream(ASK):
            pass

    task = asyncio.create_task(consume())
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(backend.requests) == 2


async def test_times_run_from_the_first_attempt() -> None:
    async def sleep(seconds: float) -> None:
        await asyncio.sleep(0.05)

    retrying = Retrying(ScriptedBackend([away(), "Hello."]), sleep=sleep)
    events = [event async for event in retrying.stream(ASK)]
    result = events[-1]
    assert isinstance(result, ChatResult)
    assert result.usage.first_token_ms >= 50.0
    assert result.usage.latency_ms >= result.usage.first_token_ms
