"""An OpenAI-compatible chat server for tests and measurements: it answers as it is told to, well or badly.

In a test::

    async with ChatServer([Answer("Hello."), Answer(status=500), Answer("One two three", drop_after=2)]) as server:
        endpoint = ModelEndpoint(base_url=server.base_url, model="test")

As a process, for benchmarks and browser tests::

    python tests/support/chat_server.py --port 8123 --rate 50

The first line on standard output is ``listening on http://127.0.0.1:8123/v1``. Tokens leave on a fixed schedule counted from the
arrival of the request, so that what a client measures beyond it is the client's own.

Written on bare sockets: only so can it drop a connection in the middle of a reply, and cost next to nothing itself.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

MODEL = "test-customer"

LINES = {
    "en": (
        "Hello. I saw your leaflet and I have a few questions, if you have a minute.",
        "And what would that cost me over the whole term, all in?",
        "Hmm. I have heard that before. Can you show me where it says so?",
        "My husband and I would have to talk about it first.",
        "That is clearer than what the others told me, I will give you that.",
        "I am still not sure that it is right for us.",
    ),
    "zh": (
        "你好，我看了你们的介绍，想问几个问题。",
        "那整个算下来，一共要花多少钱？",
        "这话我听别家也说过，有没有写在合同里的？",
        "这个我得回去跟家里人商量一下。",
        "嗯，你这么一说比别家清楚多了。",
        "我还是拿不准合不合适。",
    ),
}


@dataclass(frozen=True)
class Answer:
    """How one request is answered. Times in seconds; ``…_after`` counts tokens.

    ``tokens`` overrides how ``text`` is cut. ``raw`` lines are sent as they are after ``raw_after`` tokens. ``quiet_after`` ends
    the stream as if it were complete, without a finish reason.
    """

    text: str = "All right."
    tokens: tuple[str, ...] | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    finish_reason: str = "stop"
    stall_s: float = 0.0
    stall_after: int = 0
    drop_after: int | None = None
    quiet_after: int | None = None
    raw: tuple[str, ...] = ()
    raw_after: int = 0
    usage: bool = True

    def pieces(self) -> tuple[str, ...]:
        return self.tokens if self.tokens is not None else tuple(re.findall(r"\s*[\w']+[^\w\s]*|\s*[^\w\s]+|\s+", self.text))


@dataclass
class Received:
    """A request that came in. ``finished`` is None while it is answered, False when the client left or was dropped."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    finished: bool | None = None

    @property
    def messages(self) -> list[dict[str, str]]:
        return self.body.get("messages", [])


