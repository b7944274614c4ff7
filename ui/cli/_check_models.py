"""Checks of the configured models and of vLLM's environment."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from core.errors import SalesfloorError
from core.models import open_backend, plan_vllm, probe_vllm, require_model
from core.settings import Settings
from ui.cli._common import EMBEDDED
from ui.cli._findings import Finding, fail, ok, warn

__all__ = ["check_models"]

_PATIENCE_S = 20.0
_IN_PROCESS = "transformers:"
_CHILD = "vllm:"


async def check_models(settings: Settings) -> list[Finding]:
    """The customer of new dialogues, the scorers, every configured endpoint, and vLLM. Endpoints are asked all at once."""
    asked = await asyncio.gather(*(_check_endpoint(name, settings) for name in sorted(settings.models)))
    return [await _check_customer(settings), *_check_scorers(settings), *asked, await _check_vllm(settings)]


async def _check_customer(settings: Settings) -> Finding:
    name = settings.customer
    if name == EMBEDDED:
        return ok("customer", "the embedded practice partner, which needs no model")
    try:
        require_model(name, settings)
        if name.startswith(_CHILD):
            await plan_vllm(name, _folder(name, _CHILD), settings)
    except SalesfloorError as error:
        return fail("customer", str(error))
    if name.startswith(_IN_PROCESS):
        return _check_in_process(name)
    return ok("customer", name)


def _check_in_process(name: str) -> Finding:
    folder = _folder(name, _IN_PROCESS)
    missing = [package for package in ("torch", "transformers") if find_spec(package) is None]
    if missing:
        return fail("customer", f"{name} needs {' and '.join(missing)}", "install Salesfloor with the extra 'local'")
    if not (folder / "config.json").is_file():
        return fail("customer", f"{folder} holds no model (no config.json)", "name a folder in the Hugging Face format")
    return ok("customer", name)


def _folder(name: str, prefix: str) -> Path:
    return Path(name.removeprefix(prefix)).expanduser().absolute()


def _check_scorers(settings: Settings) -> list[Finding]:
    given = {"intent scorer": settings.intent_scorer, "judge": settings.judge}
    return [
        fail(topic, f"this version has no scorer {name!r}", f"use {EMBEDDED!r}")
        for topic, name in given.items()
        if name != EMBEDDED
    ]


async def _check_endpoint(name: str, settings: Settings) -> Finding:
    try:
        backend = await open_backend(name, settings)
        try:
            return ok("model", await _patiently(backend.check()))
        finally:
            await backend.close()
    except TimeoutError:
        place = settings.models[name].base_url
        return fail("model", f"{name}: {place} did not answer within {_PATIENCE_S:.0f} s", "is it still loading its model?")
    except SalesfloorError as error:
        return fail("model", str(error))


async def _check_vllm(settings: Settings) -> Finding:
    if settings.vllm_python is None:
        return ok("vllm", "not configured; only vllm:PATH needs it")
    try:
        version, on_cpu = await _patiently(probe_vllm(settings.vllm_python))
    except TimeoutError:
        return warn("vllm", f"{settings.vllm_python} did not answer within {_PATIENCE_S:.0f} s", "try again")
    except SalesfloorError as error:
        return fail("vllm", str(error))
    return ok("vllm", f"{version} in {settings.vllm_python}, {'on the CPU' if on_cpu else 'on the GPU'}")


async def _patiently(answer: Coroutine[Any, Any, Any]) -> Any:
    async with asyncio.timeout(_PATIENCE_S):
        return await answer
