"""A local model folder in this process, through transformers (extra ``local``)."""

from __future__ import annotations

import asyncio
import gc
import importlib
import threading
import time
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import TemplateError

from core.dialogues import Usage
from core.errors import ContextOverflow, InvalidInput, ModelMisbehaved, ModelRejected, ModelUnavailable, Problem
from core.models._chat import ChatDelta, ChatEvent, ChatMessage, ChatRequest, ChatResult, FinishReason

__all__ = ["TransformersBackend"]


@dataclass(frozen=True)
class _Loaded:
    """``context`` is the number of tokens that fit, prompt and reply together; None where the model names none."""

    torch: Any
    transformers: Any
    model: Any
    tokenizer: Any
    context: int | None


@dataclass(frozen=True)
class _Generated:
    completion_tokens: int
    cut_off: bool


class TransformersBackend:
    """A chat model loaded from a folder. Make one with :meth:`load`.

    One reply is generated at a time, in a thread of its own; further requests wait their turn. A seed makes a reply repeatable
    as long as no other model of this process generates meanwhile: torch has one random state for all.
    """

    def __init__(self, name: str, path: Path, loaded: _Loaded) -> None:
        self._name = name
        self._path = path
        self._loaded = loaded
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"generate {path.name}")
        self._stops: set[threading.Event] = set()
        self._closed = False

    @classmethod
    async def load(cls, name: str, path: Path) -> TransformersBackend:
        """Load the folder in a worker thread; takes seconds to minutes.

        Raises InvalidInput if the extra ``local`` is missing or the folder holds no chat model, ModelUnavailable if there is
        not enough memory.
        """
        return cls(name, path, await asyncio.to_thread(_load, name, path))

    @property
    def name(self) -> str:
        return self._name

    @property
    def model(self) -> str:
        return self._path.name

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatEvent, None]:
        if self._closed:
            raise ModelUnavailable(self._name, "the model has been unloaded")
        if request.json_schema is not None:
            raise ModelRejected(self._name, 'a model in this process cannot make structured replies; use reply_format "text"')
        started = time.perf_counter()
        loaded = self._loaded
        inputs = await asyncio.to_thread(self._encode, request.messages)
        prompt_tokens = int(inputs["input_ids"].shape[1])
        limit = self._limit(prompt_tokens, request.sampling.max_tokens)
        streamer = loaded.transformers.AsyncTextIteratorStreamer(loaded.tokenizer, skip_prompt=True, skip_special_tokens=True)
        stop = threading.Event()
        self._stops.add(stop)
        job = asyncio.get_running_loop().run_in_executor(
            self._thread, lambda: self._generate(request, inputs, limit, streamer, stop)
        )
        pieces: list[str] = []
        first_ms: float | None = None
        try:
            async for piece in streamer:
                if not piece:
                    continue
                if first_ms is None:
                    first_ms = _ms_since(started)
                pieces.append(piece)
                yield ChatDelta(piece)
            generated = await job
        finally:
            # Whoever closed this generator is not kept waiting: the thread sees the flag before its next token, and the next
            # request waits for the thread.
            stop.set()
            job.cancel()
            self._stops.discard(stop)
        text = "".join(pieces)
        if not text.strip():
            raise ModelMisbehaved(self._name, "the reply was empty")
        usage = Usage(
            prompt_tokens=prompt_tokens,
            completion_tokens=generated.completion_tokens,
            first_token_ms=first_ms,
            latency_ms=_ms_since(started),
        )
        yield ChatResult(text, FinishReason.LENGTH if generated.cut_off else FinishReason.STOP, usage)

    async def check(self) -> str:
        model = self._loaded.model
        size = sum(parameter.numel() for parameter in model.parameters()) / 1e6
        context = f", context of {self._loaded.context} tokens" if self._loaded.context is not None else ""
        return f"{self._name}: {type(model).__name__}, {size:.1f} million parameters, on {model.device}{context}"

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        for stop in self._stops:
            stop.set()
        await asyncio.to_thread(self._thread.shutdown, wait=True, cancel_futures=True)
        torch = self._loaded.torch
        del self._loaded
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def _encode(self, messages: tuple[ChatMessage, ...]) -> Any:
        refusal: TemplateError | None = None
        for attempt in (messages, _fold_system(messages)):
            try:
                return self._render(attempt)
            except TemplateError as error:
                refusal = error
        raise ModelRejected(self._name, f"its chat template refuses the dialogue: {refusal}") from refusal

    def _render(self, messages: tuple[ChatMessage, ...]) -> Any:
        return self._loaded.tokenizer.apply_chat_template(
            [{"role": message.role, "content": message.content} for message in messages],
            add_generation_prompt=True,
            return_tensors="pt",
            return_dict=True,
            # Understood by the templates of reasoning models, ignored by all others: a customer speaks, it does not ponder.
            enable_thinking=False,
        )

    def _limit(self, prompt_tokens: int, max_tokens: int) -> int:
        context = self._loaded.context
        if context is None:
            return max_tokens
        if prompt_tokens >= context:
            detail = f"the dialogue has {prompt_tokens} tokens, and {context} fit into the model's context; finish it"
            raise ContextOverflow(self._name, detail)
        return min(max_tokens, context - prompt_tokens)

    def _generate(self, request: ChatRequest, inputs: Any, limit: int, streamer: Any, stop: threading.Event) -> _Generated:
        torch, transformers, model = self._loaded.torch, self._loaded.transformers, self._loaded.model

        def stopped(input_ids: Any, scores: Any, **_: Any) -> Any:  # noqa: ARG001 (the signature is transformers')
            return torch.full((input_ids.shape[0],), stop.is_set(), dtype=torch.bool, device=input_ids.device)

        sampling: dict[str, Any] = {"do_sample": False}
        if request.sampling.temperature > 0.0:
            sampling = {
                "do_sample": True,
                "temperature": request.sampling.temperature,
                "top_p": request.sampling.top_p,
                "top_k": 0,
            }
        try:
            with torch.random.fork_rng():
                if request.seed is not None:
                    torch.manual_seed(request.seed)
                output = model.generate(
                    **inputs.to(model.device),
                    **sampling,
                    max_new_tokens=limit,
                    pad_token_id=_padding(self._loaded.tokenizer),
                    streamer=streamer,
                    stopping_criteria=transformers.StoppingCriteriaList([stopped]),
                )
        except torch.OutOfMemoryError as error:
            raise ModelUnavailable(
                self._name, "the graphics memory ran out; use a smaller model or a shorter dialogue"
            ) from error
        finally:
            # A generation that failed would otherwise leave its reader waiting for ever.
            streamer.on_finalized_text("", stream_end=True)
        completion_tokens = int(output.shape[1]) - int(inputs["input_ids"].shape[1])
        ended = int(output[0, -1]) in _ends(model.generation_config.eos_token_id)
        return _Generated(completion_tokens, cut_off=completion_tokens >= limit and not ended)


