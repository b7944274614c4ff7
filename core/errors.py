"""Everything that can go wrong, as a tree of types.

    SalesfloorError
    ├── InvalidInput        a file, a field or a setting is wrong; says where, what, and how to mend it
    ├── NotFound            there is no such dialogue, scenario, account …
    ├── Forbidden           it exists, but not for this account
    ├── Refused             the request makes no sense in the present state
    │   ├── StillAnswering      the customer has not finished the last reply
    │   ├── Unanswered          the last salesperson turn has no reply yet: resume, then say more
    │   ├── DialogueOver        the dialogue has ended
    │   └── NothingToAnswer     there is no open turn that the customer could answer
    ├── ModelError          a model could not do its part; the dialogue stays as it was
    │   ├── ModelUnavailable    no connection, a time-out, 5xx after all retries
    │   ├── ModelBusy           429 after all retries
    │   ├── ModelRejected       the endpoint refused the request: key, model name, parameters
    │   ├── ContextOverflow     the dialogue no longer fits into the model's context
    │   └── ModelMisbehaved     the answer was empty, cut off or not in the agreed form
    └── StoreError          the store could not be opened, migrated or written
        └── TurnConflict        somebody else has written that turn

``str(error)`` is one line in English, for the command line and the log. Pages translate by type (``ui.messages``).
"""

from __future__ import annotations

__all__ = [
    "ContextOverflow",
    "DialogueOver",
    "Forbidden",
    "InvalidInput",
    "ModelBusy",
    "ModelError",
    "ModelMisbehaved",
    "ModelRejected",
    "ModelUnavailable",
    "NotFound",
    "NothingToAnswer",
    "Problem",
    "Refused",
    "SalesfloorError",
    "StillAnswering",
    "StoreError",
    "TurnConflict",
    "Unanswered",
]

from dataclasses import dataclass


class SalesfloorError(Exception):
    """Base of all errors that Salesfloor raises on purpose."""


@dataclass(frozen=True)
class Problem:
    """One fault in an input: where it is, what is wrong, how to mend it."""

    place: str
    fault: str
    mend: str = ""

    def __str__(self) -> str:
        return f"{self.place}: {self.fault}" + (f"; {self.mend}" if self.mend else "")


class InvalidInput(SalesfloorError):
    """An input was refused. Carries every problem found, not only the first."""

    def __init__(self, *problems: Problem) -> None:
        if not problems:
            raise ValueError("InvalidInput needs at least one problem")
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))


class NotFound(SalesfloorError):
    """There is no such thing."""

    def __init__(self, what: str, key: str) -> None:
        self.what, self.key = what, key
        super().__init__(f"no {what} {key!r}")


class Forbidden(SalesfloorError):
    """It exists, but this account may not have it."""


class Refused(SalesfloorError):
    """The request makes no sense in the present state; nothing was changed."""


class StillAnswering(Refused):
    """The customer has not finished the last reply."""

    def __init__(self) -> None:
        super().__init__("the customer is still answering")


class Unanswered(Refused):
    """The last salesperson turn has no reply yet, because the model failed or the program was stopped."""

    def __init__(self) -> None:
        super().__init__("the last turn has no reply yet; ask for the reply first")


class DialogueOver(Refused):
    """The dialogue has ended."""

    def __init__(self) -> None:
        super().__init__("the dialogue is over")


class NothingToAnswer(Refused):
    """There is no open turn that the customer could answer."""

    def __init__(self) -> None:
        super().__init__("no turn is waiting for an answer")


class ModelError(SalesfloorError):
    """A model could not do its part.

    Attributes:
        model: the configured name of the model.
        detail: what happened, one line, without secrets.
        retryable: whether sending the same request again may help.
    """

    retryable = False

    def __init__(self, model: str, detail: str) -> None:
        self.model, self.detail = model, detail
        super().__init__(f"model {model}: {detail}")


class ModelUnavailable(ModelError):
    """No connection, a time-out, a broken stream, or 5xx."""

    retryable = True


class ModelBusy(ModelError):
    """The endpoint asks to slow down (429)."""

    retryable = True

    def __init__(self, model: str, detail: str, retry_after_s: float | None = None) -> None:
        super().__init__(model, detail)
        self.retry_after_s = retry_after_s


class ModelRejected(ModelError):
    """The endpoint refused the request: wrong key, unknown model, unsupported parameter."""


class ContextOverflow(ModelError):
    """The dialogue no longer fits into the model's context."""


class ModelMisbehaved(ModelError):
    """The answer was empty, cut off, or not in the agreed form."""

    retryable = True


class StoreError(SalesfloorError):
    """The store could not be opened, migrated or written."""


class TurnConflict(StoreError):
    """A turn with this index or this client message id is there already."""
