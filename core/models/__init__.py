"""Chat models behind one small interface, wherever they run.

    name ──open_backend──▶ Retrying(OpenAICompatible | TransformersBackend | VllmChild) ──stream(request)──▶ deltas, result

Each back end turns its own failures into :class:`core.errors.ModelError` at its edge; :class:`Retrying` alone tries again.
"""

from core.models._chat import (
    ChatBackend,
    ChatDelta,
    ChatEvent,
    ChatMessage,
    ChatRequest,
    ChatRestart,
    ChatResult,
    FinishReason,
    JsonSchema,
    Progress,
)
from core.models._open import Backends, open_backend, require_model, sampling_of
from core.models._openai import OpenAICompatible
from core.models._retry import Retrying, RetryPolicy
from core.models._scripted import Drop, ScriptedBackend, Stall, Step
from core.models._transformers import TransformersBackend
from core.models._vllm import VllmChild
from core.models._vllm_launch import VllmLaunch, plan_vllm, probe_vllm

__all__ = [
    "Backends",
    "ChatBackend",
    "ChatDelta",
    "ChatEvent",
    "ChatMessage",
    "ChatRequest",
    "ChatRestart",
    "ChatResult",
    "Drop",
    "FinishReason",
    "JsonSchema",
    "OpenAICompatible",
    "Progress",
    "RetryPolicy",
    "Retrying",
    "ScriptedBackend",
    "Stall",
    "Step",
    "TransformersBackend",
    "VllmChild",
    "VllmLaunch",
    "open_backend",
    "plan_vllm",
    "probe_vllm",
    "require_model",
    "sampling_of",
]
