"""What an OpenAI-compatible endpoint's failures mean, and how to mend them.

Every server words its refusals in its own way; this is the one place that reads them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import openai

from core.errors import ContextOverflow, ModelBusy, ModelError, ModelMisbehaved, ModelRejected, ModelUnavailable

__all__ = ["failure_of", "room_for_reply", "wants_max_completion_tokens"]

_LONGEST_DETAIL = 300

_OVERFLOW = re.compile(
    r"context_length_exceeded"  # OpenAI's code
    r"|exceed_context_size"  # llama.cpp's type
    r"|maximum context length"  # vLLM, OpenAI, Mistral
    r"|exceeds? the (?:available )?context (?:size|window|length|limit)"  # llama.cpp, OpenAI, LM Studio
    r"|exceeds? (?:the )?(?:model'?s? )?(?:max(?:imum)? )?context"
    r"|context (?:window|length|size|limit) (?:is |was )?(?:exceeded|too small)"
    r"|context window of \d+"  # llama-cpp-python
    r"|prompt is too long|input is too long|input token count .* exceeds"
    r"|range of input length"  # DashScope
    r"|reduce the length of the (?:messages|input|prompt)",
    re.IGNORECASE,
)

_CONTEXT_AND_PROMPT = re.compile(
    r"maximum context length is (?P<context>\d+) tokens.*?"
    r"(?:\((?P<messages>\d+) in the messages|(?:has|contains|least) (?P<input>\d+) input tokens)",
    re.IGNORECASE | re.DOTALL,
)

_SECRET = re.compile(r"\b(?:sk|pk|key|gsk|xai)[-_][A-Za-z0-9*_\-]{6,}|\bBearer\s+\S+", re.IGNORECASE)


def failure_of(error: Exception, *, name: str, place: str, model: str, secret: str | None) -> ModelError:
    """The typed form of whatever the client raised.

    Args:
        error: an :class:`openai.OpenAIError`, or what reading a malformed chunk raised.
        name: configured name of the model.
        place: the endpoint's address as a person would name it, without credentials.
        model: what the endpoint calls the model.
        secret: the key, which must not show up in a message even if the endpoint quotes it.
    """
    match error:
        case openai.APITimeoutError():
            return ModelUnavailable(name, f"no answer from {place} in time; is the model overloaded, or timeout_s too short?")
        case openai.APIConnectionError():
            cause = _clean(str(error.__cause__ or error), secret)
            return ModelUnavailable(name, f"no connection to {place} ({cause}); is the server running?")
        case openai.APIStatusError():
            return _of_status(error.status_code, error, name=name, place=place, model=model, secret=secret)
        case openai.APIError():
            # An error told inside the stream, after the status line said 200.
            return _of_status(_code_in_body(error.body), error, name=name, place=place, model=model, secret=secret)
        case json.JSONDecodeError() | UnicodeDecodeError():
            return ModelMisbehaved(name, f"{place} sent a piece of the reply that is not valid JSON")
        case _:
            return ModelMisbehaved(name, f"{place} sent a reply in an unknown form ({type(error).__name__})")


def _of_status(status: int, error: openai.APIError, *, name: str, place: str, model: str, secret: str | None) -> ModelError:
    said = _clean(_message(error), secret)
    everything = f"{error.code or ''} {error.type or ''} {_message(error)}"
    if status in {400, 413, 422, 500} and _OVERFLOW.search(everything):
        return ContextOverflow(
            name, f"the dialogue no longer fits into the model's context: {said}; finish it, or serve a longer context"
        )
    if status == 429:
        if "insufficient_quota" in everything:
            return ModelRejected(name, f"the account at {place} has no quota left: {said}; top it up or use another key")
        return ModelBusy(name, f"{place} asks to slow down: {said}", _retry_after(error))
    if status in {408, 409, 425} or status >= 500:
        return ModelUnavailable(name, f"{place} is in trouble (HTTP {status}): {said}")
    return ModelRejected(name, f"{place} refused the request (HTTP {status}): {said}; {_mend(status, everything, model)}")


def _mend(status: int, everything: str, model: str) -> str:
    if status == 401:
        return "check the key in the variable that api_key_env names"
    if status == 403:
        return "the key may not use this model; use another key or model"
    if status == 404:
        return f"check that base_url is right (most end in /v1) and that the server knows the model {model!r}"
    lowered = everything.lower()
    if "response_format" in lowered or "json_schema" in lowered or "guided" in lowered:
        return 'this endpoint cannot make structured replies; set reply_format = "text"'
    if "temperature" in lowered or "top_p" in lowered:
        return "change temperature or top_p of this model in the configuration"
    if "max_tokens" in lowered or "max_completion_tokens" in lowered:
        return "lower max_tokens of this model in the configuration"
    return "check this model's entry in the configuration"


def _message(error: openai.APIError) -> str:
    """What the server said, without the client's own frame around it."""
    body = error.body
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        for key in ("message", "detail", "msg"):
            value = inner.get(key) if isinstance(inner, Mapping) else None
            if isinstance(value, str) and value.strip():
                return value
        return json.dumps(body, ensure_ascii=False, default=str)
    if isinstance(body, str) and body.strip() and "<html" not in body.lower():
        return body
    return error.message


def _code_in_body(body: object) -> int:
    code = body.get("code") if isinstance(body, Mapping) else None
    try:
        return int(code) if code is not None else 500
    except (TypeError, ValueError):
        return 500


def _retry_after(error: openai.APIError) -> float | None:
    """Seconds to wait, from ``Retry-After`` (seconds or an HTTP date) or ``retry-after-ms``. None: the endpoint does not say."""
    headers: Any = error.response.headers if isinstance(error, openai.APIStatusError) else {}
    milliseconds, seconds = headers.get("retry-after-ms"), headers.get("retry-after")
    try:
        if milliseconds is not None:
            return max(float(milliseconds) / 1000.0, 0.0)
        return None if seconds is None else max(float(seconds), 0.0)
    except ValueError:
        pass
    try:
        return max((parsedate_to_datetime(seconds) - datetime.now(UTC)).total_seconds(), 0.0)
    except (TypeError, ValueError):
        return None


def _clean(text: str, secret: str | None) -> str:
    """One line, of bearable length, without keys."""
    if secret:
        text = text.replace(secret, "[key]")
    text = " ".join(_SECRET.sub("[key]", text).split()).rstrip(".;")
    return text if len(text) <= _LONGEST_DETAIL else text[: _LONGEST_DETAIL - 1] + "…"


def room_for_reply(error: openai.BadRequestError) -> int | None:
    """Tokens left for the reply, where the endpoint refused because prompt and ``max_tokens`` together exceed the context.

    None if it says nothing of the sort, or if the prompt alone leaves no room for a sentence.
    """
    found = _CONTEXT_AND_PROMPT.search(_message(error))
    if found is None:
        return None
    room = int(found["context"]) - int(found["messages"] or found["input"])
    return room if room >= 64 else None


def wants_max_completion_tokens(error: openai.BadRequestError) -> bool:
    """Whether the endpoint knows the limit only by its newer name."""
    message = _message(error)
    return "max_completion_tokens" in message and "unsupported" in f"{message} {error.code}".lower()
