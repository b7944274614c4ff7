"""Talking to models: what ``salesfloor model`` does once it is known what is wanted."""

from __future__ import annotations

import os
import secrets
import socket
import time
from contextlib import aclosing
from pathlib import Path

from core.errors import InvalidInput, ModelUnavailable, Problem
from core.models import (
    ChatBackend,
    ChatMessage,
    ChatRequest,
    ChatResult,
    VllmChild,
    VllmLaunch,
    open_backend,
    plan_vllm,
    sampling_of,
)
from core.settings import Sampling, Settings
from ui.cli._output import note, out

__all__ = ["serve_folder", "try_model"]

_KEY_VARIABLE = "VLLM_API_KEY"


async def try_model(name: str, settings: Settings) -> str:
    """Ask the model one small question; return a line on how it did. Raises InvalidInput, ModelError."""
    started = time.perf_counter()
    backend = await open_backend(name, settings, note)
    opened_s = time.perf_counter() - started
    try:
        result = await _ask(backend, sampling_of(name, settings))
    finally:
        await backend.close()
    usage = result.usage
    tokens = "" if usage.completion_tokens is None else f" of {usage.completion_tokens} tokens"
    loading = f"; ready after {opened_s:.1f} s" if opened_s > 1.0 else ""
    again = f", at attempt {usage.attempts}" if usage.attempts > 1 else ""
    return (
        f"{name}: {backend.model} answers; first words after {_seconds(usage.first_token_ms)}, "
        f"a reply{tokens} after {_seconds(usage.latency_ms)}{again}{loading}"
    )


async def _ask(backend: ChatBackend, sampling: Sampling) -> ChatResult:
    question = (ChatMessage("user", "Say hello in one short sentence."),)
    # Room enough for models that think before they speak; the others stop by themselves.
    request = ChatRequest(question, sampling.model_copy(update={"max_tokens": min(sampling.max_tokens, 256)}))
    async with aclosing(backend.stream(request)) as events:
        async for event in events:
            if isinstance(event, ChatResult):
                return event
    raise AssertionError("a stream ends in its result")


def _seconds(milliseconds: float | None) -> str:
    return "?" if milliseconds is None else f"{milliseconds / 1000.0:.2f} s"


async def serve_folder(path: Path, port: int, settings: Settings) -> None:
    """Run vLLM for a folder until this task is cancelled. Raises InvalidInput, ModelUnavailable (also when vLLM ends)."""
    _require_free(port)
    launch = await plan_vllm(f"vllm:{path}", path, settings)
    given = os.environ.get(_KEY_VARIABLE, "").strip()
    key = given or secrets.token_urlsafe(24)
    child = VllmChild(
        f"vllm:{path}", launch, start_timeout_s=settings.vllm_start_timeout_s, progress=note, port=port, api_key=key
    )
    try:
        await child.start()
        for line in _how_to_use(launch, port, None if given else key):
            out(line)
        note("Ctrl+C stops it.")
        raise ModelUnavailable(f"vllm:{path}", f"vLLM stopped: {await child.stopped()}")
    finally:
        note("Stopping vLLM …")
        await child.close()


def _require_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            fault = f"127.0.0.1:{port} can't be listened on ({error.strerror})"
            raise InvalidInput(Problem("--port", fault, "choose another port")) from error


def _how_to_use(launch: VllmLaunch, port: int, new_key: str | None) -> list[str]:
    name = launch.served_name
    lines = [
        f"# vLLM {launch.version} serves {launch.path}. To use it, put this into salesfloor.toml:",
        f'[models."{name.lower().replace(":", "-")}"]',
        f'base_url = "http://127.0.0.1:{port}/v1"',
        f'model = "{name}"',
        f'api_key_env = "{_KEY_VARIABLE}"',
    ]
    if new_key is not None:
        lines.append(f"# and set the key that was made for this run: export {_KEY_VARIABLE}={new_key}")
    return lines
