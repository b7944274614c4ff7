"""A model folder in this process."""

import asyncio
import importlib.util
import threading
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from core.errors import ContextOverflow, InvalidInput, ModelRejected, ModelUnavailable
from core.models import (
    ChatDelta,
    ChatMessage,
    ChatRequest,
    ChatResult,
    FinishReason,
    JsonSchema,
    TransformersBackend,
    open_backend,
)
from core.settings import Sampling, Settings

HAS_LOCAL = importlib.util.find_spec("torch") is not None and importlib.util.find_spec("transformers") is not None
if HAS_LOCAL:
    import torch

    from tests.support.tiny_model import build_tiny_model

needs_local = pytest.mark.skipif(not HAS_LOCAL, reason="the extra `local` is not installed")

SHORT = Sampling(max_tokens=24)
DIALOGUE = (ChatMessage("system", "You are a customer."), ChatMessage("user", "Good morning! 您好！"))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # More threads than this only get in each other's way for a model of this size, and starve whatever else runs.
    torch.set_num_threads(1)
    return build_tiny_model(tmp_path_factory.mktemp("models") / "tiny-qwen2")


@pytest.fixture
async def backend(tiny: Path) -> AsyncIterator[TransformersBackend]:
    backend = await TransformersBackend.load(f"transformers:{tiny}", tiny)
    yield backend
    await backend.close()


async def whole(backend: TransformersBackend, request: ChatRequest) -> tuple[list[str], ChatResult]:
    deltas: list[str] = []
    async for event in backend.stream(request):
        if isinstance(event, ChatResult):
            return deltas, event
        assert isinstance(event, ChatDelta)
        deltas.append(event.text)
    raise AssertionError("no result")


@pytest.mark.local
@needs_local
class TestGeneration:
    async def test_streams_deltas_then_a_result(self, backend: TransformersBackend) -> None:
        deltas, result = await whole(backend, ChatRequest(DIALOGUE, SHORT, seed=3))
        assert len(deltas) > 1
        assert "".join(deltas) == result.text
        assert result.usage.prompt_tokens > 10
        assert 1 <= result.usage.completion_tokens <= 24
        assert 0 < result.usage.first_token_ms <= result.usage.latency_ms

    async def test_special_tokens_are_not_spoken(self, backend: TransformersBackend) -> None:
        for seed in range(5):
            _, result = await whole(backend, ChatRequest(DIALOGUE, SHORT, seed=seed))
            assert "<|im_" not in result.text

    async def test_a_seed_repeats_the_reply_and_another_gives_another(self, backend: TransformersBackend) -> None:
        texts = [(await whole(backend, ChatRequest(DIALOGUE, SHORT, seed=seed)))[1].text for seed in (1, 1, 2)]
        assert texts[0] == texts[1] != texts[2]

    async def test_temperature_zero_needs_no_seed(self, backend: TransformersBackend) -> None:
        greedy = ChatRequest(DIALOGUE, Sampling(temperature=0.0, max_tokens=12))
        assert (await whole(backend, greedy))[1].text == (await whole(backend, greedy))[1].text

    async def test_says_when_it_was_cut_off(self, backend: TransformersBackend) -> None:
        _, result = await whole(backend, ChatRequest(DIALOGUE, Sampling(max_tokens=3), seed=1))
        assert result.finish_reason is FinishReason.LENGTH
        assert result.usage.completion_tokens == 3

    async def test_generates_one_at_a_time_and_each_gets_its_own(self, backend: TransformersBackend) -> None:
        alone = [(await whole(backend, ChatRequest(DIALOGUE, SHORT, seed=seed)))[1].text for seed in range(4)]
        together = await asyncio.gather(*(whole(backend, ChatRequest(DIALOGUE, SHORT, seed=seed)) for seed in range(4)))
        assert [result.text for _, result in together] == alone

    async def test_closing_the_stream_stops_the_thread(self, backend: TransformersBackend) -> None:
        long = ChatRequest(DIALOGUE, Sampling(max_tokens=1900), seed=1)
        async with aclosing(backend.stream(long)) as events:
            async for _ in events:
                break
        started = time.perf_counter()
        await whole(backend, ChatRequest(DIALOGUE, Sampling(max_tokens=2), seed=1))
        assert time.perf_counter() - started < 2.0

    async def test_a_request_that_waits_can_be_given_up(self, backend: TransformersBackend) -> None:
        long = ChatRequest(DIALOGUE, Sampling(max_tokens=1900), seed=1)
        async with aclosing(backend.stream(long)) as events:
            async for _ in events:
                break
            waiting = asyncio.create_task(whole(backend, ChatRequest(DIALOGUE, SHORT, seed=1)))
            await asyncio.sleep(0.05)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        assert (await whole(backend, ChatRequest(DIALOGUE, SHORT, seed=1)))[1].text

    async def test_a_dialogue_that_does_not_fit_is_refused(self, backend: TransformersBackend) -> None:
        request = ChatRequest((ChatMessage("user", "word " * 3000),), SHORT)
        with pytest.raises(ContextOverflow, match="2048"):
            await whole(backend, request)

    async def test_the_reply_is_limited_to_what_still_fits(self, backend: TransformersBackend) -> None:
        request = ChatRequest((ChatMessage("user", "¿" * 1000),), Sampling(max_tokens=2048), seed=1)
        _, result = await whole(backend, request)
        assert result.usage.prompt_tokens + result.usage.completion_tokens <= 2048

    async def test_structured_replies_are_refused(self, backend: TransformersBackend) -> None:
        with pytest.raises(ModelRejected, match="reply_format"):
            await whole(backend, ChatRequest(DIALOGUE, SHORT, json_schema=JsonSchema("reply", {})))

    async def test_a_failure_in_the_thread_reaches_the_reader(
        self, backend: TransformersBackend, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def explode(**_: object) -> None:
            raise torch.OutOfMemoryError("no room")

        monkeypatch.setattr(backend._loaded.model, "generate", explode)
        with pytest.raises(ModelUnavailable, match="memory"):
            await asyncio.wait_for(whole(backend, ChatRequest(DIALOGUE, SHORT)), 5.0)

    async def test_check_tells_size_and_context(self, backend: TransformersBackend) -> None:
        line = await backend.check()
        assert "Qwen2ForCausalLM" in line
        assert "million parameters" in line
        assert "2048" in line

    async def test_closing_ends_a_running_generation(self, tiny: Path) -> None:
        backend = await TransformersBackend.load("tiny", tiny)
        stream = backend.stream(ChatRequest(DIALOGUE, Sampling(max_tokens=1900), seed=1))
        await anext(stream)
        await backend.close()
        await backend.close()
        await stream.aclose()
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("generate tiny")]
        with pytest.raises(ModelUnavailable):
            await anext(backend.stream(ChatRequest(DIALOGUE, SHORT)))