def _load(name: str, path: Path) -> _Loaded:
    try:
        torch: Any = importlib.import_module("torch")
        transformers: Any = importlib.import_module("transformers")
    except ImportError as error:
        raise InvalidInput(
            Problem(
                name, f"needs packages that are not installed ({error.name})", "install them: pip install 'salesfloor[local]'"
            )
        ) from error
    if not (path / "config.json").is_file():
        fault = "holds no model (no config.json)" if path.is_dir() else "is no folder"
        raise InvalidInput(Problem(name, f"{path} {fault}", "name a folder in the Hugging Face format"))
    # What it would draw on the terminal is our progress callback's to tell.
    transformers.utils.logging.disable_progress_bar()
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(path, local_files_only=True)
        model = transformers.AutoModelForCausalLM.from_pretrained(path, local_files_only=True, dtype="auto", **_placement(torch))
    except MemoryError as error:
        raise ModelUnavailable(name, f"not enough memory to load {path}") from error
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        fault = f"{path} could not be loaded: {_one_line(error)}"
        raise InvalidInput(
            Problem(name, fault, "name a folder with a chat model that this version of transformers knows")
        ) from error
    if not getattr(tokenizer, "chat_template", None):
        mend = "use a model that was tuned to chat, or add its chat_template.jinja"
        raise InvalidInput(Problem(name, f"{path} has no chat template", mend))
    model.eval()
    return _Loaded(torch, transformers, model, tokenizer, _context(model, tokenizer))


def _placement(torch: Any) -> dict[str, Any]:
    """Spread over the graphics cards where there are any; Apple's come next; otherwise the CPU."""
    if torch.cuda.is_available():
        return {"device_map": "auto"}
    return {"device_map": "mps"} if torch.backends.mps.is_available() else {}


def _context(model: Any, tokenizer: Any) -> int | None:
    limits = [
        getattr(model.config.get_text_config(), "max_position_embeddings", None),
        getattr(tokenizer, "model_max_length", None),
    ]
    # Tokenizers without a limit of their own carry an astronomical number.
    return min((int(limit) for limit in limits if limit is not None and limit < 1e9), default=None)


def _fold_system(messages: tuple[ChatMessage, ...]) -> tuple[ChatMessage, ...]:
    """Put the system message in front of the first user message, for templates that know no system role."""
    if len(messages) < 2 or messages[0].role != "system" or messages[1].role != "user":
        return messages
    return (ChatMessage("user", f"{messages[0].content}\n\n{messages[1].content}"), *messages[2:])


def _padding(tokenizer: Any) -> int | None:
    padding: int | None = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
    return padding


def _ends(eos: int | list[int] | None) -> set[int]:
    if eos is None:
        return set()
    return {eos} if isinstance(eos, int) else set(eos)


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 200 else text[:199] + "…"


def _ms_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000.0
