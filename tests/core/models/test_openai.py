"""The OpenAI-compatible back end against a server that answers well and badly."""

import asyncio
import gc
import warnings
from contextlib import aclosing

import pytest

from core.errors import ContextOverflow, ModelBusy, ModelError, ModelMisbehaved, ModelRejected, ModelUnavailable
from core.models import ChatDelta, ChatEvent, ChatMessage, ChatRequest, ChatResult, FinishReason, JsonSchema, OpenAICompatible
from core.settings import ModelEndpoint, Sampling
from tests.support.chat_server import MODEL, Answer, ChatServer, Script, error_body

ASK = ChatRequest((ChatMessage("system", "You buy."), ChatMessage("user", "Hello, may I help?")), seed=7)
KEY = "sk-verysecret-1234567890"


async def ask(script: Script, request: ChatRequest = ASK, *, key: str | None = KEY, **settings: object) -> list[ChatEvent]:
    async with ChatServer(script) as server:
        return await ask_server(server, request, key=key, **settings)


async def ask_server(
    server: ChatServer, request: ChatRequest = ASK, *, key: str | None = KEY, **settings: object
) -> list[ChatEvent]:
    endpoint = ModelEndpoint(base_url=server.base_url, model=MODEL, **settings)
    backend = OpenAICompatible("buyer", endpoint, api_key=key)
    try:
        return [event async for event in backend.stream(request)]
    finally:
        await backend.close()


async def failure(script: Script, request: ChatRequest = ASK, **settings: object) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await ask(script, request, **settings)
    assert KEY not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.model == "buyer"
    return caught.value


async def test_streams_deltas_then_a_result_with_usage() -> None:
    *deltas, result = await ask([Answer("I would like to know the price.")])
    assert len(deltas) > 3
    assert all(isinstance(delta, ChatDelta) and delta.text for delta in deltas)
    assert isinstance(result, ChatResult)
    assert result.text == "".join(delta.text for delta in deltas) == "I would like to know the price."
    assert result.finish_reason is FinishReason.STOP
    usage = result.usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.attempts) == (11, len(deltas), 1)
    assert 0 < usage.first_token_ms <= usage.latency_ms


async def test_sends_the_request_as_configured() -> None:
    schema = JsonSchema("customer_reply", {"type": "object"})
    request = ChatRequest(ASK.messages, Sampling(temperature=0.3, top_p=0.5, max_tokens=77), seed=5, json_schema=schema)
    async with ChatServer([Answer("{}")]) as server:
        await ask_server(server, request)
        (received,) = server.chats
    body = received.body
    assert received.headers["authorization"] == f"Bearer {KEY}"
    assert (body["model"], body["temperature"], body["top_p"], body["max_tokens"], body["seed"]) == (MODEL, 0.3, 0.5, 77, 5)
    assert body["stream"] is True
    assert body["stream_options"] == {"include_usage": True}
    assert body["response_format"]["json_schema"] == {"name": "customer_reply", "schema": {"type": "object"}, "strict": True}
    assert body["messages"] == [{"role": "system", "content": "You buy."}, {"role": "user", "content": "Hello, may I help?"}]


async def test_leaves_out_what_was_not_asked_for_and_sends_no_foreign_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody-else")
    async with ChatServer([Answer("Yes?")]) as server:
        await ask_server(server, ChatRequest(ASK.messages), key=None)
        (received,) = server.chats
    assert "seed" not in received.body
    assert "response_format" not in received.body
    assert "somebody-else" not in str(received.headers)


async def test_does_without_usage() -> None:
    result = (await ask([Answer("Yes.", usage=False)]))[-1]
    assert isinstance(result, ChatResult)
    assert result.usage.completion_tokens is None


async def test_marks_a_reply_that_was_cut_off() -> None:
    result = (await ask([Answer("I would", finish_reason="length")]))[-1]
    assert isinstance(result, ChatResult)
    assert result.finish_reason is FinishReason.LENGTH


@pytest.mark.parametrize("status", [500, 502, 503, 408])
async def test_a_server_in_trouble_is_unavailable(status: int) -> None:
    error = await failure([Answer(status=status)])
    assert type(error) is ModelUnavailable
    assert str(status) in error.detail
    assert error.retryable


@pytest.mark.parametrize(("status", "mend"), [(401, "api_key_env"), (403, "key"), (404, "base_url"), (400, "configuration")])
async def test_a_refusal_says_how_to_mend_it(status: int, mend: str) -> None:
    error = await failure([Answer(status=status, body=error_body(f"Incorrect API key provided: {KEY}. Bearer {KEY}"))])
    assert type(error) is ModelRejected
    assert mend in error.detail
    assert "[key]" in error.detail
    assert not error.retryable


