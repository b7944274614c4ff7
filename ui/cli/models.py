"""``salesfloor model``: the configured endpoints, trying one, serving a folder."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import time
from contextlib import aclosing
from pathlib import Path
from typing import Annotated

import typer

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
from core.settings import ModelEndpoint, Sampling, Settings, config_file, load_settings
from ui.cli._common import StoreOption
from ui.cli._output import columns, note, out

__all__ = ["app", "origin_of"]

app = typer.Typer(help="See the configured models, try one, serve one with vLLM.", no_args_is_help=True)

EMBEDDED = "embedded"
_KEY_VARIABLE = "VLLM_API_KEY"
_PREFIX = "SALESFLOOR_MODELS"


@app.command("list")
def list_models(store: StoreOption = None) -> None:
    """List the models that can be named: where each one is, which key it needs, where it was configured."""
    settings = load_settings(store=store)
    rows = [(EMBEDDED, "built in", "agenda-based customer; no model needed", _role(EMBEDDED, settings))]
    for name, endpoint in sorted(settings.models.items()):
        place = f"{endpoint.model} at {endpoint.base_url}"
        rows.append((name, place, f"{_key(endpoint)}; from {origin_of(name)}", _role(name, settings)))
    for line in columns(rows):
        out(line)
    note("Further: transformers:PATH runs a model folder in this process, vllm:PATH in a vLLM server beside it.")


@app.command("check")
def check(
    name: Annotated[str, typer.Argument(metavar="NAME", help="As in 'salesfloor model list'.", show_default=False)],
    store: StoreOption = None,
) -> None:
    """Ask the model one small question: does it answer, and how fast."""
    if name == EMBEDDED:
        out(f"{EMBEDDED}: built in, and always there")
        return
    out(asyncio.run(_try(name, load_settings(store=store))))


@app.command("serve")
def serve(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A model folder in the Hugging Face format.", show_default=False)],
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="Where to listen on 127.0.0.1.")] = 8000,
    store: StoreOption = None,
) -> None:
    """Run vLLM's OpenAI server for a folder until you press Ctrl+C. It needs vllm_python in the configuration."""
    asyncio.run(_serve(path.expanduser().absolute(), port, load_settings(store=store)))


def origin_of(name: str) -> str:
    """Where the endpoint was configured: environment variables win over the file."""
    own = f"{_PREFIX}__{name.upper()}__"
    variables = sorted(key for key in os.environ if key.upper() == _PREFIX or key.upper().startswith(own))
    return variables[0] if variables else str(config_file() or "the defaults")


def _role(name: str, settings: Settings) -> str:
    return "the customer of new dialogues" if name == settings.customer else ""


def _key(endpoint: ModelEndpoint) -> str:
    variable = endpoint.api_key_env
    if variable is None:
        return "no key"
    return f"key in {variable} ({'set' if os.environ.get(variable, '').strip() else 'NOT SET'})"


async def _try(name: str, settings: Settings) -> str:
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


async def _serve(path: Path, port: int, settings: Settings) -> None:
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