@pytest.mark.local
@needs_local
class TestLoading:
    async def test_the_system_role_is_folded_where_the_template_refuses_it(self, tmp_path: Path) -> None:
        folder = build_tiny_model(tmp_path / "no-system", system_role=False)
        backend = await TransformersBackend.load("tiny", folder)
        encoded = backend._encode(DIALOGUE)
        text = backend._loaded.tokenizer.decode(encoded["input_ids"][0])
        await backend.close()
        assert text.startswith("<|im_start|>user\nYou are a customer.\n\nGood morning!")

    async def test_what_cannot_be_folded_is_refused(self, tmp_path: Path) -> None:
        backend = await TransformersBackend.load("tiny", build_tiny_model(tmp_path / "no-system", system_role=False))
        with pytest.raises(ModelRejected, match="System role"):
            await whole(backend, ChatRequest((ChatMessage("user", "Hi"), ChatMessage("system", "Stop")), SHORT))
        await backend.close()

    async def test_a_model_without_a_chat_template_is_refused(self, tmp_path: Path) -> None:
        folder = build_tiny_model(tmp_path / "base", chat_template=False)
        with pytest.raises(InvalidInput, match="no chat template"):
            await TransformersBackend.load("tiny", folder)

    async def test_a_folder_of_another_kind_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidInput, match=r"no config\.json"):
            await TransformersBackend.load("tiny", tmp_path)
        with pytest.raises(InvalidInput, match="is no folder"):
            await TransformersBackend.load("tiny", tmp_path / "gone")
        (tmp_path / "config.json").write_text('{"model_type": "nothing-known"}')
        with pytest.raises(InvalidInput, match="could not be loaded"):
            await TransformersBackend.load("tiny", tmp_path)

    async def test_opens_by_name(self, tiny: Path) -> None:
        lines: list[str] = []
        backend = await open_backend(f"transformers:{tiny}", Settings(), lines.append)
        assert lines
        assert backend.model == "tiny-qwen2"
        assert [event async for event in backend.stream(ChatRequest(DIALOGUE, SHORT, seed=1))]
        await backend.close()


@pytest.mark.skipif(HAS_LOCAL, reason="the extra `local` is installed")
async def test_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"salesfloor\[local\]"):
        await open_backend(f"transformers:{tmp_path}", Settings())