@pytest.mark.parametrize(
    ("message", "mend"),
    [
        ("response_format of type json_schema is not supported", "reply_format"),
        ("'temperature' does not support 0.8 with this model", "temperature"),
        ("max_tokens is too large", "max_tokens"),
    ],
)
async def test_a_refused_parameter_is_named(message: str, mend: str) -> None:
    error = await failure([Answer(status=400, body=error_body(message))])
    assert type(error) is ModelRejected
    assert mend in error.detail.split(";")[-1]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [({"Retry-After": "7"}, 7.0), ({"Retry-After-Ms": "1500"}, 1.5), ({}, None), ({"Retry-After": "soon"}, None)],
)
async def test_a_busy_server_tells_when_to_come_back(headers: dict[str, str], seconds: float | None) -> None:
    error = await failure([Answer(status=429, headers=headers, body=error_body("Rate limit reached"))])
    assert isinstance(error, ModelBusy)
    assert error.retry_after_s == seconds


async def test_a_date_to_come_back_at_is_understood() -> None:
    error = await failure([Answer(status=429, headers={"Retry-After": "Fri, 01 Jan 2100 00:00:00 GMT"})])
    assert isinstance(error, ModelBusy)
    assert error.retry_after_s > 1e6
    error = await failure([Answer(status=429, headers={"Retry-After": "Fri, 01 Jan 2010 00:00:00 GMT"})])
    assert isinstance(error, ModelBusy)
    assert error.retry_after_s == 0.0


async def test_an_empty_account_is_not_merely_busy() -> None:
    error = await failure([Answer(status=429, body=error_body("You exceeded your current quota", code="insufficient_quota"))])
    assert type(error) is ModelRejected


OVERFLOWS = {
    "openai": error_body(
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
        code="context_length_exceeded",
    ),
    "openai, newer": error_body("Your input exceeds the context window of this model. Please adjust your input and try again."),
    "vllm": error_body(
        "This model's maximum context length is 2048 tokens. However, your prompt contains at least 2049 input tokens, which "
        "exceeds this limit even without any output tokens. Please reduce the length of the input prompt.",
        "BadRequestError",
        400,
    ),
    "vllm, older": {
        "object": "error",
        "message": "This model's maximum context length is 2048 tokens. However, you requested 4090 tokens (2042 in the "
        "messages, 2048 in the completion). Please reduce the length of the messages or completion.",
        "code": 400,
    },
    "llama.cpp": error_body(
        "the request exceeds the available context size. try increasing the context size or enable context shift",
        "exceed_context_size_error",
        400,
    ),
    "llama.cpp, newer": error_body("request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it"),
    "llama-cpp-python": error_body("Requested tokens (2285) exceed context window of 2048"),
    "dashscope": error_body("Range of input length should be [1, 30720]"),
}


@pytest.mark.parametrize("server", list(OVERFLOWS))
async def test_context_overflow_is_recognised(server: str) -> None:
    error = await failure([Answer(status=400, body=OVERFLOWS[server])])
    assert type(error) is ContextOverflow
    assert not error.retryable


async def test_context_overflow_told_inside_the_stream_is_recognised() -> None:
    told = '{"error": {"message": "This model\'s maximum context length is 64 tokens.", "code": 400}}'
    assert type(await failure([Answer("", raw=(told,))])) is ContextOverflow


async def test_an_error_told_inside_the_stream_is_an_error() -> None:
    told = '{"error": {"message": "EngineCore encountered an issue", "type": "InternalServerError", "code": 500}}'
    error = await failure([Answer("one two three", raw=(told,), raw_after=2)])
    assert type(error) is ModelUnavailable
    assert "EngineCore" in error.detail


@pytest.mark.parametrize(
    "message",
    [
        (
            "This model's maximum context length is 2048 tokens. However, you requested 2616 tokens (568 in the messages, "
            "2048 in the completion). Please reduce the length of the messages or completion."
        ),
        (
            "'max_tokens' or 'max_completion_tokens' is too large: 2048. This model's maximum context length is 2048 tokens "
            "and your request has 568 input tokens (2048 > 2048 - 568)."
        ),
    ],
)
async def test_a_reply_limit_that_does_not_fit_is_lowered(message: str) -> None:
    async with ChatServer([Answer(status=400, body=error_body(message)), Answer("Fine.")]) as server:
        result = (await ask_server(server))[-1]
        limits = [request.body["max_tokens"] for request in server.chats]
    assert isinstance(result, ChatResult)
    assert limits == [2048, 1480]