def error_body(message: str, kind: str = "invalid_request_error", code: str | int | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def converse(body: dict[str, Any]) -> Answer:
    """A tame customer: goes through a few lines in the language of the dialogue, as JSON where a schema was asked for."""
    messages = body.get("messages", [])
    spoken = "".join(message["content"] for message in messages)
    chinese = len(re.findall(r"[\u4e00-\u9fff]", spoken))
    lines = LINES["zh" if chinese > len(spoken) / 5 else "en"]
    line = lines[sum(message["role"] == "assistant" for message in messages) % len(lines)]
    if "response_format" not in body:
        return Answer(line)
    text = json.dumps({"reply": line, "ends_conversation": False}, ensure_ascii=False)
    return Answer(text)


Script = Sequence[Answer] | Callable[[dict[str, Any]], Answer]


class ChatServer:
    """``script`` answers requests in order (the last answer repeats), or each by a function of its body."""

    def __init__(
        self, script: Script = converse, *, rate: float | None = None, models: Sequence[str] = (MODEL,), delay_s: float = 0.0
    ) -> None:
        self._script = script
        self._rate = rate
        self._delay_s = delay_s
        self.models = list(models)
        self.received: list[Received] = []
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self.port = 0

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def chats(self) -> list[Received]:
        return [request for request in self.received if request.path.endswith("/chat/completions")]

    async def start(self, port: int = 0) -> None:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            for task in list(self._connections):
                task.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def serve_forever(self) -> None:
        assert self._server is not None
        await self._server.serve_forever()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._connections.discard(task)
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request. False when the connection is to be closed."""
        head = await reader.readuntil(b"\r\n\r\n")
        arrived = time.perf_counter()
        request_line, *lines = head.decode("latin-1").strip().split("\r\n")
        method, path, _ = request_line.split(" ", 2)
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        received = Received(path, headers, json.loads(raw) if raw else {})
        self.received.append(received)
        if path.endswith("/models") and method == "GET":
            data = [{"id": model, "object": "model", "created": 0, "owned_by": "test"} for model in self.models]
            await _send_json(writer, 200, {"object": "list", "data": data})
        elif path == "/health":
            await _send_json(writer, 200, {})
        elif path.endswith("/chat/completions") and method == "POST":
            return await self._chat(received, writer, arrived)
        else:
            await _send_json(writer, 404, error_body(f"no such path: {path}"))
        received.finished = True
        return True

    def _answer(self, received: Received) -> Answer:
        if callable(self._script):
            return self._script(received.body)
        return self._script[min(len(self.chats), len(self._script)) - 1]

    async def _chat(self, received: Received, writer: asyncio.StreamWriter, arrived: float) -> bool:
        answer = self._answer(received)
        received.finished = False
        if answer.stall_s and answer.stall_after == 0:
            await asyncio.sleep(answer.stall_s)
        if answer.status != 200:
            await _send_json(writer, answer.status, answer.body or error_body("told to fail", code=answer.status), answer.headers)
            received.finished = True
            return True
        if not received.body.get("stream"):
            await _send_json(writer, 200, _whole(answer))
            received.finished = True
            return True
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        kept = await self._stream(answer, writer, arrived)
        received.finished = kept
        return kept

    async def _stream(self, answer: Answer, writer: asyncio.StreamWriter, arrived: float) -> bool:
        pieces = answer.pieces()
        _send_event(writer, json.dumps(_chunk({"role": "assistant", "content": ""})))
        for place in range(len(pieces) + 1):
            if answer.raw and place == answer.raw_after:
                for line in answer.raw:
                    _send_event(writer, line)
            if answer.drop_after == place:
                await writer.drain()
                writer.transport.abort()
                return False
            if answer.quiet_after == place:
                writer.write(b"0\r\n\r\n")
                await writer.drain()
                return True
            if answer.stall_s and place and answer.stall_after == place:
                await asyncio.sleep(answer.stall_s)
            if place == len(pieces):
                break
            if self._rate:
                due = arrived + self._delay_s + (place + 1) / self._rate
                await asyncio.sleep(max(due - time.perf_counter(), 0.0))
            _send_event(writer, json.dumps(_chunk({"content": pieces[place]}), ensure_ascii=False))
            await writer.drain()
        _send_event(writer, json.dumps(_chunk({}, answer.finish_reason)))
        if answer.usage:
            _send_event(writer, json.dumps({**_chunk({}), "choices": [], "usage": _usage(pieces)}))
        _send_event(writer, "[DONE]")
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True


def _chunk(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {"id": "chatcmpl-test", "object": "chat.completion.chunk", "created": 0, "model": MODEL, "choices": [choice]}


def _usage(pieces: Sequence[str]) -> dict[str, int]:
    return {"prompt_tokens": 11, "completion_tokens": len(pieces), "total_tokens": 11 + len(pieces)}


def _whole(answer: Answer) -> dict[str, Any]:
    message = {"role": "assistant", "content": "".join(answer.pieces())}
    choice = {"index": 0, "message": message, "finish_reason": answer.finish_reason}
    usage = _usage(answer.pieces())
    return {"id": "chatcmpl-test", "object": "chat.completion", "created": 0, "model": MODEL, "choices": [choice], "usage": usage}


def _send_event(writer: asyncio.StreamWriter, data: str) -> None:
    payload = f"data: {data}\n\n".encode()
    writer.write(f"{len(payload):x}\r\n".encode() + payload + b"\r\n")


async def _send_json(writer: asyncio.StreamWriter, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
    payload = (body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)).encode()
    extra = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
    head = f"HTTP/1.1 {status} Told\r\nContent-Type: application/json\r\nContent-Length: {len(payload)}\r\n{extra}\r\n"
    writer.write(head.encode() + payload)
    await writer.drain()


async def _main() -> None:
    parser = argparse.ArgumentParser(description="An OpenAI-compatible chat server that emits tokens at a fixed rate.")
    parser.add_argument("--port", type=int, default=0, help="0: any free one; it is printed")
    parser.add_argument("--rate", type=float, default=0.0, help="tokens a second; 0: as fast as they go")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds from request to the first token's slot")
    parser.add_argument("--tokens", type=int, default=0, help="length of every reply; 0: a customer's lines, of their own length")
    options = parser.parse_args()

    def filler(body: dict[str, Any]) -> Answer:
        words = tuple(f" word{place}" for place in range(options.tokens))
        if "response_format" in body:
            words = ('{"reply": "', *words[: max(options.tokens - 2, 1)], '", "ends_conversation": false}')
        return Answer(tokens=words)

    server = ChatServer(filler if options.tokens else converse, rate=options.rate or None, delay_s=options.delay)
    await server.start(options.port)
    sys.stdout.write(f"listening on {server.base_url}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(_main())
