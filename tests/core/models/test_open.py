"""From names to back ends."""

import asyncio

import pytest

import core.models._open as opening
from core.errors import InvalidInput, Problem
from core.models import Backends, ChatBackend, ChatMessage, ChatRequest, ChatResult, ScriptedBackend, open_backend, sampling_of
from core.settings import ModelEndpoint, Sampling, Settings
from tests.support.chat_server import MODEL, Answer, ChatServer


def settings_for(base_url: str, **more: object) -> Settings:
    return Settings(models={"buyer": ModelEndpoint(base_url=base_url, model=MODEL, **more)})


async def test_a_configured_name_opens_with_key_and_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUYER_KEY", "sk-test-123456")
    async with ChatServer([Answer(status=429, headers={"Retry-After": "0"}), Answer("Hello.")]) as server:
        backend = await open_backend("buyer", settings_for(server.base_url, api_key_env="BUYER_KEY"))
        events = [event async for event in backend.stream(ChatRequest((ChatMessage("user", "Hi"),)))]
        await backend.close()
        assert [request.headers["authorization"] for request in server.chats] == ["Bearer sk-test-123456"] * 2
    assert isinstance(events[-1], ChatResult)
    assert events[-1].usage.attempts == 2
    assert backend.name == "buyer"


async def test_attempts_are_the_endpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    async with ChatServer([Answer(status=500)]) as server:
        backend = await open_backend("buyer", settings_for(server.base_url, max_attempts=1))
        with pytest.raises(Exception, match="HTTP 500"):
            _ = [event async for event in backend.stream(ChatRequest((ChatMessage("user", "Hi"),)))]
        await backend.close()
        assert len(server.chats) == 1


async def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="embedded, buyer, transformers:PATH, vllm:PATH"):
        await open_backend("byer", settings_for("http://127.0.0.1:1/v1"))


async def test_a_missing_key_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BUYER_KEY", raising=False)
    with pytest.raises(InvalidInput, match="BUYER_KEY is not set"):
        await open_backend("buyer", settings_for("http://127.0.0.1:1/v1", api_key_env="BUYER_KEY"))


@pytest.mark.parametrize("name", ["transformers:", "vllm: "])
async def test_a_folder_must_be_named(name: str) -> None:
    with pytest.raises(InvalidInput, match="names no folder"):
        await open_backend(name, Settings())


def test_sampling_is_the_endpoints_or_the_benchmarks() -> None:
    settings = settings_for("http://127.0.0.1:1/v1", temperature=0.1)
    assert sampling_of("buyer", settings) == Sampling(temperature=0.1)
    assert sampling_of("vllm:/m", settings) == Sampling()


class TestBackends:
    @pytest.fixture
    def opened(self, monkeypatch: pytest.MonkeyPatch) -> list[ScriptedBackend]:
        opened: list[ScriptedBackend] = []

        async def open_slowly(name: str, *_: object) -> ChatBackend:
            await asyncio.sleep(0.02)
            if name == "bad" and not opened:
                opened.append(ScriptedBackend([]))
                raise InvalidInput(Problem("models.bad", "is bad"))
            opened.append(ScriptedBackend([], name=name))
            return opened[-1]

        monkeypatch.setattr(opening, "open_backend", open_slowly)
        return opened

    async def test_opens_once_for_all_who_ask_at_once(self, opened: list[ScriptedBackend]) -> None:
        backends = Backends(Settings())
        first, second, other = await asyncio.gather(backends.get("a"), backends.get("a"), backends.get("b"))
        assert first is second is not other
        assert len(opened) == 2
        await backends.close()
        assert all(backend.closed for backend in opened)

    async def test_one_who_gives_up_does_not_spoil_it_for_the_others(self, opened: list[ScriptedBackend]) -> None:
        backends = Backends(Settings())
        impatient, patient = asyncio.create_task(backends.get("a")), asyncio.create_task(backends.get("a"))
        await asyncio.sleep(0)
        impatient.cancel()
        assert (await patient).name == "a"
        await backends.close()

    async def test_a_failed_opening_is_tried_again(self, opened: list[ScriptedBackend]) -> None:
        backends = Backends(Settings())
        with pytest.raises(InvalidInput):
            await backends.get("bad")
        assert (await backends.get("bad")).name == "bad"
        await backends.close()

    async def test_closing_gives_up_what_is_still_opening(self, opened: list[ScriptedBackend]) -> None:
        backends = Backends(Settings())
        waiting = asyncio.create_task(backends.get("a"))
        await asyncio.sleep(0)
        await backends.close()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert not opened