async def test_a_limit_known_by_another_name_is_put_so_from_then_on() -> None:
    refusal = error_body(
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        code="unsupported_parameter",
    )
    async with ChatServer([Answer(status=400, body=refusal), Answer("Fine."), Answer("Fine.")]) as server:
        backend = OpenAICompatible("buyer", ModelEndpoint(base_url=server.base_url, model=MODEL))
        for _ in range(2):
            assert [event async for event in backend.stream(ASK)]
        await backend.close()
        bodies = [request.body for request in server.chats]
    assert [body.get("max_completion_tokens") for body in bodies] == [None, 2048, 2048]
    assert "max_tokens" not in bodies[1]


async def test_a_dropped_connection_is_unavailable() -> None:
    error = await failure([Answer("one two three four", drop_after=2)])
    assert type(error) is ModelUnavailable


async def test_a_stream_that_ends_as_if_complete_is_not_taken_for_a_reply() -> None:
    error = await failure([Answer("one two three four", quiet_after=2)])
    assert type(error) is ModelUnavailable
    assert "middle" in error.detail


@pytest.mark.parametrize("chunk", ["{not json", "[1, 2]", '{"choices": "none"}', '{"choices": [{"delta": {"content": 5}}]}', "7"])
async def test_a_malformed_chunk_is_misbehaviour(chunk: str) -> None:
    error = await failure([Answer("one two three", raw=(chunk,), raw_after=1)])
    assert type(error) is ModelMisbehaved


@pytest.mark.parametrize("text", ["", "   ", "\n"])
async def test_an_empty_reply_is_misbehaviour(text: str) -> None:
    error = await failure([Answer(text)])
    assert type(error) is ModelMisbehaved
    assert "empty" in error.detail


async def test_a_filtered_reply_is_misbehaviour() -> None:
    error = await failure([Answer("I would", finish_reason="content_filter")])
    assert type(error) is ModelMisbehaved
    assert "content filter" in error.detail


@pytest.mark.parametrize("after", [0, 2])
async def test_a_stalled_reply_times_out(after: int) -> None:
    error = await failure([Answer("one two three four", stall_s=5.0, stall_after=after)], timeout_s=0.2)
    assert type(error) is ModelUnavailable
    assert "in time" in error.detail


async def test_no_server_is_unavailable() -> None:
    async with ChatServer() as server:
        pass
    with pytest.raises(ModelUnavailable, match="is the server running"):
        await ask_server(server)


async def test_html_from_a_proxy_is_not_quoted() -> None:
    error = await failure([Answer(status=502, body="<html><body>Bad gateway</body></html>")])
    assert "<html" not in error.detail


async def test_a_client_that_leaves_stops_the_reply() -> None:
    async with ChatServer([Answer("one two three four five six", stall_s=30.0, stall_after=2)]) as server:
        backend = OpenAICompatible("buyer", ModelEndpoint(base_url=server.base_url, model=MODEL))
        async with aclosing(backend.stream(ASK)) as events:
            async for _ in events:
                break
        await backend.close()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            gc.collect()
        await asyncio.sleep(0)
        assert server.chats[0].finished is False


class TestCheck:
    async def check(self, server: ChatServer, model: str = MODEL) -> str:
        backend = OpenAICompatible("buyer", ModelEndpoint(base_url=server.base_url, model=model), api_key=KEY)
        try:
            return await backend.check()
        finally:
            await backend.close()

    async def test_names_a_served_model(self) -> None:
        async with ChatServer() as server:
            line = await self.check(server)
        assert MODEL in line
        assert "serves" in line
        assert not server.chats

    async def test_asks_a_model_that_is_not_listed(self) -> None:
        async with ChatServer(models=["other"]) as server:
            assert "answers" in await self.check(server)
            assert server.chats[0].body["max_tokens"] == 1

    async def test_names_the_models_that_are_served_instead(self) -> None:
        async with ChatServer([Answer(status=404)], models=["other", "third"]) as server:
            with pytest.raises(ModelRejected, match="'other', 'third'"):
                await self.check(server, "mine")

    async def test_says_that_nobody_is_there(self) -> None:
        async with ChatServer() as server:
            pass
        with pytest.raises(ModelUnavailable):
            await self.check(server)
