"""``salesfloor model``: the configured endpoints, trying one, serving a folder."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Annotated

import typer

from core.settings import ModelEndpoint, Settings, config_file, load_settings
from ui.cli._common import EMBEDDED, StoreOption
from ui.cli._output import columns, note, out

__all__ = ["app", "origin_of"]

app = typer.Typer(help="See the configured models, try one, serve one with vLLM.", no_args_is_help=True)

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
    from ui.cli._model_work import try_model  # noqa: PLC0415 (see _common)

    out(asyncio.run(try_model(name, load_settings(store=store))))


@app.command("serve")
def serve(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A model folder in the Hugging Face format.", show_default=False)],
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="Where to listen on 127.0.0.1.")] = 8000,
    store: StoreOption = None,
) -> None:
    """Run vLLM's OpenAI server for a folder until you press Ctrl+C. It needs vllm_python in the configuration."""
    from ui.cli._model_work import serve_folder  # noqa: PLC0415 (see _common)

    asyncio.run(serve_folder(path.expanduser().absolute(), port, load_settings(store=store)))


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
