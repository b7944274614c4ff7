"""From a model's name in the configuration to a back end that answers."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from core.errors import InvalidInput, Problem
from core.models._chat import ChatBackend, Progress
from core.models._openai import OpenAICompatible
from core.models._retry import Retrying, RetryPolicy
from core.models._transformers import TransformersBackend
from core.models._vllm import VllmChild
from core.models._vllm_launch import plan_vllm
from core.settings import ModelEndpoint, Sampling, Settings

__all__ = ["Backends", "open_backend", "require_model", "sampling_of"]

_IN_PROCESS = "transformers:"
_CHILD = "vllm:"


async def open_backend(name: str, settings: Settings, progress: Progress | None = None) -> ChatBackend:
    """A ready back end for a configured name, ``transformers:PATH`` or ``vllm:PATH``, with retries around it.

    Loading a folder or starting vLLM takes up to minutes; ``progress`` is told how it goes. The caller closes the back end.
    Raises InvalidInput for an unknown name or an incomplete configuration, ModelError where the model cannot be had.
    """
    if name.startswith(_IN_PROCESS):
        path = _folder(name, _IN_PROCESS)
        if progress is not None:
            progress(f"loading {path}")
        return Retrying(await TransformersBackend.load(name, path))
    if name.startswith(_CHILD):
        path = _folder(name, _CHILD)
        launch = await plan_vllm(name, path, settings)
        child = VllmChild(name, launch, start_timeout_s=settings.vllm_start_timeout_s, progress=progress)
        await child.start()
        return Retrying(child)
    endpoint = settings.models.get(name)
    if endpoint is None:
        raise _unknown(name, settings)
    return Retrying(OpenAICompatible(name, endpoint, api_key=_key(name, endpoint)), RetryPolicy(attempts=endpoint.max_attempts))


def require_model(name: str, settings: Settings) -> None:
    """Raises InvalidInput for a name that :func:`open_backend` does not know. Whether the model can be had is not looked at."""
    if not name.startswith((_IN_PROCESS, _CHILD)) and name not in settings.models:
        raise _unknown(name, settings)


def sampling_of(name: str, settings: Settings) -> Sampling:
    """Sampling of a model: the configured endpoint's, or the benchmark's defaults."""
    endpoint = settings.models.get(name)
    if endpoint is None:
        return Sampling()
    return Sampling(temperature=endpoint.temperature, top_p=endpoint.top_p, max_tokens=endpoint.max_tokens)


class Backends:
    """Opens each back end once and shares it: two dialogues, or customer and salesperson, may use the same model.

    Belongs to one event loop.
    """

    def __init__(self, settings: Settings, progress: Progress | None = None) -> None:
        self._settings = settings
        self._progress = progress
        self._opening: dict[str, asyncio.Task[ChatBackend]] = {}

    async def get(self, name: str) -> ChatBackend:
        """The back end of that name, opened if need be. An opening that failed is tried again by the next call."""
        task = self._opening.get(name)
        if task is None:
            task = asyncio.create_task(open_backend(name, self._settings, self._progress), name=f"open {name}")
            self._opening[name] = task
            task.add_done_callback(lambda done: self._forget_failed(name, done))
        # Shielded: a caller who gives up must not take the model away from the others who wait for it.
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Close all, including those still opening."""
        tasks = list(self._opening.values())
        self._opening.clear()
        for task in tasks:
            if not task.done():
                task.cancel()
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            if not isinstance(result, BaseException):
                await result.close()

    def _forget_failed(self, name: str, task: asyncio.Task[ChatBackend]) -> None:
        if (task.cancelled() or task.exception() is not None) and self._opening.get(name) is task:
            del self._opening[name]


def _folder(name: str, prefix: str) -> Path:
    written = name.removeprefix(prefix).strip()
    if not written:
        raise InvalidInput(Problem(name, "names no folder", f"write {prefix}PATH"))
    return Path(written).expanduser().absolute()


def _key(name: str, endpoint: ModelEndpoint) -> str | None:
    if endpoint.api_key_env is None:
        return None
    key = os.environ.get(endpoint.api_key_env, "").strip()
    if not key:
        place = f"models.{name}.api_key_env"
        fault = f"the environment variable {endpoint.api_key_env} is not set"
        raise InvalidInput(Problem(place, fault, "set it to the endpoint's key, or remove the line if it needs none"))
    return key


def _unknown(name: str, settings: Settings) -> InvalidInput:
    known = ", ".join(["embedded", *sorted(settings.models), "transformers:PATH", "vllm:PATH"])
    return InvalidInput(Problem(f"model {name!r}", "there is no such model", f"use one of: {known}"))
