"""vLLM's OpenAI server for a model folder, as a child process that lives and dies with us."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import socket
import sys
import time
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from pathlib import Path

import openai

from core.errors import ModelUnavailable
from core.models._chat import ChatBackend, ChatEvent, ChatRequest, Progress
from core.models._openai import OpenAICompatible
from core.models._vllm_launch import VllmLaunch
from core.settings import ModelEndpoint

__all__ = ["VllmChild"]

_WATCHDOG = Path(__file__).with_name("_watchdog.py")
_GRACE_S = 10.0
_HEALTH_EVERY_S = 0.5
_PROGRESS_EVERY_S = 5.0
_PORT_TRIES = 3
_LOG_LINES = 60
_PORT_TAKEN = re.compile(r"address already in use|errno 98", re.IGNORECASE)
_TELLING = re.compile(r"^\S*\s*(?:\w+\.)*\w*(?:Error|Exception|error): \S")
_LOG_PREFIX = re.compile(r"^(?:\([^)]*\)\s*)?(?:(?:INFO|WARNING|ERROR|DEBUG)\s+[\d-]+ [\d:.]+ (?:\[[^\]]*\]\s*)*)?")


class VllmChild:
    """Starts vLLM on a free loopback port, waits until it is healthy, and talks to it as :class:`OpenAICompatible`.

    The server runs in a process group of its own under a watchdog, which ends the group on :meth:`close` and also when this
    process is killed. A server that died is started again by the next request. It answers only to a key made for this start, so
    other users of the machine cannot use it, and we cannot mistake another server for ours.

    Args:
        name: configured name, ``vllm:PATH``.
        launch: what to run, from :func:`core.models.plan_vllm`.
        start_timeout_s: longest time from start to health.
        progress: told every few seconds how the start is going.
        port: where to listen on the loopback address; None: a free port, another one if need be.
        api_key: what requests must carry; None: a key made for each start.
    """

    def __init__(
        self,
        name: str,
        launch: VllmLaunch,
        *,
        start_timeout_s: float = 600.0,
        progress: Progress | None = None,
        port: int | None = None,
        api_key: str | None = None,
    ) -> None:
        self._name = name
        self._launch = launch
        self._start_timeout_s = start_timeout_s
        self._progress = progress or (lambda _: None)
        self._port = port
        self._api_key = api_key
        self._starting = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._client: OpenAICompatible | None = None
        self._log: deque[str] = deque(maxlen=_LOG_LINES)
        self._closed = False

    @property
    def name(self) -> str:
        return self._name

    @property
    def model(self) -> str:
        return self._launch.served_name

    async def start(self) -> None:
        """Start the server, unless it runs, and return when it is healthy. Raises ModelUnavailable, saying why it died."""
        await self._ready()

    async def stopped(self) -> str:
        """Wait until the server is gone, and return its last words. Raises ModelUnavailable if it has not been started."""
        process, reader = self._process, self._reader
        if process is None or reader is None:
            raise ModelUnavailable(self._name, "the server has not been started")
        await process.wait()
        await asyncio.wait([reader])
        return self._last_words()

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatEvent, None]:
        client = await self._ready()
        try:
            async with aclosing(client.stream(request)) as events:
                async for event in events:
                    yield event
        except ModelUnavailable as error:
            if self._process is not None and self._process.returncode is not None:
                raise ModelUnavailable(self._name, f"vLLM stopped: {self._last_words()}") from error
            raise

    async def check(self) -> str:
        client = await self._ready()
        where = "on the CPU" if self._launch.on_cpu else "on the GPU"
        return f"{await client.check()}; vLLM {self._launch.version} {where}"

    async def close(self) -> None:
        self._closed = True
        await self._stop()

    async def _ready(self) -> ChatBackend:
        async with self._starting:
            if self._closed:
                raise ModelUnavailable(self._name, "the server has been stopped")
            if self._client is not None and self._process is not None and self._process.returncode is None:
                return self._client
            await self._stop()
            for left in reversed(range(_PORT_TRIES)):
                try:
                    self._client = await self._start_on(_free_port() if self._port is None else self._port)
                    return self._client
                except ModelUnavailable:
                    await self._stop()
                    if self._port is not None or not left or not any(_PORT_TAKEN.search(line) for line in self._log):
                        raise
                except BaseException:
                    await self._stop()
                    raise
            raise AssertionError("unreachable")

    async def _start_on(self, port: int) -> OpenAICompatible:
        key = self._api_key or secrets.token_urlsafe(24)
        self._log.clear()
        self._progress(f"starting vLLM {self._launch.version} for {self._launch.path} on port {port}")
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", str(_WATCHDOG), str(_GRACE_S), *self._launch.command(port)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=self._launch.environment(os.environ, key),
            cwd=self._launch.python.parent,
            start_new_session=True,
            limit=1 << 20,
        )
        self._reader = asyncio.create_task(self._read_log(self._process), name=f"log of {self._name}")
        address = f"http://127.0.0.1:{port}"
        await self._wait_for_health(address)
        endpoint = ModelEndpoint(base_url=f"{address}/v1", model=self.model)
        client = OpenAICompatible(self._name, endpoint, api_key=key)
        self._progress(await client.check())
        return client

    async def _wait_for_health(self, address: str) -> None:
        started = told = time.monotonic()
        assert self._process is not None
        async with openai.DefaultAsyncHttpxClient(trust_env=False, timeout=5.0) as client:
            while True:
                if self._process.returncode is not None:
                    assert self._reader is not None
                    await self._reader
                    detail = f"vLLM stopped while starting (exit {self._process.returncode}): {self._last_words()}"
                    raise ModelUnavailable(self._name, detail)
                now = time.monotonic()
                if now - started > self._start_timeout_s:
                    detail = f"vLLM was not ready within {self._start_timeout_s:.0f} s: {self._last_words()}"
                    raise ModelUnavailable(self._name, detail)
                if now - told >= _PROGRESS_EVERY_S:
                    told = now
                    self._progress(
                        f"vLLM has been starting for {now - started:.0f} s: {self._log[-1] if self._log else 'no word yet'}"
                    )
                # The client's error types are httpx's or its successor's, by version; before health, all mean "not yet".
                with suppress(Exception):
                    if (await client.get(f"{address}/health")).status_code == 200:
                        return
                await asyncio.sleep(_HEALTH_EVERY_S)

    async def _read_log(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while True:
            try:
                raw = await process.stdout.readline()
            except ValueError:
                continue  # a line beyond the limit; the reader has dropped it
            if not raw:
                break
            line = _LOG_PREFIX.sub("", raw.decode(errors="replace").strip())
            if line:
                self._log.append(line if len(line) <= 200 else line[:199] + "…")
        await process.wait()

    async def _stop(self) -> None:
        client, self._client = self._client, None
        process, self._process = self._process, None
        reader, self._reader = self._reader, None
        if client is not None:
            await client.close()
        if process is not None:
            if process.stdin is not None:
                process.stdin.close()
            try:
                await asyncio.wait_for(process.wait(), _GRACE_S + 5.0)
            except TimeoutError:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if reader is not None:
            reader.cancel()
            await asyncio.wait([reader])

    def _last_words(self) -> str:
        """The error that the log ends in, or its last lines."""
        telling = [line for line in self._log if _TELLING.match(line)]
        # A traceback of vLLM's parent only says that a child failed; the first error is the child's own.
        return telling[0] if telling else " | ".join(list(self._log)[-3:]) or "it said nothing"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
