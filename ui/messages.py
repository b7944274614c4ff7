"""Our errors in the reader's language: what happened, what is safe, what to do.

There is one entry for each class of :mod:`core.errors`. Details that programs wrote (an endpoint's answer, a file's path) are for
the log and the command line; a page shows them only where the reader needs them to go on.
"""

from __future__ import annotations

from core import errors
from core.dialogues import Failure
from core.errors import ContextOverflow, InvalidInput, ModelError, SalesfloorError
from ui.texts import Texts

__all__ = ["failure_text", "message_of"]

_KEYS = {
    "SalesfloorError": "errors.unexpected",
    "InvalidInput": "errors.invalid_input",
    "NotFound": "errors.not_found",
    "Forbidden": "errors.forbidden",
    "Refused": "errors.refused",
    "StillAnswering": "errors.still_answering",
    "Unanswered": "errors.unanswered",
    "DialogueOver": "errors.dialogue_over",
    "NothingToAnswer": "errors.nothing_to_answer",
    "ModelError": "errors.model_error",
    "ModelUnavailable": "errors.model_unavailable",
    "ModelBusy": "errors.model_busy",
    "ModelRejected": "errors.model_rejected",
    "ContextOverflow": "errors.context_overflow",
    "ModelMisbehaved": "errors.model_misbehaved",
    "StoreError": "errors.store_error",
    "TurnConflict": "errors.turn_conflict",
}


def message_of(error: Exception, texts: Texts) -> str:
    """What to tell the reader of ``error``."""
    if isinstance(error, ModelError):
        return _model_message(type(error).__name__, error.model, texts)
    if isinstance(error, InvalidInput):
        return texts("errors.invalid_input", problems="; ".join(str(problem) for problem in error.problems[:5]))
    return texts(_key(error))


def failure_text(failure: Failure, texts: Texts) -> str:
    """What to tell the reader of a model call that failed and was recorded on the dialogue."""
    kind = getattr(errors, failure.kind, None)
    known = isinstance(kind, type) and issubclass(kind, ModelError)
    text = _model_message(failure.kind if known else "ModelError", failure.model, texts)
    if failure.retryable or failure.kind == ContextOverflow.__name__:
        return text
    return f"{text} {texts('errors.not_retryable')}"


def _model_message(kind: str, model: str, texts: Texts) -> str:
    return texts(_KEYS.get(kind, _KEYS["ModelError"]), model=model)


def _key(error: Exception) -> str:
    """The entry of the error's class, or of the nearest class above it that has one."""
    if not isinstance(error, SalesfloorError):
        return _KEYS["SalesfloorError"]
    return next(_KEYS[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in _KEYS)
